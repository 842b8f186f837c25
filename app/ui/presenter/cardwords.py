"""What a card says about its call: the words are in `resources/cards.toml`, this only picks and fills them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Any

from app.base import paths
from app.base.clipping import clip_line

Words = Callable[[str], str]
"""Translates one English text of the tables."""

_FIELDS = re.compile(r"\{\w+\}")
_OBJECT_CHARS = 80
_FIELD_CHARS = 60


@dataclass(frozen=True, slots=True)
class CardWords:
    """One tool's entry of the table."""

    glyph: str
    present: str
    past: str
    failed: str
    objects: tuple[str, ...]
    kind: str = "row"
    body: str = ""
    small: bool = False
    hidden: bool = False

    def object_of(self, known: Mapping[str, object], words: Words) -> str:
        """The first template all of whose names are known, filled in; one line."""
        for template in self.objects:
            fields = {name: _short(known.get(name)) for name in _names(template)}
            if all(fields.values()):
                return clip_line(words(template).format_map(fields), _OBJECT_CHARS) if template else ""
        return ""


def words_for(tool: str) -> CardWords:
    """The tool's words, or the generic ones for a tool that the table does not know."""
    table = _table()
    return table.get(tool, table["generic"])


def all_texts() -> tuple[str, ...]:
    """Every English text of the table, for translators and for the test that a language is complete."""
    found: dict[str, None] = {}
    for entry in _table().values():
        for text in (entry.present, entry.past, entry.failed, *entry.objects):
            if any(character.isalpha() for character in _FIELDS.sub("", text)):
                found[text] = None
    return tuple(found)


@cache
def _table() -> dict[str, CardWords]:
    tree = tomllib.loads((paths.resources() / "cards.toml").read_text(encoding="utf-8"))
    return {tool: _entry(fields) for tool, fields in tree.items()}


def _entry(fields: Mapping[str, Any]) -> CardWords:
    return CardWords(
        glyph=fields.get("glyph", "spark"),
        present=fields.get("present", ""),
        past=fields.get("past", ""),
        failed=fields.get("failed", ""),
        objects=tuple(fields.get("object", ())),
        kind=fields.get("kind", "row"),
        body=fields.get("body", ""),
        small=fields.get("small", False),
        hidden=fields.get("hidden", False),
    )


def _names(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def _short(value: object) -> str:
    """A value as a word of a sentence; nothing for what is not a plain value."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return clip_line(f"{value:g}" if isinstance(value, float) else str(value), _FIELD_CHARS)
