"""Standard output and error that never decide over a task.

What their encoding cannot show is written in other letters. What cannot be written at all, because the reader has gone
or the disk is full, is dropped, and `lost` tells why. So a command goes on, and its exit code tells how it ended.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_LEGIBLE = {"✓": "OK", "✗": "!!", "→": "->", "…": "...", "–": "-", "—": "-", "·": "-", "•": "-"} | dict.fromkeys(
    "“”„‘’", "'"
)
"""ASCII for the signs that Wisp prints. None of it has a meaning inside a JSON string."""


class _Lasting(io.RawIOBase):
    """A raw stream around another one. After the first failure it drops all that is written."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self.lost: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            while self.lost is None:
                written = self._raw.write(data)
                if written is not None:
                    return written
                select.select((), (self._raw,), ())  # because another program has made the stream non-blocking
        except OSError as error:
            self.lost = error
        return len(memoryview(data))

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


def make_lasting() -> None:
    """Replace standard output and error by streams that raise no error, for the rest of this process."""
    codecs.register_error("legible", _legible)
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)


def lost() -> OSError | None:
    """Return why output could not be written, or None if all of it was."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.lost if isinstance(raw, _Lasting) else None


def as_json(value: object, indent: int | None = None) -> str:
    """For standard output, with escapes for what its encoding may not have."""
    return json.dumps(value, ensure_ascii=sys.stdout.encoding.casefold() != "utf-8", indent=indent)


def _lasting(stream: TextIO | None) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):  # None, because the program was started with a closed stream
        return open(os.devnull, "w", encoding="utf-8")
    stream.flush()
    raw = getattr(stream.buffer, "raw", stream.buffer)  # `python -u` leaves out the buffer
    assert isinstance(raw, io.RawIOBase)
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(raw)),
        encoding=stream.encoding,
        errors="legible",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _legible(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unfit = error.object[error.start : error.end]
    return "".join(_LEGIBLE.get(sign, "?") for sign in unfit), error.end
