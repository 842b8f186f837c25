"""Read lines of text files of any size: decode a part at a time and keep only the requested lines."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from app.base.errors import ToolFailed, ToolMisuse
from app.base.values import dataclass
from app.services.files.places import Place, Workspace
from app.services.files.safe_open import hold, told

_SAMPLE_BYTES = 65_536
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KINDS = (
    (b"\x7fELF", "a program (ELF)"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
    (b"\xca\xfe\xba\xbe", "a Java class or macOS program"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"ID3", "an MP3 recording"),
    (b"OggS", "an Ogg recording"),
    (b"fLaC", "a FLAC recording"),
    (b"RIFF", "a recording or film (RIFF)"),
    (b"\x00\x00\x00", "a film (MP4)"),
    (b"\x1aE\xdf\xa3", "a film (Matroska)"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"wOFF", "a font"),
    (b"\x00\x01\x00\x00", "a font"),
)


@dataclass(frozen=True, slots=True)
class Charset:
    """A character set. `codec` is Python's name; `exact`: encoding the decoded text gives the same bytes."""

    codec: str
    exact: bool = True


def of_sample(sample: bytes, *, whole: bool) -> Charset | None:
    """Return the character set of a text by its first bytes (with `whole`: all bytes); None if it is no text."""
    for mark, codec in _MARKS:
        if sample.startswith(mark):
            return Charset(codec)
    if b"\0" in sample:
        return None
    if _is_utf8(sample, whole=whole):
        return Charset("utf-8")
    return Charset(_guessed(sample), exact=False)


def kind_of(sample: bytes) -> str:
    """Return in a few words what a file without text is, judged by its first bytes."""
    return next((kind for magic, kind in _KINDS if sample.startswith(magic)), "a binary file")


def decoded(data: bytes) -> tuple[str, str] | None:
    """Return a whole file's text, and the codec that gives the same bytes again; None if it is no text."""
    charset = of_sample(data, whole=True)
    if charset is None:
        return None
    codec = _marked(data, charset.codec)
    for codec_tried in (codec, "latin-1"):
        try:
            text = data.decode(codec_tried)
            if text.encode(codec_tried) == data:
                return text, codec_tried
        except UnicodeError:  # because the file is in another encoding
            continue
    return None


def _marked(data: bytes, codec: str) -> str:
    """Return a codec that keeps the byte order mark as a character, so that the mark is not lost when written."""
    orders = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    if codec == "utf-16":
        return orders[data[:2]]
    if codec == "utf-32":
        return "utf-32-le" if data.startswith(codecs.BOM_UTF32_LE) else "utf-32-be"
    return "utf-8" if codec == "utf-8-sig" else codec


def _is_utf8(sample: bytes, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, whole)
    except UnicodeDecodeError:
        return False
    return True


def _guessed(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample[:_SAMPLE_BYTES]).best()
    return best.encoding if best else "latin-1"


SAMPLE_BYTES = 65_536
MOST_CHARS = 100_000
"""The longest text of one answer; the model pays for it again on every pass."""
LINE_CHARS = 2_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """Lines `first` to `last` (from 1) of `total`, without line ends; `cut` of them were too long and shortened.

    An empty file has `first` > `last`. `charset` is the codec with which the lines were read.
    """

    lines: tuple[str, ...]
    first: int
    last: int
    total: int
    charset: str = "utf-8"
    cut: int = 0

    def numbered(self) -> str:
        """Return `N | line` for each line; if lines follow, also a sentence on how to read them."""
        text = "\n".join(f"{number} | {line}" for number, line in enumerate(self.lines, self.first))
        if self.last >= self.total:
            return text
        return f"{text}\n[lines {self.first}-{self.last} of {self.total}; go on with start_line={self.last + 1}]"


def open_file(workspace: Workspace, place: Place) -> BinaryIO:
    """Open a file for reading. Raises a WispError if it is missing, a folder, a pipe, a device, or a secret."""
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
    """Return lines `first` to `last` of a text, at most `most` and MOST_CHARS. Raises ToolFailed if it is no text."""
    sample = file.read(SAMPLE_BYTES)
    charset = of_sample(sample, whole=len(sample) < SAMPLE_BYTES)
    if charset is None:
        size = os.fstat(file.fileno()).st_size
        raise ToolFailed(f"{place.argument}: {place.shown!r} is {kind_of(sample)}, {size} bytes, and no text.")
    file.seek(0)
    return sliced(_texts(file, charset.codec), first, last, most, charset.codec)


def sliced(
    texts: Iterator[str], first: int | None, last: int | None, most: int = 1_000, charset: str = "utf-8"
) -> Slice:
    """Return the lines from `first` to `last` of a text in pieces. Raises ToolMisuse for a start past the end."""
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
    """Counts all lines of a text and keeps those from the first to the last wanted one, in bounded memory."""

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
