"""What both vendors' streams have in common."""

from __future__ import annotations

from collections.abc import Mapping

from app.protocol import json_text
from app.protocol.result import JsonValue
from app.providers.api import NativeCallEnded


class WireError(ValueError):
    """The stream holds something that its format does not allow."""


def words(value: object) -> str:
    """A text of the wire; anything else is no text. Raises WireError."""
    if not isinstance(value, str):
        raise WireError(f"{value!r:.40} where a text belongs")
    return value


def call_ended(call_id: str, text: str, given: Mapping[str, JsonValue] | None = None) -> NativeCallEnded:
    """The end of a call whose arguments came as `text`; none at all means what was given with its start."""
    if not text.strip():
        return NativeCallEnded(call_id, given or {})
    try:
        args = json_text.load(text)
    except (ValueError, RecursionError):
        return NativeCallEnded(call_id, {}, text)
    return NativeCallEnded(call_id, args) if isinstance(args, dict) else NativeCallEnded(call_id, {}, text)
