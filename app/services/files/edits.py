"""Apply SEARCH/REPLACE blocks to a text: all or none, and only the addressed lines change.

All blocks are searched in the original text, so their order does not matter. Blocks with the same SEARCH take
successive places if there are as many places as blocks. Line ends and the final newline stay as they were.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, pairwise

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.values import dataclass

_SEARCH = re.compile(r"(?:-{3,}|<{3,}) SEARCH>?")
_SEPARATOR = re.compile(r"={3,}")
_REPLACE = re.compile(r"(?:\+{3,}|>{3,}) REPLACE>?")
_ESCAPED = re.compile(r"\\+(?:(?:-{3,}|<{3,}) SEARCH>?|={3,}|(?:\+{3,}|>{3,}) REPLACE>?)")
_BROKEN = re.compile(r"(?:[-<]{3,}\s*SEARCH.*|[+>]{3,}\s*R?E?P?L?A?C?E?\W*)", re.IGNORECASE)
_USUAL = 7
_MARK = "\ufeff"
_CDATA_OPEN, _CDATA_CLOSE = "<![CDATA[", "]]>"
_FORM = "Each block is: `------- SEARCH`, the old lines, `=======`, the new lines, `+++++++ REPLACE`."


class EditRefused(ToolFailed):
    """Raised if a diff cannot be applied; the file stays as it is. `code` is a stable name for tests and cards."""

    is_for_model = True

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class EditBlock:
    """One edit, the `number`-th (from 1): its lines without line ends, exactly as written."""

    number: int
    search: tuple[str, ...]
    replace: tuple[str, ...]


def parse(diff: str) -> list[EditBlock]:
    """The blocks in order. Raises EditRefused('malformed')."""
    lines = [line.rstrip("\r") for line in _unwrapped(diff).split("\n")]
    blocks: list[EditBlock] = []
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
    """The line where a block ends, and whether a marker ends it (the last block needs none)."""
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


def _block(lines: list[str], number: int, *, closed: bool) -> EditBlock:
    middle = _separator(lines, number)
    search, replace = lines[:middle], lines[middle + 1 :]
    if not closed and replace and not replace[-1].strip():
        replace = replace[:-1]
    return EditBlock(number, _plain(search), _plain(replace))


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


_SIMILAR = 0.7
"""The least share of equal inner lines if only a block's first and last line match (protocols reference, 5)."""
_MOST_ANCHORS = 2_000
_MOST_WORK = 2_000_000  # because a file of equal lines would otherwise take quadratic time


@dataclass(frozen=True, slots=True)
class Found:
    """Lines that match: `start` to `end` (exclusive, from 0), and the method that found them."""

    start: int
    end: int
    way: str


View = Callable[[str], str]
_WAYS: tuple[tuple[str, View], ...] = (
    ("exact", str),
    ("trailing spaces differ", str.rstrip),
    ("indentation differs", str.strip),
)


class Lines:
    """A file's lines without line ends. It gets all searches at once, so that one pass through the file finds all."""

    def __init__(self, lines: Sequence[str], searches: Sequence[Sequence[str]]) -> None:
        self.lines = lines
        self._searches = searches
        self._views: dict[str, tuple[list[str], dict[str, list[int]]]] = {}

    def places(self, search: Sequence[str]) -> list[Found]:
        """Return all matches of the first method that finds any; empty if none does."""
        for way, view in _WAYS:
            if starts := list(self._equal(search, way, view)):
                return [Found(start, start + len(search), way) for start in starts]
        return list(self._similar(search))

    def holding(self, search: Sequence[str]) -> int | None:
        """Return the line (from 0) where the text of `search` begins, if it matches only parts of lines; else None."""
        text = "\n".join(self.lines)
        at = text.find("\n".join(search))
        return None if at < 0 else text.count("\n", 0, at)

    def _equal(self, search: Sequence[str], way: str, view: View) -> Iterator[int]:
        seen, index = self._view(way, view)
        wanted = list(map(view, search))
        key = _key(search)
        places = index[wanted[key]]
        if len(places) * len(wanted) > _MOST_WORK:
            return _repeated(seen, wanted)
        return (at - key for at in places if at >= key and seen[at - key : at - key + len(wanted)] == wanted)

    def _view(self, way: str, view: View) -> tuple[list[str], dict[str, list[int]]]:
        """The lines as a method compares them, and for each search's key line, the line numbers where it is."""
        if way not in self._views:
            seen = list(map(view, self.lines))
            index: dict[str, list[int]] = {view(search[_key(search)]): [] for search in self._searches}
            for number, line in enumerate(seen):
                if line in index:
                    index[line].append(number)
            self._views[way] = seen, index
        return self._views[way]

    def _similar(self, search: Sequence[str]) -> Iterator[Found]:
        """Yield places whose first and last lines match, and most of the lines in between."""
        size = len(search)
        if size < 3:
            return
        seen, _ = self._view("indentation differs", str.strip)
        wanted = [line.strip() for line in search]
        ends = [
            at
            for at, (one, other) in enumerate(zip(seen, seen[size - 1 :], strict=False))
            if one == wanted[0] and other == wanted[-1]
        ]
        if len(ends) > _MOST_ANCHORS or len(ends) * size > _MOST_WORK:
            return
        for start in ends:
            inner = zip(wanted[1:-1], seen[start + 1 : start + size - 1], strict=True)
            if sum(one == other for one, other in inner) >= _SIMILAR * (size - 2):
                yield Found(start, start + size, "some inner lines differ")


def _key(search: Sequence[str]) -> int:
    """The index of a search's longest line: it is probably rare, so it is looked up first."""
    return max(range(len(search)), key=lambda at: len(search[at].strip()))


def _repeated(seen: list[str], wanted: list[str]) -> Iterator[int]:
    """Yield where `wanted` begins in `seen`. For a key line that is nearly everywhere: text search stays linear."""
    text, sought = "\n" + "\n".join(seen) + "\n", "\n" + "\n".join(wanted) + "\n"
    at, line, before = text.find(sought), 0, 0
    while at >= 0:
        line += text.count("\n", before, at)
        yield line
        before, at = at, text.find(sought, at + 1)


class File:
    """A text and its lines without line ends. `starts` are the lines' offsets in `text`, then the text's length."""

    def __init__(self, text: str) -> None:
        self.text = text
        pieces = text.split("\n")
        self.starts = list(accumulate(map((1).__add__, map(len, pieces)), initial=0))
        self.starts[-1] = len(text)
        if not pieces[-1]:
            pieces.pop()
            self.starts.pop()
        self._has_returns = "\r" in text
        self.lines = self._without_returns(pieces) if self._has_returns else pieces

    def end(self, number: int) -> str:
        """Return the line end of a line (from 0): a newline, a return and a newline, or "" at the text's end."""
        stop = self.starts[number + 1]
        if not self.text.endswith("\n", 0, stop):
            return ""
        return "\r\n" if self._has_returns and self.text.endswith("\r\n", 0, stop) else "\n"

    def whole(self, first: int, stop: int) -> str:
        """Return the lines from `first` to before `stop` (from 0), with their line ends."""
        return self.text[self.starts[first] : self.starts[stop]]

    @cached_property
    def style(self) -> str:
        """The line end that most lines of the file have."""
        returns = self.text.count("\r\n") if self._has_returns else 0
        return "\r\n" if returns > self.text.count("\n") - returns else "\n"

    def _without_returns(self, pieces: list[str]) -> list[str]:
        last = len(pieces) if self.text.endswith("\n") else len(pieces) - 1
        return [piece.removesuffix("\r") for piece in pieces[:last]] + pieces[last:]


_Known = dict[str, list[tuple[int, str]]]
"""For each indentation in SEARCH, the lines that have it, and their indentation in the file."""


def reindented(block: EditBlock, old: Sequence[str], kept: Mapping[int, int]) -> tuple[str, ...]:
    """Return `block.replace`, indented as the file is.

    `old` are the file's lines where SEARCH was found. `kept` maps unchanged lines: index in REPLACE to index in SEARCH.
    """
    known: _Known = {}
    for number, (wanted, present) in enumerate(zip(block.search, old, strict=True)):
        if wanted.strip() and wanted.strip() == present.strip():
            known.setdefault(_indent(wanted), []).append((number, _indent(present)))
    result, place = [], 0
    for number, line in enumerate(block.replace):
        place = kept.get(number, place)
        result.append(_moved(line, known, place) if line.strip() else line)
        place += 1
    return tuple(result)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _moved(line: str, known: _Known, place: int) -> str:
    """Indent a new line as the file indents the old lines of the same depth; of several, those nearest to `place`."""
    own = _indent(line)
    nearest = max((indent for indent in known if own.startswith(indent)), key=len, default=None)
    if nearest is not None:
        return _at(known[nearest], place) + line[len(nearest) :]
    deeper = min((indent for indent in known if indent.startswith(own)), key=len, default=None)
    if deeper is None:
        return line
    return _at(known[deeper], place).removesuffix(deeper[len(own) :]) + line.lstrip()


def _at(lines: list[tuple[int, str]], place: int) -> str:
    after = bisect_left(lines, (place,))
    around = lines[max(after - 1, 0) : after + 1]
    return min(around, key=lambda line: abs(line[0] - place))[1]


_LISTED = 10
_NEAR_LINES = 3
_ALIGNED_LINES = 400
_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True)
class Applied:
    """One applied block: the old lines `first` to `last` (from 1), the number of new lines, and the method used."""

    number: int
    first: int
    last: int
    added: int
    way: str
    changes: bool


@dataclass(frozen=True, slots=True)
class Edited:
    text: str
    blocks: tuple[Applied, ...]


def apply_diff(text: str, diff: str) -> Edited:
    """Apply a diff to a text. Raises EditRefused, which names the block and the most similar lines.

    A byte order mark stays in front and belongs to no line.
    """
    mark, text = (_MARK, text.removeprefix(_MARK)) if text.startswith(_MARK) else ("", text)
    edited = _edited(text, parse(diff))
    return Edited(mark + edited.text, edited.blocks)


def _edited(text: str, blocks: Sequence[EditBlock]) -> Edited:
    if len(blocks) == 1 and not text and not blocks[0].search:
        return _filled(blocks[0])
    file = File(text)
    places = _placed(blocks, file.lines)
    _check_overlap(places)
    return _joined(file, places)


def _filled(block: EditBlock) -> Edited:
    text = "".join(f"{line}\n" for line in block.replace)
    return Edited(text, (Applied(block.number, 1, 0, len(block.replace), "exact", bool(text)),))


def _placed(blocks: Sequence[EditBlock], lines: Sequence[str]) -> list[tuple[EditBlock, Found]]:
    same: dict[tuple[str, ...], list[EditBlock]] = {}
    for block in blocks:
        if not any(line.strip() for line in block.search):
            raise EditRefused(
                "empty_search",
                f"diff: SEARCH of block {block.number} is empty. Give the lines to be replaced, or write_file for a "
                "whole new file.",
            )
        same.setdefault(block.search, []).append(block)
    file = Lines(lines, list(same))
    placed: list[tuple[EditBlock, Found]] = []
    for search, group in same.items():
        found = file.places(search)
        if not found:
            raise _not_found(group[0], file)
        if len(found) != len(group):
            raise _ambiguous(group[0], found)
        placed += zip(group, found, strict=True)
    return sorted(placed, key=lambda pair: (pair[1].start, pair[1].end))


def _not_found(block: EditBlock, file: Lines) -> EditRefused:
    part = file.holding(block.search)
    if part is not None:
        line = clip_line(file.lines[min(part, len(file.lines) - 1)], _SHOWN_CHARS)
        return EditRefused(
            "partial_line",
            f"diff: SEARCH of block {block.number} is only a part of the lines from line {part + 1} on ({line!r}). "
            "Give whole lines. Nothing was changed.",
        )
    return EditRefused(
        "no_match",
        f"diff: SEARCH of block {block.number} is not in the file. {_nearest(block, file.lines)}"
        "Read the file again and copy the lines exactly. Nothing was changed.",
    )


def _nearest(block: EditBlock, lines: Sequence[str]) -> str:
    from rapidfuzz import fuzz, process

    key = next(line.strip() for line in block.search if line.strip())
    best = process.extractOne(key, lines, scorer=fuzz.ratio, score_cutoff=40)
    if best is None:
        return f"No line of it resembles {clip_line(key, _SHOWN_CHARS)!r}. "
    at = best[2]
    shown = range(max(at - 1, 0), min(at + _NEAR_LINES, len(lines)))
    near = "\n".join(f"{number + 1} | {_clipped(lines[number])}" for number in shown)
    return f"The nearest lines are:\n{near}\n"


def _clipped(line: str) -> str:
    """With its indentation; a very long line is cut."""
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"


def _ambiguous(block: EditBlock, found: Sequence[Found]) -> EditRefused:
    numbers = ", ".join(str(place.start + 1) for place in found[:_LISTED])
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return EditRefused(
        "ambiguous",
        f"diff: SEARCH of block {block.number} is in the file {len(found)} times, at lines {numbers}{more}. "
        "Add lines before or after it until it fits one place only. Nothing was changed.",
    )


def _check_overlap(places: Sequence[tuple[EditBlock, Found]]) -> None:
    for (one, first), (other, second) in pairwise(places):
        if second.start < first.end:
            raise EditRefused(
                "overlap",
                f"diff: blocks {one.number} (lines {first.start + 1} to {first.end}) and {other.number} (lines "
                f"{second.start + 1} to {second.end}) touch the same lines. Make one block of them. "
                "Nothing was changed.",
            )


def _joined(file: File, places: Sequence[tuple[EditBlock, Found]]) -> Edited:
    pieces: list[str] = []
    applied: list[Applied] = []
    at = 0
    for block, found in places:
        old = file.whole(found.start, found.end)
        new = "".join(_renewed(block, file, found))
        pieces += (file.text[at : file.starts[found.start]], new)
        applied.append(
            Applied(block.number, found.start + 1, found.end, len(block.replace), found.way, changes=new != old)
        )
        at = file.starts[found.end]
    pieces.append(file.text[at:])
    return Edited("".join(pieces) or _blank(places, file.style), tuple(applied))


def _blank(places: Sequence[tuple[EditBlock, Found]], usual: str) -> str:
    """Return the content of a file in which the edits left no text.

    It is the `usual` line end if a block put a blank line there, and "" if all lines were deleted.
    """
    return usual if any(block.replace for block, _ in places) else ""


def _renewed(block: EditBlock, file: File, found: Found) -> list[str]:
    """The new lines, with line ends. Lines that are also in SEARCH keep the file's exact content."""
    old = file.lines[found.start : found.end]
    ends = [file.end(number) for number in range(found.start, found.end)]
    style = next((end for end in ends if end), file.style)
    kept = _kept(block)
    moved = found.way in ("indentation differs", "some inner lines differ")
    fresh = reindented(block, old, kept) if moved else block.replace
    result = [(old[kept[i]], ends[kept[i]] or style) if i in kept else (line, style) for i, line in enumerate(fresh)]
    if result:
        result[-1] = result[-1][0], result[-1][1] if ends[-1] else ""
    return [line + end for line, end in result]


def _kept(block: EditBlock) -> dict[int, int]:
    """Map the lines that SEARCH and REPLACE share: index in REPLACE to index in SEARCH."""
    old, new = block.search, block.replace
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    kept = {i: i for i in range(head)}
    kept |= {len(new) - 1 - i: len(old) - 1 - i for i in range(tail)}
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    # because SequenceMatcher takes quadratic time: https://docs.python.org/3/library/difflib.html
    if max(len(inner_old), len(inner_new)) <= _ALIGNED_LINES:
        matcher = SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        kept |= {head + b + i: head + a + i for a, b, size in matcher.get_matching_blocks() for i in range(size)}
    return kept
