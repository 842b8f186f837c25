"""The apps that Wisp has made, for the person: listed, opened, renamed, exported, pinned, and in the menu."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.base import ids
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed, WispError
from app.base.paths import free, state_dir
from app.features.apps.chromium import settings
from app.features.apps.client import SurfaceEngine
from app.features.apps.store import PICTURE, Surface, SurfaceStore, standard_folder
from app.features.apps.webengine import installed_engines
from app.features.extras import act_on_extra, extra_line
from app.services.extras import installer, named
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import standard_checkpoints
from app.services.svg import SvgRenderer, sanitise
from app.ui.machine import CollectionEntry

if TYPE_CHECKING:
    from Xlib.display import Display

ENGINE = "surfaces"
"""The extra that shows apps."""
_COMMENT_CHARS = 120
_PICTURE_PX = 128
_PICTURES_S = 3.0
_TRIES, _PAUSE_S = 50, 0.1
_ON_DESKTOP = ("_NET_WM_STATE_BELOW", "_NET_WM_STATE_SKIP_TASKBAR", "_NET_WM_STATE_SKIP_PAGER")
_OF_A_PAGER = 2
_EVERY_WORKSPACE = 0xFFFFFFFF


class AppLibrary:
    """The apps and shortcuts, the newest first. The presence lists them, and the person opens or changes them there."""

    def __init__(self) -> None:
        self.store = SurfaceStore(standard_folder(), standard_checkpoints())
        self.engine = SurfaceEngine(standard_folder())
        self._pictures: dict[tuple[str, str], asyncio.Future[bytes]] = {}
        # A thread of its own, because a drawing by a model may take long and must hold up nothing else.
        self._drawing = ThreadPoolExecutor(1)

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        found = await asyncio.to_thread(self.store.all)
        wanted = [one for one in found if search.casefold() in one.name.casefold()]
        drawings = await asyncio.to_thread(lambda: [_thumbnail(one) for one in wanted])
        pictures = [self._picture(one, drawing) for one, drawing in zip(wanted, drawings, strict=True)]
        if pictures:  # what takes longer stands there when the list is shown again
            await asyncio.wait(pictures, timeout=_PICTURES_S)
        done = [one.result() if one.done() else b"" for one in pictures]
        apps = await asyncio.to_thread(lambda: [_entry(*one) for one in zip(wanted, done, strict=True)])
        return [*(await asyncio.to_thread(self._engine_line) if not search else ()), *apps]

    @staticmethod
    def _engine_line() -> list[CollectionEntry]:
        """The line that gets the window engine, while nothing shows apps here, it is coming, or it failed."""
        engine = named(ENGINE)
        is_there = installer().state(engine).stage in ("there", "missing") and installed_engines()
        return [] if is_there else [extra_line(engine, "Get the small window engine")]

    def _picture(self, surface: Surface, drawing: str) -> asyncio.Future[bytes]:
        key = (surface.id, drawing)
        if key not in self._pictures:
            self._pictures[key] = asyncio.get_running_loop().run_in_executor(self._drawing, _drawn, surface, drawing)
        return self._pictures[key]

    async def act(self, action: str, key: str, words: str = "", /) -> str:
        if action in ("get", "stop"):
            return await act_on_extra(action, key)
        surface = await asyncio.to_thread(self.store.find, key)
        match action:
            case "open":
                await self.open(surface)
            case "pin" | "unpin":
                await self.pin(surface, is_pinned=action == "pin")
            case "change":
                await self.rename(surface, words)
            case "export":
                target = await asyncio.to_thread(free, _downloads() / f"{surface.id}.zip")
                return f"saved:{await asyncio.to_thread(self.store.export, surface, target)}"
            case "menu":
                await asyncio.to_thread(self.store.put_in_menu, surface, own_origin("menu"))
            case "unmenu":
                await asyncio.to_thread(self.store.take_from_menu, surface, own_origin("menu"))
            case "delete":
                await self.delete(surface)
            case _:
                raise WispError(f"There is no action {action!r} here.")
        return action

    async def open(self, surface: Surface) -> str:
        """Show the window of a surface, on the desktop if it is pinned. Returns sentences about it."""
        opened = await self.engine.open(surface.id, takes_keyboard=True)
        if surface.is_pinned:
            await self.pin(surface, is_pinned=True)
        return opened

    async def pin(self, surface: Surface, *, is_pinned: bool) -> str:
        """Keep the window of a surface on the desktop, also after the next start, or no longer. Returns what was done.

        Raises NeedsPerson where no window manager can do that.
        """
        if is_pinned:
            await self.engine.open(surface.id)
            said = await self._kept_on_desktop(surface)
        await asyncio.to_thread(self.store.note_pinned, surface, is_pinned=is_pinned)
        if not is_pinned:
            with suppress(ToolFailed, NeedsPerson):  # because its window may be closed, or of another session
                await asyncio.to_thread(keep_on_desktop, surface.id, is_kept=False)
            said = f"The window of {surface.name} is one like any other again."
        return said

    @staticmethod
    async def _kept_on_desktop(surface: Surface) -> str:
        """Keep an open window on the desktop, once the window manager knows it."""
        for _ in range(_TRIES):
            with suppress(ToolFailed):
                return await asyncio.to_thread(keep_on_desktop, surface.id, is_kept=True)
            await asyncio.sleep(_PAUSE_S)
        return await asyncio.to_thread(keep_on_desktop, surface.id, is_kept=True)

    async def show_pinned(self) -> None:
        """Show the windows of all pinned surfaces, as at the start of a presence."""
        for surface in await asyncio.to_thread(self.store.all):
            if surface.is_pinned:
                await self.pin(surface, is_pinned=True)

    async def rename(self, surface: Surface, name: str) -> Surface:
        """Give a surface another name, also in its open window."""
        renamed = await asyncio.to_thread(self.store.rename, surface, name, own_origin("rename"))
        await self.engine.tell(surface.id, "reload")
        return renamed

    async def delete(self, surface: Surface) -> None:
        """Close the window of a surface, and delete it."""
        await self.engine.tell(surface.id, "close")
        await asyncio.to_thread(self.store.delete, surface, own_origin("delete"))


def _entry(surface: Surface, picture: bytes) -> CollectionEntry:
    switches = ("unpin" if surface.is_pinned else "pin", "unmenu" if surface.is_in_menu else "menu")
    actions = ("open", *switches, "export")
    about = next((line for line in surface.doc.splitlines()[1:] if line.strip() and not line.startswith("#")), "")
    below = clip_line(about, _COMMENT_CHARS) or surface.id
    return CollectionEntry(surface.id, surface.name, (below,), (), actions, picture=picture)


def _thumbnail(surface: Surface) -> str:
    """The surface's SVG as it was written, or ""."""
    try:
        return (surface.folder / PICTURE).read_text(encoding="utf-8")
    except (OSError, ValueError):  # because a surface need not have a picture
        return ""


def _drawn(surface: Surface, drawing: str) -> bytes:
    """Return the SVG as a PNG, or b"" if there is none or it cannot be drawn.

    Another process draws it, once: the PNG is kept, and an empty file where it cannot be drawn.
    """
    folder = state_dir() / "thumbnails"
    kept = folder / f"{surface.id}-{hashlib.sha256(drawing.encode()).hexdigest()[:16]}.png"
    try:
        if kept.is_file():
            return kept.read_bytes()
        try:
            with closing(SvgRenderer()) as renderer:
                data = renderer.draw(sanitise(drawing), _PICTURE_PX)[0] if drawing else b""
        except WispError:  # because a surface need not have a picture that can be shown
            data = b""
        folder.mkdir(exist_ok=True)
        for old in folder.glob(f"{surface.id}-{'?' * 16}.png"):
            old.unlink(missing_ok=True)
        kept.write_bytes(data)
    except OSError:  # because the disk may be full
        return b""
    return data


def own_origin(tool: str) -> ChangeOrigin:
    """Return the origin of a change that the person makes without a model."""
    return ChangeOrigin(ids.unique("run-"), tool)


def _downloads() -> Path:
    found = Path.home() / "Downloads"
    return found if found.is_dir() else Path.home()


def keep_on_desktop(instance: str, *, is_kept: bool, environment: Mapping[str, str] | None = None) -> str:
    """Keep the window whose class begins with `instance` on all workspaces behind the others, or no longer.

    Returns what was done. Raises ToolFailed if there is no such window, NeedsPerson where no window manager can do it.
    """
    from Xlib import X, Xatom
    from Xlib.display import Display
    from Xlib.error import DisplayError
    from Xlib.protocol.event import ClientMessage

    try:
        display = Display((environment if environment is not None else os.environ).get("DISPLAY", ""))
    except (DisplayError, OSError) as error:
        raise NeedsPerson(_says("no_manager")) from error
    with closing(display):
        root = display.screen().root
        window = next((one for one in _clients(display) if _instance(one).split(".")[0] == instance), None)
        if window is None:
            raise ToolFailed(_says("no_window"))
        states = [display.intern_atom(name) for name in _ON_DESKTOP]
        shown = root.get_full_property(display.intern_atom("_NET_CURRENT_DESKTOP"), Xatom.CARDINAL)
        workspace = _EVERY_WORKSPACE if is_kept else int(shown.value[0]) if shown else 0
        wishes = [("_NET_WM_STATE", (int(is_kept), state, 0)) for state in states]
        for name, values in [*wishes, ("_NET_WM_DESKTOP", (workspace, _OF_A_PAGER, 0))]:
            data = (32, [*values, _OF_A_PAGER, 0])
            message = ClientMessage(window=window, client_type=display.intern_atom(name), data=data)
            root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        display.sync()
    return _says("pinned" if is_kept else "unpinned")


def _clients(display: Display) -> list[Any]:
    from Xlib import X

    found = display.screen().root.get_full_property(display.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType)
    if found is None:
        raise NeedsPerson(_says("no_manager"))
    return [display.create_resource_object("window", number) for number in found.value]


def _instance(window: Any) -> str:
    from Xlib.error import XError

    try:
        return str((window.get_wm_class() or ("",))[0])
    except XError:  # because a window may close at any time
        return ""


def _says(key: str) -> str:
    said: str = settings()["pinning"][key]
    return said
