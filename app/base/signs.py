"""Signs that nobody sees: terminal escapes, controls, reversed writing, tags, zero-width letters.

They hide words from a person that a model reads, or show a person other words than there are. Text from outside loses
them where it enters; what a person is to judge shows them.
"""

from __future__ import annotations

import re

_ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x90\x98\x9d\x9e\x9f][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # the same as C1
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_FORMAT = (
    "\u00ad\u061c\u070f\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HALVES = "\ud800-\udfff"
_JOINERS = "\u200c\u200d"
_HIDDEN = re.compile(
    rf"{_ESCAPES}|[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}]|[{_SELECTORS}]{{2,}}"
    rf"|(?<![^\x00-\x7f])[{_SELECTORS}{_JOINERS}](?!\u20e3)|[{_JOINERS}](?![^\x00-\x7f])"
)
"""Joiners and variation selectors belong to scripts and pictures beyond ASCII; elsewhere, or many in a row, they hide
something."""
_SUSPICIOUS = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}{_SELECTORS}{_JOINERS}\u2028\u2029]")
_INVISIBLE = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}{_SELECTORS}{_JOINERS}]")
_PASSES = 8
_ALONE = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}]")
_BREAKS = re.compile("[\u2028\u2029\x85]|\r\n?")


def plain(text: str) -> tuple[str, int]:
    """The text without hidden signs, and how many there were (an escape sequence is one). Line breaks become `\n`."""
    if not _SUSPICIOUS.search(text):
        return text, 0
    text = _BREAKS.sub("\n", text)
    total = 0
    for _ in range(_PASSES):  # what is left out may have kept others apart
        text, count = _HIDDEN.subn("", text)
        total += count
        if not count:
            return text, total
    text, count = _INVISIBLE.subn("", text)
    return text, total + count


def revealed(text: str) -> str:
    """The text with every hidden sign written out, as in `<U+202E>`, for a person who decides by it."""
    return _HIDDEN.sub(_written_out, text) if _SUSPICIOUS.search(text) else text


def bare(text: str) -> str:
    """The text, or a piece of one, without the signs that are never anything but hidden: where it is cut into pieces
    changes nothing, and no terminal obeys what is left."""
    return _ALONE.sub("", text) if not text.isprintable() else text


def _written_out(match: re.Match[str]) -> str:
    return "".join(sign if sign.isprintable() and sign.isascii() else f"<U+{ord(sign):04X}>" for sign in match[0])
