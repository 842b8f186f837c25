"""Applies SEARCH/REPLACE blocks to a text: all of them or none, and nothing but the addressed lines changes.

All blocks are looked up in the text as it was, so their order does not matter. Blocks with the same SEARCH take
successive places if there are as many places as blocks. Line ends and the final newline stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from app.base.clipping import clip_line
from app.services.workspace.blocks import Block, EditRefused, parse
from app.services.workspace.filelines import File
from app.services.workspace.indents import reindented
from app.services.workspace.matching import Found, Lines

_LISTED = 10
_NEAR_LINES = 3
_ALIGNED_LINES = 400
_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True)
class Applied:
    """One block as it was applied: the old lines `first` to `last` (from 1), what replaced them, how it was found."""

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
    """The text after the diff. Raises EditRefused, whose sentence names the block and the nearest lines."""
    blocks = parse(diff)
    if len(blocks) == 1 and not text and not blocks[0].search:
        return _filled(blocks[0])
    file = File(text)
    places = _placed(blocks, file.lines)
    _check_overlap(places)
    return _joined(file, places)


def _filled(block: Block) -> Edited:
    text = "".join(f"{line}\n" for line in block.replace)
    return Edited(text, (Applied(block.number, 1, 0, len(block.replace), "exact", bool(text)),))


def _placed(blocks: Sequence[Block], lines: Sequence[str]) -> list[tuple[Block, Found]]:
    same: dict[tuple[str, ...], list[Block]] = {}
    for block in blocks:
        if not any(line.strip() for line in block.search):
            raise EditRefused(
                "empty_search",
                f"diff: SEARCH of block {block.number} is empty. Give the lines to be replaced, or write_file for a "
                "whole new file.",
            )
        same.setdefault(block.search, []).append(block)
    file = Lines(lines, list(same))
    placed: list[tuple[Block, Found]] = []
    for search, group in same.items():
        found = file.places(search)
        if not found:
            raise _not_found(group[0], file)
        if len(found) != len(group):
            raise _ambiguous(group[0], found)
        placed += zip(group, found, strict=True)
    return sorted(placed, key=lambda pair: (pair[1].start, pair[1].end))


def _not_found(block: Block, file: Lines) -> EditRefused:
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


def _nearest(block: Block, lines: Sequence[str]) -> str:
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
    """A line with its indentation, cut where it is very long."""
    return line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + "…"


def _ambiguous(block: Block, found: Sequence[Found]) -> EditRefused:
    numbers = ", ".join(str(place.start + 1) for place in found[:_LISTED])
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return EditRefused(
        "ambiguous",
        f"diff: SEARCH of block {block.number} is in the file {len(found)} times, at lines {numbers}{more}. "
        "Add lines before or after it until it fits one place only. Nothing was changed.",
    )


def _check_overlap(places: Sequence[tuple[Block, Found]]) -> None:
    for (one, first), (other, second) in pairwise(places):
        if second.start < first.end:
            raise EditRefused(
                "overlap",
                f"diff: blocks {one.number} (lines {first.start + 1} to {first.end}) and {other.number} (lines "
                f"{second.start + 1} to {second.end}) touch the same lines. Make one block of them. "
                "Nothing was changed.",
            )


def _joined(file: File, places: Sequence[tuple[Block, Found]]) -> Edited:
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


def _blank(places: Sequence[tuple[Block, Found]], usual: str) -> str:
    """A file whose every line was replaced by one blank line holds that line."""
    return usual if any(block.replace for block, _ in places) else ""


def _renewed(block: Block, file: File, found: Found) -> list[str]:
    """The new lines with line ends. Lines that SEARCH and REPLACE share keep the file's own bytes."""
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


def _kept(block: Block) -> dict[int, int]:
    """Which lines of REPLACE are lines of SEARCH that stay: index in REPLACE to index in SEARCH."""
    old, new = block.search, block.replace
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    kept = {i: i for i in range(head)}
    kept |= {len(new) - 1 - i: len(old) - 1 - i for i in range(tail)}
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(inner_old), len(inner_new)) <= _ALIGNED_LINES:
        matcher = SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        kept |= {head + b + i: head + a + i for a, b, size in matcher.get_matching_blocks() for i in range(size)}
    return kept
