"""SEARCH/REPLACE blocks as text: from a model's diff to pairs of lines.

Markers are whole lines: `------- SEARCH`, `=======`, `+++++++ REPLACE` (three signs or more; `<` and `>` serve as well;
trailing spaces and carriage returns do not count). A line of a payload that looks like a marker is written with a
backslash before it. What stands between two blocks is prose and is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.base.errors import ToolFailed

_SEARCH = re.compile(r"(?:-{3,}|<{3,}) SEARCH>?")
_SEPARATOR = re.compile(r"={3,}")
_REPLACE = re.compile(r"(?:\+{3,}|>{3,}) REPLACE>?")
_ESCAPED = re.compile(r"\\+(?:(?:-{3,}|<{3,}) SEARCH>?|={3,}|(?:\+{3,}|>{3,}) REPLACE>?)")
_BROKEN = re.compile(r"(?:[-<]{3,}\s*SEARCH.*|[+>]{3,}\s*R?E?P?L?A?C?E?\W*)", re.IGNORECASE)
_USUAL = 7
_CDATA_OPEN, _CDATA_CLOSE = "<![CDATA[", "]]>"
_FORM = "Each block is: `------- SEARCH`, the old lines, `=======`, the new lines, `+++++++ REPLACE`."


class EditRefused(ToolFailed):
    """A diff that cannot be applied; the file stays as it is. `code` is a stable word for tests and cards."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class Block:
    """The `number`-th edit (from 1): lines without line ends, exactly as written."""

    number: int
    search: tuple[str, ...]
    replace: tuple[str, ...]


def parse(diff: str) -> list[Block]:
    """The blocks of a diff, in order. Raises EditRefused('malformed')."""
    lines = [line.rstrip("\r") for line in _unwrapped(diff).split("\n")]
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        mark = lines[at].rstrip()
        if _SEARCH.fullmatch(mark):
            end, closed = _end_of(lines, at, len(blocks) + 1)
            blocks.append(_block(lines[at + 1 : end], len(blocks) + 1, closed=closed))
            at = end
        elif _SEPARATOR.fullmatch(mark) or _BROKEN.fullmatch(mark):
            raise EditRefused("malformed", f"diff: line {at + 1} is {mark!r} outside any block. {_FORM}")
        at += 1
    if not blocks:
        raise EditRefused("malformed", f"diff: there is no SEARCH marker in it. {_FORM}")
    return blocks


def _unwrapped(diff: str) -> str:
    text = diff.strip()
    if not text.startswith(_CDATA_OPEN):
        return diff
    end = text.rfind(_CDATA_CLOSE)
    return text[len(_CDATA_OPEN) : end if end >= 0 else len(text)]


def _end_of(lines: list[str], start: int, number: int) -> tuple[int, bool]:
    """Where the block that opens at `start` ends, and whether a marker closes it (the last may lack it)."""
    for at in range(start + 1, len(lines)):
        mark = lines[at].rstrip()
        if _REPLACE.fullmatch(mark):
            return at, True
        if _SEARCH.fullmatch(mark):
            break
    else:
        last = next((line.rstrip() for line in reversed(lines) if line.strip()), "")
        if not _BROKEN.fullmatch(last):
            return len(lines), False
    raise EditRefused("malformed", f"diff: block {number} has no `+++++++ REPLACE` line at its end. {_FORM}")


def _block(lines: list[str], number: int, *, closed: bool) -> Block:
    middle = _separator(lines, number)
    search, replace = lines[:middle], lines[middle + 1 :]
    if not closed and replace and not replace[-1].strip():
        replace = replace[:-1]
    return Block(number, _plain(search), _plain(replace))


def _separator(lines: list[str], number: int) -> int:
    found = [at for at, line in enumerate(lines) if _SEPARATOR.fullmatch(line.rstrip())]
    usual = [at for at in found if len(lines[at].rstrip()) == _USUAL]
    if len(found) > 1 and len(usual) == 1:
        found = usual
    if len(found) == 1:
        return found[0]
    if not found:
        raise EditRefused("malformed", f"diff: block {number} has no `=======` line between old and new lines. {_FORM}")
    raise EditRefused(
        "malformed",
        f"diff: block {number} has {len(found)} lines of equals signs, so it is not clear which one separates old from "
        "new. Write a backslash before those that belong to the text.",
    )


def _plain(lines: list[str]) -> tuple[str, ...]:
    return tuple(line[1:] if _ESCAPED.fullmatch(line.rstrip()) else line for line in lines)
