"""Decode the text between two tags into a value: CDATA, entities, and line breaks at the edges."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from app.base.values import dataclass
from app.protocol.spec import Param

_NAMED = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}  # https://www.w3.org/TR/xml/#sec-predefined-ent
_NAMES = {letter: f"&{name};" for name, letter in _NAMED.items() if letter != "'"}
_ENTITY = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_RAW = re.compile(r"<|&(?!(?:lt|gt|quot|apos|amp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});)")
_UNSAFE = re.compile(r"[&<>\"\x00-\x1f\x7f]|^\s+|\s+\Z")
_LAST_CODE_POINT = 0x10FFFF  # because `chr` raises ValueError above it


def _decoded(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if code <= _LAST_CODE_POINT else match[0]


def decode(text: str) -> str:
    """Return the text with its entities resolved once. Text with a raw `<` or `&` was not escaped and stays."""
    if "&" not in text or _RAW.search(text):
        return text
    return _ENTITY.sub(_decoded, text)


def _encoded(match: re.Match[str]) -> str:
    return "".join(_NAMES.get(letter) or f"&#{ord(letter)};" for letter in match[0])


def encode(text: str) -> str:
    """Return the text as an attribute value in double quotes. A reader gets exactly this text, even if it trims."""
    return _UNSAFE.sub(_encoded, text)


CDATA_START = "<![CDATA["  # https://www.w3.org/TR/xml/#sec-cdata-sect
CDATA_END = "]]>"
_MALFORMED_END = re.compile(r"\]\]\s*>?\s*\Z")
_LONGEST_END = 80


def without_edge_newlines(text: str) -> str:
    """Takes away one line break at each end. Indentation and further line breaks stay."""
    start = _behind_newline(text, 0, len(text))
    return text[start : _before_newline(text, start, len(text))]


def value_of(raw: str, param: Param | None) -> str:
    """Return the value of a raw payload: without CDATA marks and edge line breaks.

    Short plain values are trimmed, and their entities are decoded. Text without a parameter is read as a short value.
    """
    span = span_of(raw, param)
    return raw[slice(*span)] if span else decode(raw.strip())


def span_of(raw: str, param: Param | None) -> tuple[int, int] | None:
    """Return the start and end of the value in the raw payload, without copying. None for short plain values."""
    inner = _cdata(raw)
    if inner is None and (param is None or param.short):
        return None
    start, stop = inner or (0, len(raw))
    start = _behind_newline(raw, start, stop)
    if param is not None and param.is_typed:
        return start, stop if inner else _before_blank_lines(raw, start, stop)
    return start, stop if param is not None and param.keeps_final_newline else _before_newline(raw, start, stop)


def _behind_newline(text: str, start: int, stop: int) -> int:
    """The start index after at most one leading line break. Indentation stays."""
    return next((start + len(end) for end in ("\r\n", "\n") if text.startswith(end, start, stop)), start)


def _before_newline(text: str, start: int, stop: int) -> int:
    """The end index before at most one final line break. A second one stays."""
    return next((stop - len(end) for end in ("\r\n", "\n") if text.endswith(end, start, stop)), stop)


def _before_blank_lines(text: str, start: int, stop: int) -> int:
    """The end of the last line that holds text. Blanks on that line stay."""
    written = start + len(text[start:stop].rstrip())
    end = text.find("\n", written, stop)
    return stop if end < 0 else end - text.endswith("\r", written, end)


def _cdata(raw: str) -> tuple[int, int] | None:
    """The span inside the outermost CDATA pair; None if markup precedes it."""
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
    """Return the value of a quoted attribute. Entities are the only way to write a quote in it."""
    return decode(raw.strip() if short else raw)


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest sizes, in characters: far above a model's usual answer, far below what strains the memory."""

    message: int = 32 * 1024 * 1024
    payload: int = 16 * 1024 * 1024
    attributes: int = 64 * 1024
    calls_per_batch: int = 64
    json_depth: int = 64


DEFAULT_LIMITS = Limits()

# JSON may escape half of a surrogate pair: https://www.rfc-editor.org/rfc/rfc8259#section-8.2
_HALF = re.compile("[\ud800-\udfff]")
_T = TypeVar("_T")


def load(text: str, **hooks: Any) -> Any:
    """Parse JSON and repair broken surrogates in its texts. `hooks` and errors are those of `json.loads`."""
    return well_formed(json.loads(text, **hooks))


def well_formed(value: _T) -> _T:
    """Return the same JSON tree with valid text: surrogate pairs are joined, and a lone half becomes U+FFFD."""
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
