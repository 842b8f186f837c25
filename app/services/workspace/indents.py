"""Moves the new lines of a block to the indentation that its old lines have in the file."""

from __future__ import annotations

from collections.abc import Sequence

from app.services.workspace.blocks import Block


def reindented(block: Block, old: Sequence[str]) -> tuple[str, ...]:
    """`block.replace` as the file would indent it; `old` are the file's lines where SEARCH was found."""
    known: dict[str, str] = {}
    for wanted, present in zip(block.search, old, strict=True):
        if wanted.strip() and wanted.strip() == present.strip():
            known.setdefault(_indent(wanted), _indent(present))
    return tuple(_moved(line, known) if line.strip() else line for line in block.replace)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _moved(line: str, known: dict[str, str]) -> str:
    own = _indent(line)
    nearest = max((indent for indent in known if own.startswith(indent)), key=len, default=None)
    if nearest is not None:
        return known[nearest] + line[len(nearest) :]
    deeper = min((indent for indent in known if indent.startswith(own)), key=len, default=None)
    if deeper is None:
        return line
    lost = deeper[len(own) :]
    return known[deeper].removesuffix(lost) + line.lstrip()
