"""Strip or show invisible characters: terminal escapes, controls, bidi marks, tags, zero-width letters.

Such characters can hide text from the person that the model still reads, or show the person a different text. `plain`
strips them from text that enters from outside. `revealed` shows them if the person decides by the text.
"""

from __future__ import annotations

import re

_ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
    r"|\x9b[0-?]*[ -/]*[@-~]"
    # The same as C1. No string holds the start of another, or else many starts take quadratic time.
    r"|[\x90\x98\x9d\x9e\x9f][^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
)
_SEQUENCE = re.compile(_ESCAPES)
_BACKSPACED = re.compile(r"[^\n\x08]\x08(?!\t)")  # a tab moves on and writes nothing over
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_FORMAT = (
    "\u00ad\u061c\u070f\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HALVES = "\ud800-\udfff"
_JOINERS = "\u200c\u200d"
_MISPLACED = (
    rf"[{_SELECTORS}]{{2,}}"
    rf"|(?<![^\x00-\x7f])[{_SELECTORS}{_JOINERS}](?!\u20e3)|[{_JOINERS}](?![^\x00-\x7f])"
)
"""Joiners and variation selectors are normal in non-ASCII scripts and emoji. After ASCII, or many in a row, they are
used to hide text."""
_HIDDEN = re.compile(rf"{_ESCAPES}|[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}]|{_MISPLACED}")
_UNPRINTED = re.compile(rf"[{_CONTROLS}{_FORMAT}{_HALVES}]|{_MISPLACED}")
_SUSPICIOUS = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}{_SELECTORS}{_JOINERS}\u2028\u2029]")
_INVISIBLE = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}{_SELECTORS}{_JOINERS}]")
_PASSES = 8
_ALONE = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}]")
_BREAKS = re.compile("[\u2028\u2029\x85]|\r\n?")


def plain(text: str) -> tuple[str, int]:
    r"""Return the text without hidden characters, and how many there were. Line breaks become `\n`."""
    if not _SUSPICIOUS.search(text):
        return text, 0
    text = _BREAKS.sub("\n", text)
    total = 0
    for _ in range(_PASSES):  # again, because removing a sequence may join its neighbours into a new one
        text, count = _HIDDEN.subn("", text)
        total += count
        if not count:
            return text, total
    text, count = _INVISIBLE.subn("", text)
    return text, total + count


def terminal_text(output: str) -> str:
    """As a terminal shows it at last: without escapes, and each line as it was written over last."""
    text = _SEQUENCE.sub("", output)
    if "\r" in text:  # by lines, because a pattern takes quadratic time on a long line
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\x08" in text:
        text = _BACKSPACED.sub("", text)
    return _UNPRINTED.sub("", text)


def revealed(text: str) -> str:
    """Every hidden character is written out, as in `<U+202E>`, for a person who decides by it."""
    return _HIDDEN.sub(_written_out, text) if _SUSPICIOUS.search(text) else text


def masked(text: str) -> str:
    """U+FFFD for every hidden character. Joiners stay where a script or an emoji needs them."""
    return _HIDDEN.sub(lambda match: "\ufffd" * len(match[0]), text) if _SUSPICIOUS.search(text) else text


def is_joiner(sign: str) -> bool:
    """True if the character joins its neighbours or keeps them apart, as in Persian and in emoji."""
    return sign in _JOINERS


def bare(text: str) -> str:
    """Return the text without the characters that are always hidden. Any piece of a text can be cleaned alone.

    A terminal reads no escape sequence in what is left.
    """
    return text if text.isascii() and text.isprintable() else _ALONE.sub("", text)


def _written_out(match: re.Match[str]) -> str:
    return "".join(sign if sign.isprintable() and sign.isascii() else f"<U+{ord(sign):04X}>" for sign in match[0])
