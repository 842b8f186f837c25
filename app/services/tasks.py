"""A task's checklist: read from the model's text, kept as a Markdown file that the person may edit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from app.base import own_files
from app.base.values import dataclass

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
    """A line with a box (`- [ ]`, `- [x]`) or a tick (✅, ☐) at either end; None for other lines."""
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
    """Return the items of a checklist, in order. Other lines are skipped."""
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
        """Return the items that are in the file now."""
        return parse(self._text())

    def update(self, progress: str) -> tuple[Item, ...]:
        """Save the checklist that the model reported, and return its items. A report without items changes nothing."""
        items = parse(progress)
        if items:
            self._written = _HEAD + render(items)
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            own_files.write(self._path, self._written)
        return self.items()

    def was_edited(self) -> bool:
        """Return whether the person changed the file after Wisp last wrote it."""
        return self._text() != self._written

    def clear(self) -> None:
        """Delete the checklist, because the task is over."""
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


_OPENERS = "\"'“"
_CLOSERS = {'"': '"', "'": "'", "“": "”"}
_AFTER_CLOSE = ",;]["
_OPTION_BULLET = re.compile(r"\s*(?:[-*•]|\(?\d{1,2}[.):]|\(?[A-Za-z][.)])\s+")
_TAGS = re.compile(r"</?options?>", re.IGNORECASE)


def parse_options(text: str) -> tuple[str, ...]:
    """Return the possible answers that a list in `text` contains, each once; () if it contains no list."""
    text = _TAGS.sub("\n", text).strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # because models often write lists that are not quite JSON
        found = _sloppy(text)
    else:
        found = (
            [item if isinstance(item, str) else json.dumps(item) for item in value] if isinstance(value, list) else []
        )
        found = [value] if isinstance(value, str) else found
    return tuple(dict.fromkeys(one.strip() for one in found if one.strip()))


def _sloppy(text: str) -> list[str]:
    if text.startswith("{"):
        return []
    if text.startswith("["):
        inner = text[1:].lstrip()
        return _quoted(inner) if inner[:1] in _CLOSERS else _split(text.strip("[]"))
    return _quoted(text) if text[:1] in _CLOSERS else _split(text)


def _quoted(text: str) -> list[str]:
    """The strings of a broken list. A quote ends a string only before a comma, a bracket or the text's end."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] not in _OPENERS:
            at += 1
            continue
        close = _closing(text, at + 1, _CLOSERS[text[at]])
        found.append(text[at + 1 : close].replace('\\"', '"').replace("\\'", "'"))
        at = close + 1
    return found


def _closing(text: str, at: int, quote: str) -> int:
    while (at := text.find(quote, at)) >= 0:
        after = text[at + 1 :].lstrip(" \t")[:1]
        if text[at - 1] != "\\" and (not after or after in _AFTER_CLOSE or after == "\n"):
            return at
        at += 1
    return len(text)


def _split(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return [_unquoted(_OPTION_BULLET.sub("", line, count=1)) for line in lines]
    for sign in ("|", ";", ","):
        if sign in text:
            return [_unquoted(part) for part in text.split(sign)]
    return [_unquoted(_OPTION_BULLET.sub("", text, count=1))]


def _unquoted(text: str) -> str:
    text = text.strip().rstrip(",").rstrip()
    return text[1:-1] if len(text) > 1 and text[0] in _CLOSERS and text[-1] == _CLOSERS[text[0]] else text
