"""The clipboard, by data-control: it is read and written without a window that has the keyboard.

https://wayland.app/protocols/ext-data-control-v1 and its forerunner wlr-data-control, which has the same shape.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.backends import Formats
from app.desktop.wayland import kernel
from app.desktop.wayland.compositor import CLIPBOARDS, Compositor
from app.desktop.wayland.wire import Wire

_LIMIT_S = 2.0
_MOST_BYTES = 64 * 1024 * 1024
_READ_BYTES = 1 << 16
TEXTS = ("text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "TEXT", "STRING")
"""The names of plain text, the surest first."""
NO_CONTENT = frozenset({"TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS"})
"""What programs of X11 ask each other by the names of kinds. GTK 3 offers the last one, and never answers on it."""


class WaylandClipboard:
    """The clipboard, and the primary selection (what is selected now). What was written is served until another one."""

    def __init__(self, compositor: Compositor) -> None:
        self._compositor = compositor
        self._device = 0
        self._kinds: dict[int, list[str]] = {}
        self._selection = self._primary = 0
        self._writing: set[asyncio.Task[None]] = set()
        self.held: Formats = {}
        """What is offered here; empty once another program offers something."""
        self.served = asyncio.Event()
        """Set when a program has asked for what is offered here."""
        self.lost = asyncio.Event()
        """Set when another program has taken the clipboard over."""
        compositor.on_connect(self._connected)

    def _connected(self, wire: Wire) -> None:
        self._device = self._selection = self._primary = 0
        self._kinds.clear()
        if self._compositor.has(*CLIPBOARDS):
            events = {0: ("n", self._offered), 1: ("o", self._selected), 3: ("o", self._marked)}
            self._device = wire.create(self._manager(), 1, "no", self._compositor.seat(), events=events)
            wire.roundtrip()

    def _manager(self) -> int:
        return self._compositor.bound(next(name for name in CLIPBOARDS if self._compositor.has(name)))

    def _offered(self, number: int) -> None:
        kinds = self._kinds[number] = list[str]()
        self._compositor.wire.hear(number, {0: ("s", kinds.append)})

    def _selected(self, number: int) -> None:
        before, self._selection = self._selection, number
        self._drop(before)

    def _marked(self, number: int) -> None:
        before, self._primary = self._primary, number
        self._drop(before)

    def _drop(self, number: int) -> None:
        if number and number not in (self._selection, self._primary):
            self._kinds.pop(number, None)
            self._compositor.wire.forget(number)
            self._compositor.wire.send(number, 1)

    # --- reading

    async def read(self) -> str:
        self._look()
        return await self._text_of(self._selection)

    async def selected(self, window: str) -> str:  # noqa: ARG002 - the compositor keeps one for all windows
        self._look()
        return await self._text_of(self._primary)

    async def formats(self) -> Formats:
        self._look()
        number = self._selection
        kinds = [kind for kind in self._kinds.get(number, ()) if kind not in NO_CONTENT]
        return {kind: await self._content(number, kind) for kind in kinds}

    def _look(self) -> None:
        wire = self._compositor.wire
        if not self._device:
            raise NeedsPerson(
                "This desktop does not let Wisp use the clipboard (data-control is missing). What to do: wisp doctor"
            )
        wire.roundtrip()

    async def _text_of(self, number: int) -> str:
        kind = next((kind for kind in TEXTS if kind in self._kinds.get(number, ())), None)
        return "" if kind is None else (await self._content(number, kind)).decode("utf-8", "replace")

    async def _content(self, number: int, kind: str) -> bytes:
        """Ask the owner for its content through a pipe. Raises ToolFailed if it gives none in time, or far too much."""
        reading, writing = os.pipe()
        try:
            self._compositor.wire.send(number, 0, "sh", kind, writing)
            self._compositor.wire.flush()
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return await read_to_end(reading)

    # --- writing

    async def write(self, text: str) -> None:
        self.put(dict.fromkeys(TEXTS, text.encode("utf-8", "surrogatepass")))

    def put(self, formats: Formats) -> None:
        """Own the clipboard, and give its content to whoever asks."""
        self._look()
        wire = self._compositor.wire
        held = self.held = dict(formats)
        self.lost.clear()

        def given(kind: str, handle: int) -> None:
            if kind in TEXTS:
                self.served.set()
            task = asyncio.get_running_loop().create_task(write_all(handle, held.get(kind, b"")))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

        def replaced() -> None:
            wire.forget(source)  # because KWin may say it twice
            wire.send(source, 1)
            if self.held is held:
                self.held = {}
                self.lost.set()

        source = wire.create(self._manager(), 0, "n", events={0: ("sh", given), 1: ("", replaced)})
        for kind in held:
            wire.send(source, 0, "s", kind)
        wire.send(self._device, 0, "o", source)
        wire.roundtrip()


async def read_to_end(handle: int) -> bytes:
    """Return what the owner of a clipboard writes into a pipe, and close it.

    Raises ToolFailed if it writes nothing in time, or far too much.
    """
    kernel.never_block(handle)
    found = bytearray()
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_LIMIT_S) as limit:
            while True:
                await _ready(loop, handle)
                part = os.read(handle, _READ_BYTES)
                if not part:
                    return bytes(found)
                found += part
                limit.reschedule(loop.time() + _LIMIT_S)
                if len(found) > _MOST_BYTES:
                    raise ToolFailed(f"The clipboard holds more than {_MOST_BYTES >> 20} MB. Copy less of it.")
    except TimeoutError:
        raise ToolFailed("The program that owns the clipboard does not give its content.", transient=True) from None
    finally:
        os.close(handle)


async def _ready(loop: asyncio.AbstractEventLoop, handle: int, *, to_write: bool = False) -> None:
    """Wait until a pipe can be read or written."""
    is_ready = asyncio.Event()
    add, remove = (loop.add_writer, loop.remove_writer) if to_write else (loop.add_reader, loop.remove_reader)
    add(handle, is_ready.set)
    try:
        await is_ready.wait()
    finally:
        remove(handle)


async def write_all(handle: int, content: bytes) -> None:
    """Write into a pipe as fast as its reader reads, and close it. Gives up if the reader goes or hangs."""
    loop = asyncio.get_running_loop()
    kernel.never_block(handle)
    left = memoryview(content)
    try:
        with suppress(BrokenPipeError, TimeoutError):
            while left:
                async with asyncio.timeout(_LIMIT_S):
                    await _ready(loop, handle, to_write=True)
                left = left[os.write(handle, left) :]
    finally:
        os.close(handle)
