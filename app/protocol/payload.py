"""From the characters between two tags to the value they stand for."""

from __future__ import annotations

from app.protocol import entities
from app.protocol.spec import Param

CDATA_START = "<![CDATA["
CDATA_END = "]]>"


def without_first_newline(text: str) -> str:
    return text[2:] if text.startswith("\r\n") else text.removeprefix("\n")


def without_edge_newlines(text: str) -> str:
    """At most one line break less at each end; indentation and a second final newline stay."""
    text = without_first_newline(text)
    if text.endswith("\r\n"):
        return text[:-2]
    return text[:-1] if text.endswith("\n") else text


def _cdata(raw: str) -> str | None:
    """What the outermost CDATA pair holds; None where the text's CDATA sections are its own (they stand in markup)."""
    start = raw.find(CDATA_START)
    if start < 0 or "<" in raw[:start]:
        return None
    inner = raw[start + len(CDATA_START) :]
    end = inner.rfind(CDATA_END)
    if end < 0:
        return inner.rstrip().removesuffix("]]") if inner.rstrip().endswith("]]") else inner
    return inner[:end]


def value_of(raw: str, param: Param | None) -> str:
    """The value of a payload: CDATA unwrapped, edges stripped; short plain values are trimmed and lose entities.

    Text that belongs to no parameter is read as a short value.
    """
    inner = _cdata(raw)
    if inner is None and (param is None or param.short):
        return entities.decode(raw.strip())
    text = raw if inner is None else inner
    keeps_end = param is not None and param.keeps_final_newline
    return without_first_newline(text) if keeps_end else without_edge_newlines(text)


def attribute_value(raw: str, *, short: bool) -> str:
    """The value of a quoted attribute, where entities are the only way to write a quote."""
    return entities.decode(raw.strip() if short else raw)
