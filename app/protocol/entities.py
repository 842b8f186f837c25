"""The few character entities that models write in short values."""

from __future__ import annotations

import re

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
