"""RapidOCR in a separate process, which is started for the first picture and ended when it is idle."""

# mypy: no-warn-unreachable

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.base.startup import worker_command
from app.base.values import dataclass
from app.desktop.backends import Frame
from app.desktop.ocr import worker


@dataclass(frozen=True, slots=True)
class TextBox:
    """A recognised line of text; its box is in screen pixels. `score` (0 to 1) says how certain the recognition is."""

    text: str
    box: Rect
    score: float


class Ocr(Protocol):
    """Recognises text."""

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        """The lines, from the top, without blocking the event loop. Raises ToolFailed."""
        ...

    async def close(self) -> None:
        """Release the models and their memory."""
        ...


_LIMIT_S = 45.0
_ENDED = "Text recognition does not run here: its process ended."
_IDLE_S = 30.0  # because the models take half a gigabyte while the process lives
_REMEMBERED = 64
_SMALLEST_PX = 8
_STROKES = frozenset("一—–-_ー=|丨")
_UNLIKELY = 0.6
"""Below this certainty it is usually a picture that was taken for a character."""

Lines = tuple[tuple[str, Rect, float], ...]
"""Text, box within the picture, score."""


class RapidOcr:
    """Implements `Ocr`. It reads one picture at a time, the same pixels only once, and stays on one event loop.

    Its process ends at `close`, or when this object or this program ends.
    """

    def __init__(self) -> None:
        self._process: _Reader | None = None
        self._ending: weakref.finalize[..., RapidOcr] | None = None
        self._one_at_a_time = asyncio.Lock()  # because the process answers in order on one pipe
        self._read: OrderedDict[bytes, Lines] = OrderedDict()
        self._dropping: asyncio.TimerHandle | None = None

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        area = frame.area
        if min(area.width, area.height) < _SMALLEST_PX:
            return ()
        return tuple(
            TextBox(text, Rect(area.x + box.x, area.y + box.y, box.width, box.height), score)
            for text, box, score in await self._lines(frame)
            if text and score >= _UNLIKELY and not _is_rule(text, box)
        )

    async def close(self) -> None:
        if self._dropping:
            self._dropping.cancel()
        self._drop()

    async def _lines(self, frame: Frame) -> Lines:
        """From memory if the same pixels were read before."""
        key = hashlib.blake2b(frame.bgrx, digest_size=16, salt=frame.area.width.to_bytes(16, "big")).digest()
        async with self._one_at_a_time:
            if key not in self._read:
                self._read[key] = await self._asked(frame)
            self._read.move_to_end(key)
            while len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
            return self._read[key]

    async def _asked(self, frame: Frame) -> Lines:
        if self._dropping:
            self._dropping.cancel()
        try:
            async with asyncio.timeout(_LIMIT_S):
                answer = await asyncio.to_thread(_exchange, self._running(), frame)
        except TimeoutError as late:
            what = Phrase("Reading text off the screen took over {limit} s.", {"limit": f"{_LIMIT_S:g}"})
            raise ToolFailed(what, "Try a smaller region.") from late
        except (EOFError, OSError) as ended:
            raise ToolFailed(_ENDED, "Look with screen_capture.") from ended
        finally:
            self._dropping = asyncio.get_running_loop().call_later(_IDLE_S, self._drop)
            if sys.exception():
                self._drop()  # because a late answer would be taken for that of the next picture
        return tuple((text, Rect(*box), score) for text, box, score in answer)

    def _running(self) -> _Reader:
        if self._process is None or self._process.poll() is not None:
            self._drop()
            self._process = _started()
            self._ending = weakref.finalize(self, _end, self._process)  # so that the process ends even without a close
        return self._process

    def _drop(self) -> None:
        self._process = None
        if self._ending:
            self._ending()


def _started() -> _Reader:
    """Connect to the process that many desktops share, or start one."""
    if name := os.environ.get(_SHARED):
        with contextlib.suppress(OSError):  # because it has ended
            return _SharedReader(name)
    return subprocess.Popen(
        worker_command("ocr"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


class _SharedReader:
    """A connection to a process that reads for many. To end it ends only the connection. Raises OSError."""

    def __init__(self, name: str) -> None:
        with contextlib.closing(_local_socket()) as connection:
            connection.connect(f"\0{name}")
            self._connection = connection.dup()
        self.stdin, self.stdout = self._connection.makefile("wb"), self._connection.makefile("rb")

    def poll(self) -> int | None:
        return None

    def kill(self) -> None:
        with contextlib.suppress(OSError):  # because the other side has ended it
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def wait(self) -> int:
        return 0


_Reader = subprocess.Popen[bytes] | _SharedReader
_SHARED = "WISP_TEXT_READER"
"""The variable with the name of the shared process's socket."""


def _local_socket() -> socket.socket:
    if sys.platform != "linux":
        raise OSError("Only Linux has sockets without a file, which stay behind after no kill.")
    return socket.socket(socket.AF_UNIX)


@contextlib.contextmanager
def shared_reader() -> Iterator[None]:
    """Return a context manager inside which all desktops that this process starts share one process for reading text.

    The models take as much memory as a desktop, and a second of each start. Raises OSError.
    """
    name = f"wisp-reader-{secrets.token_hex(8)}"
    with contextlib.closing(_local_socket()) as listener:  # bound here, so that nobody comes too early
        listener.bind(f"\0{name}")  # https://man7.org/linux/man-pages/man7/unix.7.html, abstract
        listener.listen()
        process = subprocess.Popen(
            worker_command("ocr", str(listener.fileno())),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # so that ctrl+c in the terminal does not end it before its desktops
        )
    os.environ[_SHARED] = name
    try:
        yield
    finally:
        del os.environ[_SHARED]
        process.communicate()


def _exchange(process: _Reader, frame: Frame) -> list[tuple[str, list[int], float]]:
    """Send a picture and read the answer. Blocks.

    Raises EOFError or OSError if the process ends, and ToolFailed with its reason if it sent one.
    """
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(worker.HEADER.pack(frame.area.width, frame.area.height) + frame.bgrx)
    process.stdin.flush()
    length = process.stdout.read(worker.LENGTH.size)
    if len(length) < worker.LENGTH.size:
        raise EOFError
    (size,) = worker.LENGTH.unpack(length)
    answer: list[tuple[str, list[int], float]] | str = json.loads(process.stdout.read(size) or "[]")
    if isinstance(answer, str):
        raise ToolFailed(f"Text recognition does not run here: {answer}")
    return answer


def _end(process: _Reader) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # because the process may have ended before it read the rest
            if pipe:
                pipe.close()


def _is_rule(text: str, box: Rect) -> bool:
    """True for a drawn line taken for a character: it is far longer than such a character is."""
    long, short = max(box.width, box.height), min(box.width, box.height)
    return set(text) <= _STROKES and long > 2 * short * len(text)
