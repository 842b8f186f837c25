"""Strip or show invisible characters: terminal escapes, controls, bidi marks, tags, zero-width letters.

Such characters can hide text from the person that the model still reads, or show the person a different text.
`plain` strips them from text that enters from outside. `revealed` spells them out where the person decides by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from app.base import resources
from app.base.redaction import Pattern, Redaction

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
_NAMED = 3
_MOST_NAMED = 5
_ALONE = re.compile(rf"[{_CONTROLS}{_FORMAT}{_BLANK_LETTERS}{_HALVES}]")
_BREAKS = re.compile("[\u2028\u2029\x85]|\r\n?")


def plain(text: str) -> tuple[str, int]:
    """The text without hidden signs, and how many there were (an escape sequence is one). Line breaks become `\n`."""
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
    """Return output as a terminal shows it at last: without escapes, and each line as it was written over last."""
    text = _SEQUENCE.sub("", output)
    if "\r" in text:  # by lines, because a pattern takes quadratic time on a long line
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\x08" in text:
        text = _BACKSPACED.sub("", text)
    return _UNPRINTED.sub("", text)


def revealed(text: str) -> str:
    """The text with every hidden sign written out, as in `<U+202E>`, for a person who decides by it."""
    return _HIDDEN.sub(_written_out, text) if _SUSPICIOUS.search(text) else text


def bare(text: str) -> str:
    """The text, or a piece of one, without the signs that are never anything but hidden: where it is cut into pieces
    changes nothing, and no terminal obeys what is left."""
    return text if text.isascii() and text.isprintable() else _ALONE.sub("", text)


def _written_out(match: re.Match[str]) -> str:
    return "".join(sign if sign.isprintable() and sign.isascii() else f"<U+{ord(sign):04X}>" for sign in match[0])


def clip_line(text: str, limit: int) -> str:
    """One line of at most `limit` characters; line breaks become spaces and a cut ends in `…`."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: max(limit - 1, 0)] + "…"


_FOR_MODELS = re.compile(
    r"(?<![\w'\"“/.~-])[a-z]+(?:_[a-z]+)+(?![\w'\"”/])(?!\.\w)"
    r"|</?[a-z_]+/?>|\bx and y\b|\b(?:name one|name it) by\b|\b(?:e|w)\d+\b|\bref\b|\bcoordinates?\b"
    r"|\(-?\d+, ?-?\d+\)|\bat -?\d+, -?\d+\b|\bof (?:the|this) capture\b"
    r"|\bcapture [a-z]?\d+\b|\bin this picture\b|\bunverifiable\b"
    r"|\bsuspected no-op\b|\blook (?:again|before|with|at the screen before)\b|\bclick it\b|\buse click\b"
    r"|\buse (?:a command|the program's own)\b|\bact somewhere else\b|\bthe person\b"
    r"|\b(?:scroll|move) its window first\b"
    r"|\bcapture c\d+\b|\bwrite the text to a file instead\b|\bno tool\b|\btry a smaller region\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<=[.!?;])\s+")
_ARGUMENT = re.compile(r"\A(?:[a-z]+(?:_[a-z]+)*: )+")
_REPR = re.compile(r"(?<!\w)'([^'\n]+)'(?!\w)")


def for_people(text: str) -> str:
    """The clauses of a tool's answer that are for people: none about calls, ids, places or the model's next step."""
    clauses = _CLAUSE.split(_ARGUMENT.sub("", " ".join(text.split())))
    kept = " ".join(one for one in clauses if not _FOR_MODELS.search(one))
    kept = _REPR.sub(r"“\1”", f"{kept[:-1]}." if kept.endswith(";") else kept)
    return kept[:1].upper() + kept[1:]


def named_in_short(names: Sequence[str]) -> list[str]:
    """Each name, or from six on one line with the first three and how many more there are."""
    if len(names) <= _MOST_NAMED:
        return list(names)
    return [f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"]


def clip_middle(text: str, head: int, tail: int) -> str:
    """The first `head` and last `tail` characters, with a line between them that counts what is gone."""
    gone = len(text) - head - tail
    if gone <= 0:
        return text
    return f"{text[:head]}\n[… {gone} characters left out …]\n{text[len(text) - tail :]}"


_SHORTEST_WITHHELD = 4
"""Shorter texts stand everywhere; blanking them out would spoil all that is kept."""


class WithheldTexts:
    """Texts that nothing may keep, in all spellings in which they are written down."""

    def __init__(self) -> None:
        self._spellings: tuple[str, ...] = ()
        self._listeners: tuple[Callable[[tuple[str, ...]], None], ...] = ()

    def add(self, text: str) -> None:
        """From now on it is blanked out; who listens blanks out what was written already."""
        if len(text) < _SHORTEST_WITHHELD:
            return
        import html  # here, because its table of entities costs every start

        spelled = {text, html.escape(text), html.escape(text, quote=False)}
        spelled |= {json.dumps(one, ensure_ascii=False)[1:-1] for one in spelled}
        new = spelled - set(self._spellings)
        self._spellings = tuple(sorted({*self._spellings, *new}, key=len, reverse=True))
        for listener in self._listeners:
            listener(tuple(sorted(spelled, key=len, reverse=True)))

    def listen(self, listener: Callable[[tuple[str, ...]], None]) -> Callable[[], None]:
        """Call it with each text in all spellings, the longest first. Returns what ends that."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(one for one in self._listeners if one is not listener)

        return stop

    def without(self, text: str) -> str:
        """The text with everything withheld blanked out."""
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, shown())
        return text

    def forget(self) -> None:
        """Withhold nothing any more."""
        self._spellings = ()


WITHHELD = WithheldTexts()


@cache
def redaction_table() -> tuple[str, frozenset[str], tuple[tuple[tuple[str, ...], str, str, bool], ...]]:
    """The mark, the names that hold nothing but secrets, and each pattern's needs, expression, check and span."""
    tree = resources.table("redaction.toml", resources.Table)
    patterns = tuple(
        (tuple(rule["needs"]), str(rule["expression"]), str(rule.get("check", "")), bool(rule.get("spans_lines")))
        for rule in tree["pattern"]
    )
    return str(tree["shown"]), frozenset(tree["names"]), patterns


@cache
def redaction() -> Redaction:
    """The patterns of the table, without the texts that are withheld."""
    mark, _, patterns = redaction_table()
    return Redaction(mark, [Pattern(*rule[:3], spans_lines=rule[3]) for rule in patterns])


def without_secrets(text: str) -> str:
    """The text with keys, tokens, passwords and card numbers blanked out."""
    return redaction().without(WITHHELD.without(text))


def cleaned(value: Any) -> Any:
    """The same tree of JSON values without secrets: in its texts, and under names that hold nothing else."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {key: shown() if _is_secret(key, inner) else cleaned(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [cleaned(inner) for inner in value]
    return value


def shown() -> str:
    """What stands in place of a secret."""
    return redaction_table()[0]


def _is_secret(key: object, value: object) -> bool:
    named = str(key).lower().replace("-", "").replace("_", "") in redaction_table()[1]
    return named and isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
