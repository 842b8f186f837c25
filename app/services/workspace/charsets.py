"""How a file's bytes become text and, for edits, the very same bytes again."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

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
    """`codec` as Python names it; `exact` means that encoding the decoded text gives the same bytes."""

    codec: str
    exact: bool = True


def of_sample(sample: bytes, *, whole: bool) -> Charset | None:
    """The charset of a text that begins like this (`whole`: is this); None for what is no text."""
    for mark, codec in _MARKS:
        if sample.startswith(mark):
            return Charset(codec)
    if b"\0" in sample:
        return None
    if _is_utf8(sample, whole=whole):
        return Charset("utf-8")
    return Charset(_guessed(sample), exact=False)


def kind_of(sample: bytes) -> str:
    """What a file that is no text is, in words."""
    return next((kind for magic, kind in _KINDS if sample.startswith(magic)), "a binary file")


def decoded(data: bytes) -> tuple[str, str] | None:
    """A whole file's text and the codec that turns it into the same bytes again; None for what is no text."""
    charset = of_sample(data, whole=True)
    if charset is None:
        return None
    codec = _marked(data, charset.codec)
    for codec_tried in (codec, "latin-1"):
        try:
            text = data.decode(codec_tried)
            if text.encode(codec_tried) == data:
                return text, codec_tried
        except UnicodeError:
            continue
    return None


def _marked(data: bytes, codec: str) -> str:
    """The codec that keeps a byte order mark as a character, so that it comes back as it was."""
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
