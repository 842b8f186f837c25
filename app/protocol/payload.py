"""Decode the characters between two tags into a value: CDATA, entities, line breaks at the edges."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from app.base.values import dataclass
from app.protocol.spec import Param

_NAMED = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}
_NAMES = {letter: f"&{name};" for name, letter in _NAMED.items() if letter != "'"}
_ENTITY = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_RAW = re.compile(r"<|&(?!(?:lt|gt|quot|apos|amp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_UNSAFE = re.compile(r"[&<>\"\x00-\x1f\x7f]|^\s+|\s+\Z")
_LAST_CODE_POINT = 0x10FFFF


def _decoded(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if code <= _LAST_CODE_POINT else match[0]


def decode(text: str) -> str:
    """The text with its entities resolved, once. Text with a raw `<` or `&` was not escaped: it stays as it is."""
    if "&" not in text or _RAW.search(text):
        return text
    return _ENTITY.sub(_decoded, text)


def _encoded(match: re.Match[str]) -> str:
    return "".join(_NAMES.get(letter) or f"&#{ord(letter)};" for letter in match[0])


def encode(text: str) -> str:
    """The text as an attribute value in double quotes that reads back exactly, trimmed or not."""
    return _UNSAFE.sub(_encoded, text)


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
    return raw[slice(*span)] if span else decode(raw.strip())


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
    return decode(raw.strip() if short else raw)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in characters. Far above what a model writes in one answer, far below what hurts memory."""

    message: int = 32 * 1024 * 1024
    payload: int = 16 * 1024 * 1024
    attributes: int = 64 * 1024
    calls_per_batch: int = 64
    json_depth: int = 64


DEFAULT_LIMITS = Limits()

_HALF = re.compile("[\ud800-\udfff]")
_T = TypeVar("_T")


def load(text: str, **hooks: Any) -> Any:
    """The value, with every text in it well-formed. `hooks` are those of `json.loads`, and so is what it raises."""
    return well_formed(json.loads(text, **hooks))


def well_formed(value: _T) -> _T:
    """The same tree of JSON values; two halves that belong together are joined, any other half is U+FFFD."""
    mended: Any = value
    if isinstance(value, str):
        mended = _mended(value)
    elif isinstance(value, dict):
        mended = {_mended(key): well_formed(inner) for key, inner in value.items()}
    elif isinstance(value, list):
        mended = [well_formed(inner) for inner in value]
    result: _T = mended
    return result


def _mended(text: str) -> str:
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
