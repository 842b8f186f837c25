"""Numbers and durations, in digits and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.providers.offline.lexicon import lexicon
from app.providers.offline.words import Kind, Token

_DIGITS = re.compile(r"\d{1,6}(\.\d{1,6})?")
_GLUED = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([a-z]+)")
_HALF = 0.5


def number(tokens: Sequence[Token]) -> float | None:
    """`3`, `1.5`, `three`, `twenty-five`, `two and a half`; None for anything else."""
    words = [part for token in tokens for part in token.low.split("-")]
    if words[-3:] == ["and", "a", "half"] and len(words) > 3:
        whole = _plain(words[:-3])
        return None if whole is None else whole + _HALF
    if words in (["half"], ["half", "a"], ["half", "an"], ["a", "half"]):
        return _HALF
    if words == ["a", "couple", "of"]:
        return 2
    return _plain(words)


def whole_number(tokens: Sequence[Token]) -> int | None:
    value = number(tokens)
    return int(value) if value is not None and value == int(value) else None


def seconds(tokens: Sequence[Token]) -> float | None:
    """A duration with its unit: `2 seconds`, `500ms`, `half a minute`."""
    if not tokens or any(token.kind is not Kind.WORD for token in tokens):
        return None
    units = lexicon().table("numbers.seconds")
    glued = _GLUED.fullmatch(tokens[0].low) if len(tokens) == 1 else None
    if glued and glued.group(2) in units:
        return float(glued.group(1)) * float(units[glued.group(2)])
    if tokens[-1].low not in units:
        return None
    amount = number(tokens[:-1])
    return None if amount is None else amount * float(units[tokens[-1].low])


def repeats(tokens: Sequence[Token]) -> tuple[Sequence[Token], int]:
    """What stands before `twice`, `3 times` or `3x` at the end, and how often that is; 1 where nothing is said."""
    if not tokens:
        return tokens, 1
    last = tokens[-1].low
    words = lexicon().table("numbers.repeats")
    if last in words:
        return tokens[:-1], int(words[last])
    if re.fullmatch(r"\d{1,4}x|x\d{1,4}", last):
        return tokens[:-1], int(last.strip("x"))
    if last == "times" and len(tokens) > 1:
        count = whole_number(tokens[-2:-1])
        if count is not None:
            return tokens[:-2], count
    return tokens, 1


def _plain(words: Sequence[str]) -> float | None:
    if len(words) == 1 and _DIGITS.fullmatch(words[0]):
        return float(words[0])
    known = lexicon().table("numbers.words")
    values = [known[word] for word in words if word in known]
    if not values or len(values) != len(words) or len(values) > 2:
        return None
    if len(values) == 2 and not (values[0] >= 20 and 0 < values[1] < 10):
        return None
    return float(sum(values))
