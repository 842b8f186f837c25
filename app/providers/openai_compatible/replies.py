"""The chunks of a Chat Completions stream as our events, with the liberties that local servers take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.base.ids import unique
from app.providers.api import NativeCallDelta, NativeCallStarted, Said, Stopped, StreamEvent, Thinking, Usage
from app.providers.native import WireError, call_ended, words

_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_REASONING = ("reasoning_content", "reasoning")
"""llama.cpp, LM Studio and DeepSeek send the first, Ollama and OpenRouter the second."""


class Reading:
    """Turns one answer's chunks into ours. `is_complete` once the server has said why it stopped."""

    def __init__(self) -> None:
        self._open: tuple[int, str] | None = None
        self._arguments: list[str] = []
        self._called = self._refused = False
        self._stop = ""

    @property
    def is_complete(self) -> bool:
        return bool(self._stop)

    def read(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """What one chunk means. Raises WireError."""
        try:
            if chunk.get("usage"):
                yield _usage(chunk["usage"])
            for choice in (chunk.get("choices") or ())[:1]:
                yield from self._delta(choice.get("delta") or {})
                self._stop = words(choice.get("finish_reason") or self._stop)
        except (KeyError, TypeError, AttributeError) as error:
            raise WireError("a broken chunk") from error

    def finish(self) -> Iterator[StreamEvent]:
        """The stream is over: the open call ends, and the answer with it."""
        yield from self._close()
        reason = _STOPS.get(self._stop, "end_turn")
        if reason == "end_turn" and (self._called or self._refused):
            reason = "tool_use" if self._called else "refusal"
        yield Stopped(reason)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        for name in _REASONING:
            if delta.get(name):
                yield Thinking(words(delta[name]))
                break
        if delta.get("content"):
            yield Said(words(delta["content"]))
        if delta.get("refusal"):
            self._refused = True
            yield Said(words(delta["refusal"]))
        for call in delta.get("tool_calls") or ():
            yield from self._call(call)

    def _call(self, call: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """A call begins where its name or a new id comes: some servers give all calls the same index."""
        function = call.get("function") or {}
        index = call.get("index") or 0
        if self._open is None or index != self._open[0] or (call.get("id") or self._open[1]) != self._open[1]:
            yield from self._close()
            self._open = (index, words(call.get("id") or unique("call_")))
            self._called = True
            yield NativeCallStarted(self._open[1], words(function["name"]))
        piece = words(function.get("arguments") or "")
        if piece:
            self._arguments.append(piece)
            yield NativeCallDelta(self._open[1], piece)

    def _close(self) -> Iterator[StreamEvent]:
        if self._open is not None:
            yield call_ended(self._open[1], "".join(self._arguments))
        self._open, self._arguments = None, []


def _usage(told: Mapping[str, Any]) -> Usage:
    prompt, answer = told.get("prompt_tokens") or 0, told.get("completion_tokens") or 0
    cached = (told.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(prompt - cached, answer, cached)
