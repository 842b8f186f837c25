"""What a run has written: files on disk, of which only head, tail or a page is ever in memory."""

from __future__ import annotations

import re
from pathlib import Path

from app.base.texts import without_secrets

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BACKSPACED = re.compile(r"[^\n\x08]\x08")
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width and bidi
    "\ufe00-\ufe0e\U000e0000-\U000e01ef\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"  # tags, variants, notation
)


def plain(data: bytes | str) -> str:
    """Text without escapes; a line that was written over (progress bars) is what it was in the end."""
    text = data.decode("utf-8", errors="replace") if isinstance(data, bytes) else data
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    if "\x08" in text:
        text = _BACKSPACED.sub("", text)
    return _CONTROLS.sub("", text)


_LOCAL_URL = re.compile(
    r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?![\w-]|\.\w)(?::\d{1,5})?(?:/[^\s'\"<>)\]]*)?"
)
_SAMPLE_BYTES = 4_096
_BINARY_SHARE = 0.3


class Output:
    """One stream of a run, as a file that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int:
        """Bytes so far."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:  # because nothing was printed yet
            return 0

    def page(self, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset` on."""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(limit)
        except FileNotFoundError:  # because nothing was printed yet
            return b""

    def tail(self, limit: int) -> bytes:
        """The last `limit` bytes."""
        return self.page(max(self.size() - limit, 0), limit)

    def text(self, offset: int, limit: int) -> str:
        """A page as plain text."""
        return _readable(self.page(offset, limit), self.size())

    def kept(self, limit: int) -> str:
        """Head and tail, `limit` bytes together, as plain text that says how much lies between."""
        size = self.size()
        if size <= limit:
            return _readable(self.page(0, limit), size)
        half = limit // 2
        head, tail = self.page(0, half), self.page(size - half, half)
        return f"{_readable(head, size)}\n[… {size - 2 * half} bytes left out …]\n{_readable(tail, size)}"


def local_url(text: str) -> str:
    """The first address of a server on this machine that the text names; empty where there is none."""
    found = _LOCAL_URL.search(text)
    return found[0].rstrip(".,;:") if found else ""


def _readable(data: bytes, size: int) -> str:
    sample = data[:_SAMPLE_BYTES].decode("utf-8", errors="replace")
    odd = sum(sign == "\ufffd" or (sign < " " and sign not in "\n\r\t\x1b\x08") for sign in sample)
    if odd > _BINARY_SHARE * len(sample):
        return f"[{size} bytes that are no text]"
    return without_secrets(plain(data))
