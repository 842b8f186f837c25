"""The output of a run: files on disk, of which only the head, the tail or a page is ever in memory.

`output_recorder` writes them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from app.base.signs import terminal_text
from app.base.withheld import without_secrets
from app.services.processes.output_recorder import KEPT_BYTES, segments


def plain(data: bytes) -> str:
    """Return what a terminal finally shows for these bytes."""
    return terminal_text(data.decode("utf-8", errors="replace"))


_LOCAL_URL = re.compile(
    r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?![\w-]|\.\w)(?::\d{1,5})?(?:/[^\s'\"<>)\]]*)?"
)
_SAMPLE_BYTES = 4_096
_BINARY_SHARE = 0.3


class Output:
    """One stream of a run. It grows, and a long one loses its beginning. Offsets count all recorded bytes."""

    def __init__(self, folder: Path, stream: str) -> None:
        self._folder = str(folder)
        self._stream = stream

    def size(self) -> int:
        """In bytes, including dropped ones."""
        for place, path in reversed(segments(self._folder, self._stream)):
            with suppress(FileNotFoundError):  # because room may be made for others meanwhile
                return place + Path(path).stat().st_size
        return 0

    def first(self) -> int:
        """Return the offset of the first byte that is kept."""
        return next((place for place, _ in segments(self._folder, self._stream)), 0)

    def page(self, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes from `offset` on. If those are gone, begin with the first byte that is kept."""
        found = segments(self._folder, self._stream)
        offset = max([offset, *(place for place, _ in found[:1])])
        end, parts = offset + limit, []
        following = [*(place for place, _ in found[1:]), end]
        for (place, path), after in zip(found, following, strict=False):
            if after > offset and place < end:
                with suppress(FileNotFoundError), open(path, "rb") as file:  # because room may be made meanwhile
                    file.seek(max(offset - place, 0))
                    parts.append(file.read(end - max(offset, place)))
        return b"".join(parts)

    def tail(self, limit: int) -> bytes:
        return self.page(max(self.size() - limit, 0), limit)

    def text(self, offset: int, limit: int) -> str:
        """Return a page as plain text."""
        return _readable(self.page(offset, limit), self.size())

    def kept(self, limit: int) -> str:
        """Return the beginning and the end as plain text, `limit` bytes in all, with a note on what is left out."""
        size, first = self.size(), self.first()
        if size - first <= limit:
            return self.gone() + _readable(self.page(first, limit), size)
        half = limit // 2
        head, tail = self.page(first, half), self.page(size - half, half)
        between = f"\n[… {size - first - 2 * half} bytes left out …]\n"
        return f"{self.gone()}{_readable(head, size)}{between}{_readable(tail, size)}"

    def gone(self) -> str:
        """Return a line that says how many bytes at the beginning were deleted; "" if none was."""
        first = self.first()
        kept = f"the newest {KEPT_BYTES // 1_000_000} MB of a command's output are kept, less where room is needed"
        return f"[the first {first} bytes are gone: {kept}]\n" if first else ""


def local_url(text: str) -> str:
    """Return the first URL in the text that leads to a server on this machine; "" if there is none."""
    found = _LOCAL_URL.search(text)
    return found[0].rstrip(".,;:") if found else ""


def _readable(data: bytes, size: int) -> str:
    sample = data[:_SAMPLE_BYTES].decode("utf-8", errors="replace")
    odd = sum(sign == "\ufffd" or (sign < " " and sign not in "\n\r\t\x1b\x08") for sign in sample)
    if odd > _BINARY_SHARE * len(sample):
        return f"[{size} bytes that are no text]"
    return without_secrets(plain(data))
