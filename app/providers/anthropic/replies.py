"""The events of Anthropic's stream as ours. Works on plain JSON, so that an unknown or broken event cannot raise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.protocol.result import JsonValue
from app.providers.anthropic.requests import VENDOR
from app.providers.api import (
    NativeCallDelta,
    NativeCallStarted,
    OpaqueBlock,
    Said,
    Stopped,
    StreamEvent,
    Thinking,
    Usage,
)
from app.providers.native import WireError, call_ended

_STOPS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "pause_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_FIGURES = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


@dataclass
class _Block:
    """A content block while it arrives: as it began, and the text of its growing field."""

    start: Mapping[str, JsonValue]
    text: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return str(self.start.get("type", ""))


class Reading:
    """Turns one message's events into ours. `is_complete` once the vendor has said that the message is over."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self.is_complete = False

    def read(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """What one event means; unknown events mean nothing. Raises WireError."""
        try:
            yield from self._read(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise WireError(f"a broken event of type {event.get('type')!r}") from error

    def _read(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        match event.get("type"):
            case "message_start":
                yield self._counted(event["message"].get("usage"))
            case "content_block_start":
                yield from self._opened(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._grown(self._blocks[event["index"]], event["delta"])
            case "content_block_stop":
                yield from _closed(self._blocks.pop(event["index"]))
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                yield self._counted(event.get("usage"))
            case "message_stop":
                self.is_complete = True
                yield Stopped(_STOPS.get(self._stop, "end_turn"))

    def _counted(self, told: Mapping[str, Any] | None) -> Usage:
        for ours, theirs in _FIGURES.items():
            count = (told or {}).get(theirs)
            self._usage[ours] = count if isinstance(count, int) else self._usage.get(ours, 0)
        return Usage(**self._usage)

    def _opened(self, index: int, start: Mapping[str, Any]) -> Iterator[StreamEvent]:
        block = self._blocks[index] = _Block(start)
        if block.kind == "text" and start.get("text"):
            yield Said(start["text"])
        elif block.kind == "tool_use":
            yield NativeCallStarted(start["id"], start["name"], start.get("toolset_name") or "")

    def _grown(self, block: _Block, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        match delta.get("type"):
            case "text_delta":
                yield Said(delta["text"])
            case "thinking_delta":
                block.text.append(delta["thinking"])
                yield Thinking(delta["thinking"])
            case "signature_delta":
                block.signature.append(delta["signature"])
            case "input_json_delta":
                block.text.append(delta["partial_json"])
                if delta["partial_json"] and block.kind == "tool_use":
                    yield NativeCallDelta(str(block.start["id"]), delta["partial_json"])


def _closed(block: _Block) -> Iterator[StreamEvent]:
    match block.kind:
        case "thinking":
            text = str(block.start.get("thinking") or "") + "".join(block.text)
            signature = str(block.start.get("signature") or "") + "".join(block.signature)
            yield OpaqueBlock(VENDOR, {"type": "thinking", "thinking": text, "signature": signature})
        case "redacted_thinking":
            yield OpaqueBlock(VENDOR, dict(block.start))
        case "tool_use":
            given = block.start.get("input")
            yield call_ended(str(block.start["id"]), "".join(block.text), given if isinstance(given, Mapping) else {})
