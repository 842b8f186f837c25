"""The macOS backend."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from app.base import resources
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import App, Backend, Formats, Frame, Landing, Launched, PlainWindows, Window, landing
from app.desktop.elements import NoAccessibility
from app.desktop.keys import Chord
from app.desktop.portable import (
    DirectTyping,
    PortableKeyboard,
    PortableListener,
    PortablePointer,
    PortableScreen,
    output_of,
)
from app.desktop.programs import HandedOverApps

_FOLDERS = ("/Applications", "/System/Applications", "/System/Applications/Utilities", "~/Applications")


class MacApps(HandedOverApps):
    """The programs of macOS. The system's `open` starts them, so they are no child processes of Wisp."""

    def installed(self) -> tuple[App, ...]:
        folders = (Path(folder).expanduser() for folder in _FOLDERS)
        found = (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.app")))
        return tuple(App(str(path), path.stem, (path.stem.lower(),)) for path in found)

    def launch(self, app: App, arguments: Sequence[str] = ()) -> Launched:
        return self._open(app.name, ["-a", app.ref, *(("--args", *arguments) if arguments else ())])

    def open(self, address: str) -> Launched:
        return self._open(address, [address])

    def _open(self, name: str, words: list[str]) -> Launched:
        done = subprocess.run(["open", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolFailed(f"{name} could not be opened: {done.stderr.strip()}")
        return Launched(0, name)


class MacClipboard:
    """The clipboard's text, through pbpaste and pbcopy."""

    async def read(self) -> str:
        return await output_of("pbpaste")

    async def write(self, text: str) -> None:
        await output_of("pbcopy", given=text)

    async def selected(self, window: str) -> str:  # noqa: ARG002
        return ""

    async def formats(self) -> Formats:
        return {"public.utf8-plain-text": (await self.read()).encode("utf-8")}


_POLL_S = 0.05


class MacWindows(PlainWindows):
    """The windows of macOS. `all` returns the list as last read; every action first reads it again.

    A ref contains the process and the window's index in it.
    """

    def __init__(self) -> None:
        self._seen: tuple[Window, ...] = ()

    def all(self) -> tuple[Window, ...]:
        return self._seen

    async def look(self) -> tuple[Window, ...]:
        """Read the list of windows from the system."""
        told = json.loads(await _ask("list"))
        self._seen = tuple(
            Window(
                ref=f"w{entry['pid']}.{entry['index']}",
                title=entry["title"],
                app=entry["app"],
                area=Rect(*entry["area"]),
                pid=entry["pid"],
                is_active=entry["active"],
                is_minimised=entry["minimised"],
            )
            for entry in told
        )
        return self._seen

    def shown(self) -> tuple[Window, ...]:
        return tuple(window for window in self.all() if not window.is_minimised)

    def keyboard(self) -> Landing:
        return landing(self.shown())

    def under(self, point: Point) -> Landing:
        return landing(self.shown(), point)

    async def focus(self, ref: str) -> Window:
        await self._do("focus", ref)
        return await self._find(ref)

    async def close(self, ref: str) -> bool:
        await self._do("close", ref)
        return all(window.ref != ref for window in await self.look())

    async def place(self, ref: str, area: Rect) -> Window:
        await self._do("place", ref, str(area.x), str(area.y), str(area.width), str(area.height))
        return replace(await self._find(ref), area=area)

    async def minimise(self, ref: str) -> None:
        await self._do("minimise", ref)

    async def answers(self, ref: str, limit_s: float, *, whole: bool = False) -> bool | None:  # noqa: ARG002 - macOS does not tell
        return None

    async def picture(self, ref: str) -> Frame | None:  # noqa: ARG002
        return None

    async def arranged(self, limit_s: float) -> bool:  # noqa: ARG002
        return True

    async def changed(self, limit_s: float) -> None:
        before = self._seen
        limit = asyncio.get_running_loop().time() + limit_s
        while await self.look() == before and asyncio.get_running_loop().time() < limit:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(_POLL_S)

    async def _find(self, ref: str) -> Window:
        found = next((window for window in await self.look() if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        return found

    async def _do(self, action: str, ref: str, *more: str) -> None:
        window = await self._find(ref)
        await _ask(action, str(window.pid), ref.partition(".")[2], *more)


async def _ask(*words: str) -> str:
    script = resources.path("desktop/macos-windows.js")
    return await output_of("osascript", "-l", "JavaScript", str(script), *words)


def make_backend() -> Backend:
    """Make the macOS backend. Call it on the desktop thread."""
    screen, keyboard = PortableScreen(), PortableKeyboard()

    async def close() -> None:
        screen.close()

    def listen(_stop_key: Chord, stop: Callable[[], None], touched: Callable[[], None]) -> Callable[[], None]:
        return PortableListener(None, stop, touched).close

    return Backend(
        name="macos",
        screen=screen,
        pointer=PortablePointer(),
        keyboard=keyboard,
        exact=DirectTyping(keyboard),
        windows=MacWindows(),
        apps=MacApps(),
        clipboard=MacClipboard(),
        accessibility=NoAccessibility("Wisp does not read macOS's accessibility tree."),
        close=close,
        listen=listen,
    )
