"""A task's checklist: read from what models write, kept as a Markdown file that the person may edit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s*")
_BOX = re.compile(r"\[([ xX✓✔✅~-]?)\]\s*")
_DONE, _OPEN = "✅☑✔✓", "☐⬜◻▢🔲"
_DONE_MARKS = "xX✓✔✅"
_HEAD = "# Task\n\n"
_MOST_ITEMS = 200
_ITEM_CHARS = 400


@dataclass(frozen=True, slots=True)
class Item:
    text: str
    done: bool = False


def parse_line(line: str) -> Item | None:
    """One item: a box (`- [ ]`, `- [x]`) or a tick (✅, ☐) anywhere at its ends; None for any other line."""
    bullet = _BULLET.match(line)
    rest = line[bullet.end() :] if bullet else line.lstrip()
    box = _BOX.match(rest)
    if box:
        return _item(rest[box.end() :], done=box[1] != "" and box[1] in _DONE_MARKS)
    rest = rest.strip().replace("\ufe0f", "")
    for signs, done in ((_DONE, True), (_OPEN, False)):
        if rest and (rest[-1] in signs or rest[0] in signs):
            return _item(rest.strip(signs), done=done)
    return None


def parse(text: str) -> tuple[Item, ...]:
    """The items of a checklist, in order; what is no item is passed over."""
    found = [item for line in text.splitlines() if (item := parse_line(line))]
    return tuple(found[:_MOST_ITEMS])


def render(items: Sequence[Item]) -> str:
    """As Markdown."""
    return "".join(f"- [{'x' if item.done else ' '}] {item.text}\n" for item in items)


class Checklist:
    """The checklist of one conversation, in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = ""

    def items(self) -> tuple[Item, ...]:
        """As the file has it now."""
        return parse(self._text())

    def update(self, progress: str) -> tuple[Item, ...]:
        """Keep what a model reported; a report without items changes nothing."""
        items = parse(progress)
        if items:
            self._written = _HEAD + render(items)
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = self._path.with_suffix(".new")
            beside.write_text(self._written, encoding="utf-8")
            os.replace(beside, self._path)
        return self.items()

    def was_edited(self) -> bool:
        """Whether the person changed the file since it was last written."""
        return self._text() != self._written

    def clear(self) -> None:
        """The task is over."""
        self._path.unlink(missing_ok=True)
        self._written = ""

    def _text(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""


def _item(text: str, *, done: bool) -> Item | None:
    text = " ".join(text.split())[:_ITEM_CHARS]
    return Item(text, done) if text else None
