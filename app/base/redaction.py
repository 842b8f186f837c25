"""Blanks out secrets before text is kept: the patterns are data (`resources/redaction.toml`), their run is linear."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.base import paths

_PIECE = 32_768
"""Characters looked at in one go: Python runs nothing else meanwhile, and a file of megabytes would stop everything."""


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
