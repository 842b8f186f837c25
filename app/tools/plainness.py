"""What a tool brings from outside, without the signs that hide something from people or steer a terminal.

One place for all tools: what a page, a file, a window or a program says passes here before a model or a card has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.base import signs
from app.protocol.result import JsonValue, ToolResult


def made_plain(result: ToolResult) -> ToolResult:
    """The result with plain texts; the model is told how many signs were left out."""
    echo, hidden = signs.plain(result.llm_echo)
    if hidden:
        echo += f"\n[{hidden} hidden or control characters were left out]"
    media = tuple(replace(media, label=signs.plain(media.label)[0]) for media in result.llm_media)
    payload = {name: _plain(value) for name, value in result.payload.items()}
    return replace(result, payload=payload, llm_echo=echo, llm_media=media)


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return signs.plain(value)[0]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return value
