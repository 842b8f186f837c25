"""Reads lines of text files of any size: a part is decoded at a time and only the lines asked for are kept."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from app.base.errors import ToolFailed, ToolMisuse
from app.services.workspace import charsets
from app.services.workspace.beneath import hold
from app.services.workspace.complaints import told
from app.services.workspace.places import Place, Workspace

SAMPLE_BYTES = 65_536
MOST_CHARS = 100_000
"""Longest text of one answer; a model pays for it again on every pass."""
LINE_CHARS = 2_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """Lines `first` to `last` (from 1) of `total`, without their ends; `cut` lines were too long and were shortened.

    `first` > `last` for an empty file. `charset` is the codec they were read with.
    """

    lines: tuple[str, ...]
    first: int
    last: int
    total: int
    charset: str = "utf-8"
    cut: int = 0

    def numbered(self) -> str:
        """`N | line` for each, and how to get what remains."""
        text = "\n".join(f"{number} | {line}" for number, line in enumerate(self.lines, self.first))
        if self.last >= self.total:
            return text
        return f"{text}\n[lines {self.first}-{self.last} of {self.total}; go on with start_line={self.last + 1}]"


def open_file(workspace: Workspace, place: Place) -> BinaryIO:
    """The file's bytes. Raises WispErrors for what is missing, a folder, a pipe, a device, or a secret."""
    workspace.check_readable(place)
    with told(place.argument, place.shown):
        if not place.inner:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with hold(place.root, place.inner[:-1]) as folder:
            handle = folder.open(place.inner[-1], os.O_RDONLY)
        kind = os.fstat(handle).st_mode
        if stat.S_ISREG(kind):
            return open(handle, "rb")
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise ToolFailed(f"{place.argument}: {place.shown!r} is no regular file (a pipe or a device); it is not read.")


def lines_of(file: BinaryIO, place: Place, first: int | None, last: int | None, most: int) -> Slice:
    """Lines `first` to `last` of a text, at most `most` and MOST_CHARS. Raises ToolFailed for what is no text."""
    sample = file.read(SAMPLE_BYTES)
    charset = charsets.of_sample(sample, whole=len(sample) < SAMPLE_BYTES)
    if charset is None:
        size = os.fstat(file.fileno()).st_size
        raise ToolFailed(f"{place.argument}: {place.shown!r} is {charsets.kind_of(sample)}, {size} bytes, and no text.")
    file.seek(0)
    return sliced(_texts(file, charset.codec), first, last, most, charset.codec)


def sliced(
    texts: Iterator[str], first: int | None, last: int | None, most: int = 1_000, charset: str = "utf-8"
) -> Slice:
    """Lines of a text that comes in pieces. Swapped bounds are put right; a start after the end is ToolMisuse."""
    first, last = _bounds(first, last, most)
    picker = _Picker(first, last)
    for text in texts:
        picker.take(text)
    picker.end()
    if first > 1 and first > picker.total:
        raise ToolMisuse(f"start_line is {first}, but the text has {picker.total} lines.")
    lines = tuple(picker.lines)
    return Slice(lines, first, first + len(lines) - 1, picker.total, charset, picker.cut)


def _bounds(first: int | None, last: int | None, most: int) -> tuple[int, int]:
    first, last = max(first or 1, 1), None if last is None else max(last, 1)
    if last is not None and last < first:
        first, last = last, first
    return first, min(last or first + most - 1, first + most - 1)


def _texts(file: BinaryIO, codec: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    while chunk := file.read(_CHUNK):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", True)


class _Picker:
    """Counts all lines and keeps those between two numbers, in bounded memory."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last
        self._open = ""
        self._began = False
        self._kept_chars = 0
        self.total = 0
        self.cut = 0
        self.lines: list[str] = []

    def take(self, text: str) -> None:
        ends = text.count("\n")
        number = self.total + 1
        if number + ends < self._first or number > self._last or self._is_full():
            self.total += ends
            self._began = not text.endswith("\n") if text else self._began
            self._open = ""
            return
        *whole, rest = text.split("\n")
        for line in whole:
            self._close(self._open + line)
        self._began = bool(rest) if whole else self._began or bool(rest)
        self._open = (self._open + rest)[: LINE_CHARS + 1]

    def end(self) -> None:
        if self._began:
            self._close(self._open)

    def _close(self, line: str) -> None:
        self.total += 1
        self._open = ""
        if self._first <= self.total <= self._last and not self._is_full():
            line = line.removesuffix("\r")
            if len(line) > LINE_CHARS:
                self.cut += 1
                line = line[:LINE_CHARS] + "… [the rest of this line is left out]"
            self.lines.append(line)
            self._kept_chars += len(line) + 1

    def _is_full(self) -> bool:
        return self._kept_chars >= MOST_CHARS
