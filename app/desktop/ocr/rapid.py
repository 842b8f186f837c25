"""RapidOCR in a process of its own, started at the first picture and dropped when nobody asks any more."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import OrderedDict
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.api import Frame
from app.desktop.ocr import worker
from app.desktop.ocr.api import TextBox

_LIMIT_S = 45.0
_IDLE_S = 90.0
_REMEMBERED = 64
_SMALLEST_PX = 8

Lines = tuple[tuple[str, Rect, float], ...]
"""Text, box within the picture, score."""


class RapidOcr:
    """Implements `Ocr`. Pictures are read one at a time; the same pixels are read once. Lives on one event loop."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._one_at_a_time = asyncio.Lock()
        self._read: OrderedDict[bytes, Lines] = OrderedDict()
        self._dropping: asyncio.TimerHandle | None = None

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        area = frame.area
        if min(area.width, area.height) < _SMALLEST_PX:
            return ()
        lines = await self._lines(frame)
        return tuple(
            TextBox(text, Rect(area.x + box.x, area.y + box.y, box.width, box.height), score)
            for text, box, score in lines
        )

    async def close(self) -> None:
        if self._dropping:
            self._dropping.cancel()
        process, self._process = self._process, None
        if process:
            _end(process)
            await process.wait()

    async def _lines(self, frame: Frame) -> Lines:
        """From memory where the same pixels were read before."""
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
        process = await self._running()
        try:
            async with asyncio.timeout(_LIMIT_S):
                answer = await _exchange(process, frame)
        except TimeoutError as late:
            raise ToolFailed(f"Reading text off the screen took over {_LIMIT_S:g} s. Try a smaller region.") from late
        except (asyncio.IncompleteReadError, ConnectionError) as ended:
            raise ToolFailed(
                "Text recognition does not run here: its process ended. Look with screen_capture."
            ) from ended
        finally:
            self._dropping = asyncio.get_running_loop().call_later(_IDLE_S, self._drop)
            if sys.exception():
                self._drop()  # an answer under way would be taken for the next picture's
        return tuple((text, Rect(*box), score) for text, box, score in answer)

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # its own folder is no place to import from
                str(Path(worker.__file__)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        return self._process

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process:
            _end(process)


async def _exchange(process: asyncio.subprocess.Process, frame: Frame) -> list[tuple[str, list[int], float]]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(worker.HEADER.pack(frame.area.width, frame.area.height))
    process.stdin.write(frame.bgrx)
    await process.stdin.drain()
    (size,) = worker.LENGTH.unpack(await process.stdout.readexactly(worker.LENGTH.size))
    answer: list[tuple[str, list[int], float]] | str = json.loads(await process.stdout.readexactly(size))
    if isinstance(answer, str):
        raise ToolFailed(f"Text recognition does not run here: {answer}")
    return answer


def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
