"""From the characters between two tags to the value they stand for."""

from __future__ import annotations

import re

from app.protocol import entities
from app.protocol.spec import Param

CDATA_START = "<![CDATA["
CDATA_END = "]]>"
_MALFORMED_END = re.compile(r"\]\]\s*>?\s*\Z")
_LONGEST_END = 80


def without_edge_newlines(text: str) -> str:
    """At most one line break less at each end; indentation and a second final newline stay."""
    start = _behind_newline(text, 0, len(text))
    return text[start : _before_newline(text, start, len(text))]


def value_of(raw: str, param: Param | None) -> str:
    """The value of a payload: CDATA unwrapped, edges stripped; short plain values are trimmed and lose entities.

    Text that belongs to no parameter is read as a short value.
    """
    span = span_of(raw, param)
    return raw[slice(*span)] if span else entities.decode(raw.strip())


def span_of(raw: str, param: Param | None) -> tuple[int, int] | None:
    """Where in the raw payload its value stands; None for short plain values, which are decoded. Copies nothing."""
    inner = _cdata(raw)
    if inner is None and (param is None or param.short):
        return None
    start, stop = inner or (0, len(raw))
    start = _behind_newline(raw, start, stop)
    if param is not None and param.is_typed:
        return start, stop if inner else _before_blank_lines(raw, start, stop)
    return start, stop if param is not None and param.keeps_final_newline else _before_newline(raw, start, stop)


def _behind_newline(text: str, start: int, stop: int) -> int:
    """One line break less at the start, at most; indentation stays."""
    return next((start + len(end) for end in ("\r\n", "\n") if text.startswith(end, start, stop)), start)


def _before_newline(text: str, start: int, stop: int) -> int:
    """One line break less at the end, at most; a second one stays."""
    return next((stop - len(end) for end in ("\r\n", "\n") if text.endswith(end, start, stop)), stop)


def _before_blank_lines(text: str, start: int, stop: int) -> int:
    """The end of the last line that holds anything; blanks on it stay."""
    written = start + len(text[start:stop].rstrip())
    end = text.find("\n", written, stop)
    return stop if end < 0 else end - text.endswith("\r", written, end)


def _cdata(raw: str) -> tuple[int, int] | None:
    """What the outermost CDATA pair holds; None where the text's CDATA sections are its own (they stand in markup)."""
    start = raw.find(CDATA_START)
    if start < 0 or raw.find("<", 0, start) >= 0:
        return None
    start += len(CDATA_START)
    stop = raw.rfind(CDATA_END, start)
    if stop >= 0:
        return start, stop
    malformed = _MALFORMED_END.search(raw, max(start, len(raw) - _LONGEST_END))
    return start, malformed.start() if malformed else len(raw)


def attribute_value(raw: str, *, short: bool) -> str:
    """The value of a quoted attribute, where entities are the only way to write a quote."""
    return entities.decode(raw.strip() if short else raw)
