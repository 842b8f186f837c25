"""Blanks out secrets before text is kept: the patterns are data (`resources/redaction.toml`), their run is linear.

What was meant for a password field has no pattern. It is named to `WITHHELD`, which counts for the whole process, so
that no recorder, log or report can be made without it.
"""

from __future__ import annotations

import html
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.base import paths

_PIECE = 32_768
"""Characters looked at in one go: Python runs nothing else meanwhile, and a file of megabytes would stop everything."""


_SHORTEST_WITHHELD = 4
"""Shorter texts stand everywhere; blanking them out would spoil all that is kept."""


class Withheld:
    """Texts that nothing may keep, in all spellings in which they are written down."""

    def __init__(self) -> None:
        self._spellings: tuple[str, ...] = ()
        self._listeners: tuple[Callable[[tuple[str, ...]], None], ...] = ()

    def add(self, text: str) -> None:
        """From now on it is blanked out; who listens blanks out what was written already."""
        if len(text) < _SHORTEST_WITHHELD:
            return
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


WITHHELD = Withheld()


@dataclass(frozen=True, slots=True)
class _Pattern:
    needs: tuple[str, ...]
    expression: re.Pattern[str]
    spans_lines: bool


@cache
def _rules() -> tuple[str, frozenset[str], tuple[_Pattern, ...]]:
    tree = tomllib.loads((paths.resources() / "redaction.toml").read_text(encoding="utf-8"))
    patterns = tuple(
        _Pattern(tuple(rule["needs"]), re.compile(rule["expression"]), rule.get("spans_lines", False))
        for rule in tree["pattern"]
    )
    return str(tree["shown"]), frozenset(tree["names"]), patterns


def without_secrets(text: str) -> str:
    """The text with keys, tokens and passwords blanked out."""
    mark, _, patterns = _rules()
    text = WITHHELD.without(text)
    text = _searched(text, [pattern for pattern in patterns if pattern.spans_lines], mark)
    within = [pattern for pattern in patterns if not pattern.spans_lines]
    return "".join(_searched(piece, within, mark) for piece in _pieces(text))


def _searched(text: str, patterns: Sequence[_Pattern], mark: str) -> str:
    lowered = text.lower()
    for pattern in patterns:
        if any(need in lowered for need in pattern.needs):
            text = pattern.expression.sub(lambda match: _blanked(match, mark), text)
    return text


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that end at the end of a line, or of a word where a line is very long."""
    start = 0
    while len(text) - start > _PIECE:
        end = start + _PIECE
        stop = max(text.rfind("\n", start, end), 0) or max(text.rfind(" ", start, end), 0) or end - 1
        yield text[start : stop + 1]
        start = stop + 1
    yield text[start:]


def _blanked(match: re.Match[str], mark: str) -> str:
    if "secret" not in match.re.groupindex:
        return mark
    start, stop = match.span("secret")
    whole, offset = match.group(), match.start()
    return f"{whole[: start - offset]}{mark}{whole[stop - offset :]}"


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
    return _rules()[0]


def _is_secret(key: object, value: object) -> bool:
    named = str(key).lower().replace("-", "").replace("_", "") in _rules()[1]
    return named and isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
