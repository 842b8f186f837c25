"""Read lines of text files of any size: decode a part at a time and keep only the requested lines."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from locale import getencoding
from typing import BinaryIO

from app.base.errors import ToolFailed, ToolMisuse
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.services.files.places import Place, Workspace
from app.services.files.safe_open import hold, told

SAMPLE_BYTES = 65_536
_KEEPS_BYTES = "surrogateescape"
_LAST = "cp1252"
_LEGACY = [
    *("cp866", "iso8859_2", "iso8859_5", "iso8859_7", "koi8_r", "koi8_u", "cp874", "cp1250", "cp1251"),
    *("cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "gb18030", "big5hkscs"),
    *("euc_jp", "cp932", "cp949"),
]
"""The encodings that the web still knows, without those that are rare in files: https://encoding.spec.whatwg.org/."""
_MOST_BROKEN = 4
_LEAST_ASCII = 10
_ENOUGH_BYTES = 12
_MARK = "\ufeff"
_CLEARLY = 0.05
"""By so much less chaos a codec fits better than the next one."""
_RUN = re.compile(rb"[\x80-\xff]{3,}")
_UNMARKED = ("utf-16-le", "utf-16-be")
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
    """The codec of a text. `others` are codecs that fit as well, if nothing tells which one is right."""

    codec: str
    others: tuple[str, ...] = ()


UTF_8 = Charset("utf-8")


def charset_of(file: BinaryIO) -> Charset | None:
    """Return the charset of a text, judged by its first part that is not ASCII; None if it is no text.

    That is UTF-8, else what the statistics are sure of, else the locale's encoding, else Windows-1252.
    """
    sample = file.read(SAMPLE_BYTES)
    for mark, codec in _MARKS:
        if sample.startswith(mark):
            return Charset(codec)
    if b"\0" in sample:
        return next((Charset(codec) for codec in _UNMARKED if _is_prose(sample, codec)), None)
    while sample.isascii() and (more := file.read(SAMPLE_BYTES)):
        sample = more
    is_whole = len(sample) < SAMPLE_BYTES
    if _fits(sample, "utf-8", whole=is_whole) or _is_mostly_utf8(sample):
        return UTF_8
    own = getencoding()
    return _guessed(sample, own if _fits(sample, own, whole=is_whole) else _LAST)


def kind_of(sample: bytes) -> str:
    """What a file without text is, in a few words, judged by its first bytes."""
    return next((kind for magic, kind in _KINDS if sample.startswith(magic)), "a binary file")


def decoded(data: bytes) -> tuple[str, str] | None:
    """The text of a whole file, and its codec for `encoded`; None if it is no text. A byte order mark stays in it."""
    charset = charset_of(io.BytesIO(data))
    if charset is None:
        return None
    codec = _mark_keeping(data, charset.codec)
    try:
        return data.decode(codec, _KEEPS_BYTES), codec
    except UnicodeDecodeError:  # because UTF-16 and UTF-32 have no form for half a character
        return None


def encoded(text: str, codec: str, before: bytes) -> bytes:
    """Encode the text that a file gets. Lines that were in it `before` keep their bytes. Raises UnicodeEncodeError."""
    if before.decode(codec, _KEEPS_BYTES).encode(codec, _KEEPS_BYTES) == before:
        return text.encode(codec, _KEEPS_BYTES)
    # Some charsets have two codes for one character: https://en.wikipedia.org/wiki/Code_page_932_(Microsoft_Windows)
    kept = {line.decode(codec, _KEEPS_BYTES): line for line in before.split(b"\n")}
    lines = text.split("\n")
    return b"\n".join(kept[line] if line in kept else line.encode(codec, _KEEPS_BYTES) for line in lines)


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a text file is written: its codec, whether a byte order mark is in front, whether its lines end in CRLF."""

    codec: str = UTF_8.codec
    has_mark: bool = False
    is_crlf: bool = False

    def encode(self, text: str) -> bytes:
        """Line ends and a mark that the text gives itself stay. Raises UnicodeEncodeError."""
        text = text.replace("\n", "\r\n") if self.is_crlf and "\r" not in text else text
        return (f"{_MARK}{text}" if self.has_mark and not text.startswith(_MARK) else text).encode(self.codec)

    def __str__(self) -> str:
        """Name what is unusual in it; "" for nothing."""
        parts = [self.codec] if self.codec != UTF_8.codec else []
        parts += ["a byte order mark"] if self.has_mark else []
        return ", ".join([*parts, *(["CRLF line ends"] if self.is_crlf else [])])


def form_of(file: BinaryIO) -> TextForm:
    """Judged by the text's beginning; the usual form if it is no text or its charset is unsure."""
    charset = charset_of(file)
    file.seek(0)
    head = file.read(SAMPLE_BYTES)
    if charset is None or charset.others:
        return TextForm()
    codec = _mark_keeping(head, charset.codec)
    text = head.decode(codec, errors="replace")
    is_crlf = text.count("\n") == text.count("\r\n") > 0
    return TextForm(codec, text.startswith(_MARK), is_crlf)


def _mark_keeping(data: bytes, codec: str) -> str:
    """A codec that keeps the byte order mark as a character, so that the mark is not lost when written."""
    orders = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    if codec == "utf-16":
        return orders[data[:2]]
    if codec == "utf-32":
        return "utf-32-le" if data.startswith(codecs.BOM_UTF32_LE) else "utf-32-be"
    return "utf-8" if codec == "utf-8-sig" else codec


def _fits(sample: bytes, codec: str, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(sample, whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(sample: bytes) -> bool:
    """True if only a few bytes of a UTF-8 text are broken, as in a log that several programs write."""
    beyond = [sign for sign in sample.decode("utf-8", _KEEPS_BYTES) if not sign.isascii()]
    return len(beyond) > _MOST_BROKEN * sum("\udc80" <= sign <= "\udcff" for sign in beyond)


def _is_prose(sample: bytes, codec: str) -> bool:
    """True if bytes with NULs are a text in UTF-16: all is printable, and some of it is ASCII."""
    try:
        text = codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return False
    ascii_count = sum(map(str.isascii, text))
    return ascii_count * _LEAST_ASCII >= len(text) and all(sign.isprintable() or sign in "\t\r\n\f" for sign in text)


def _guessed(sample: bytes, usual: str) -> Charset:
    """Return what the statistics are sure of, else the `usual` codec: Windows-1252 must not fit.

    They are sure of a dozen bytes or more, if they recognise the language or if nothing else fits nearly as well. Words
    in which most bytes are beyond ASCII are in no Western language: then it is told what else fits.
    """
    beyond = sum(byte > 0x7F for byte in sample)
    is_dense = 2 * sum(map(len, _RUN.findall(sample))) > beyond
    if beyond < _ENOUGH_BYTES and not is_dense:
        return Charset(usual)
    from charset_normalizer import from_bytes

    found = from_bytes(sample, cp_isolation=_LEGACY)
    best = found.best()
    is_western = any(_LAST in match.could_be_from_charset for match in found)
    if best is not None and beyond >= _ENOUGH_BYTES and not is_western:
        is_sure = len(found) == 1 or best.coherence or found[1].chaos - best.chaos >= _CLEARLY
        if is_sure:
            return Charset(best.encoding)
    if not is_dense:
        return Charset(usual)
    codec = usual if is_western or usual != _LAST or best is None else best.encoding
    return Charset(codec, tuple(sorted({match.encoding for match in found} - {codec})))


MOST_CHARS = 100_000
"""The longest text of one answer; the model pays for it again on every pass."""
LINE_CHARS = 2_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """Lines `first` to `last` (from 1) of `total`, without line ends; `cut` of them were too long and shortened.

    An empty file has `first` > `last`. `charset` is how the lines were read.
    """

    lines: tuple[str, ...]
    first: int
    last: int
    total: int
    charset: Charset = UTF_8
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
    what = "{path!r} is no regular file (a pipe or a device); it is not read."
    raise ToolFailed(Phrase(what, {"path": place.shown}), argument=place.argument)


def lines_of(file: BinaryIO, place: Place, first: int | None, last: int | None, most: int) -> Slice:
    """Return lines `first` to `last` of a text, at most `most` and MOST_CHARS. Raises ToolFailed if it is no text."""
    charset = charset_of(file)
    file.seek(0)
    if charset is None:
        size = os.fstat(file.fileno()).st_size
        kind = kind_of(file.read(SAMPLE_BYTES))
        what = Phrase(
            "{path!r} is {kind}, {count} byte, and no text.",
            {"path": place.shown, "kind": kind, "count": size},
            many="{path!r} is {kind}, {count} bytes, and no text.",
        )
        raise ToolFailed(what, argument=place.argument)
    return sliced(_texts(file, charset.codec), first, last, most, charset)


def sliced(
    texts: Iterator[str],
    first: int | None,
    last: int | None,
    most: int = 1_000,
    charset: Charset = UTF_8,
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
