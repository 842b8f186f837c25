"""The events of Anthropic's stream as ours. Works on plain JSON, so that an unknown or broken event cannot raise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.protocol.result import JsonValue
from app.providers.anthropic.computer_toolset import FAMILY, to_our_call
from app.providers.anthropic.requests import VENDOR, Wire
from app.providers.api import (
    NativeCallDelta,
    NativeCallEnded,
    NativeCallStarted,
    OpaqueBlock,
    Said,
    Stopped,
    StreamEvent,
    Thinking,
    Usage,
)
from app.providers.native import WireError, call_ended, words

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

    @property
    def id(self) -> str:
        return words(self.start["id"])

    @property
    def is_plain_call(self) -> bool:
        """A call of a tool that we declared ourselves."""
        return self.kind == "tool_use" and not self.start.get("toolset_name") and self.start.get("name") != FAMILY


class Reading:
    """Turns one message's events into ours. `is_complete` once the vendor has said that the message is over.

    Calls of the vendor's own computer tools become calls of ours; `calls` keeps them as they were written, by id.
    """

    def __init__(self, calls: dict[str, Wire]) -> None:
        self._calls = calls
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
                yield from self._closed(self._blocks.pop(event["index"]))
            case "message_delta":
                self._stop = words(event["delta"].get("stop_reason") or self._stop)
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
            yield Said(words(start["text"]))
        elif block.is_plain_call:
            yield NativeCallStarted(block.id, words(start["name"]))
        elif block.kind == "tool_use" and start.get("toolset_name"):
            yield NativeCallStarted(block.id, to_our_call(words(start["name"]), {})[0], FAMILY)

    def _grown(self, block: _Block, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        match delta.get("type"):
            case "text_delta":
                yield Said(words(delta["text"]))
            case "thinking_delta":
                block.text.append(words(delta["thinking"]))
                yield Thinking(delta["thinking"])
            case "signature_delta":
                block.signature.append(words(delta["signature"]))
            case "input_json_delta":
                block.text.append(words(delta["partial_json"]))
                if delta["partial_json"] and block.is_plain_call:
                    yield NativeCallDelta(block.id, delta["partial_json"])

    def _closed(self, block: _Block) -> Iterator[StreamEvent]:
        match block.kind:
            case "thinking":
                text = str(block.start.get("thinking") or "") + "".join(block.text)
                signature = str(block.start.get("signature") or "") + "".join(block.signature)
                yield OpaqueBlock(VENDOR, {"type": "thinking", "thinking": text, "signature": signature})
            case "redacted_thinking":
                yield OpaqueBlock(VENDOR, dict(block.start))
            case "tool_use":
                given = block.start.get("input")
                told = call_ended(block.id, "".join(block.text), given if isinstance(given, Mapping) else {})
                yield from [told] if block.is_plain_call else self._as_ours(block, told)

    def _as_ours(self, block: _Block, told: NativeCallEnded) -> Iterator[StreamEvent]:
        """A call of the vendor's computer tools. The older tool names its member only among the arguments."""
        self._calls[block.id] = {**block.start, "input": told.args}
        args, member = dict(told.args), words(block.start["name"])
        if not block.start.get("toolset_name"):
            member = str(args.pop("action", ""))
            yield NativeCallStarted(block.id, to_our_call(member, args)[0], FAMILY)
        _, ours = to_our_call(member, args)
        yield NativeCallDelta(block.id, json.dumps(ours, ensure_ascii=False))
        yield NativeCallEnded(block.id, ours, told.unread)
