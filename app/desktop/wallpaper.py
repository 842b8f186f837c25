"""Set the picture behind all windows, by a program of the desktop or on X11's root window, and restore the old one.

The old setting is kept in a file, so that a later start of Wisp can restore it as well. Windows can be kept in front
of the picture and behind all other windows. Everything here blocks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.base import paths, resources
from app.base.errors import NeedsPerson, ToolFailed
from app.base.texts import clip_line

if TYPE_CHECKING:
    from Xlib.display import Display

_LIMIT_S = 10.0
_SAID_CHARS = 200
_X11 = "X11"
_ROOT_NAMES = ("_XROOTPMAP_ID", "ESETROOT_PMAP_ID")
"""Where compositors and terminals look for the picture (feh and Esetroot write both)."""


class DesktopWallpaper:
    """The wallpaper of the desktop that `environment` belongs to (None: this process's environment)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment if environment is not None else os.environ)
        self._kept = paths.state_dir() / "wallpaper.json"

    def set(self, picture: Path) -> str:
        """Show the picture behind all windows. Returns by whose means. Raises NeedsPerson or ToolFailed.

        What the person had is read and kept before anything is written; a second picture of Wisp's does not replace it.
        """
        means = self._means()
        if means is None:
            self._on_root(picture)
            return _X11
        name, kept = str(means["name"]), self._all_kept()
        places = self._places(means)
        if not places:
            raise ToolFailed(_says("nowhere", name=name))
        known = kept.get(name, {})
        before = {place: self._ran(name, means["read"], {"name": place}) for place in places if place not in known}
        self._keep({**kept, name: {**known, **before}})
        value = _value(means, picture)
        for number, place in enumerate(places):
            try:
                self._write(means, place, value)
            except ToolFailed:
                if not number:  # because nothing is changed
                    self._keep(kept)
                raise
        if any(value.strip("'") not in self._ran(name, means["read"], {"name": place}) for place in places):
            raise ToolFailed(_says("unseen", name=name))
        return name

    def restore(self) -> str:
        """Show what was there before Wisp's first picture. Returns by whose means. Raises NeedsPerson or ToolFailed."""
        means, kept = self._means(), self._all_kept()
        name = _X11 if means is None else str(means["name"])
        if name not in kept:
            raise ToolFailed(_says("first"))
        before = kept.pop(name)
        if means is None:
            with self._display() as display:
                if is_there := _is_there(display, int(before)):
                    _show(display, int(before))
            if not is_there:
                self._keep(kept)
                raise ToolFailed(_says("gone"))
        else:
            for place, value in before.items():
                self._write(means, place, str(value))
        self._keep(kept)
        return name

    def _means(self) -> Mapping[str, Any] | None:
        """Return the table row for the running desktop; None: X11's root window. Raises NeedsPerson if none fits."""
        running = self._environment.get("XDG_CURRENT_DESKTOP", "").casefold()
        for means in _table()["means"]:
            fits = any(name in running for name in means["desktops"])
            if fits and shutil.which(means["program"], path=self._environment.get("PATH")):
                row: Mapping[str, Any] = means
                return row
        if sys.platform == "linux" and self._environment.get("DISPLAY"):
            return None
        raise NeedsPerson(_says("none"))

    def _places(self, means: Mapping[str, Any]) -> list[str]:
        if "each" not in means:
            return list(means.get("places", [""]))
        names = self._ran(means["name"], means["each"], {}).splitlines()
        return [name for name in names if name.endswith(means["ending"])]

    def _write(self, means: Mapping[str, Any], place: str, value: str) -> None:
        for command in means["write"]:
            self._ran(means["name"], command, {"name": place, "value": value, "quoted": json.dumps(value)})

    def _ran(self, name: str, command: list[str], given: Mapping[str, str]) -> str:
        """Run a command of the table, with `given` filled in. Returns its output."""
        words = [_filled(word, given) for word in command]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_LIMIT_S, check=False, env=self._environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ToolFailed(_says("failed", name=name, said=clip_line(str(error), _SAID_CHARS))) from error
        if done.returncode:
            said = clip_line(done.stderr or done.stdout, _SAID_CHARS) or f"exit code {done.returncode}"
            raise ToolFailed(_says("failed", name=name, said=said))
        return done.stdout.strip()

    def _on_root(self, picture: Path) -> None:
        """Show the picture on X11's root window, and keep the pixmap of before, 0 for none."""
        from PIL import Image, ImageOps, UnidentifiedImageError
        from Xlib import X

        try:
            with Image.open(picture) as opened:
                image = opened.convert("RGB")
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
            raise ToolFailed(_says("failed", name="X11", said=clip_line(str(error), _SAID_CHARS))) from error
        with self._display() as display:
            screen = display.screen()
            root = screen.root
            size = root.get_geometry()
            fitted = ImageOps.fit(image, (size.width, size.height))
            kept = self._all_kept()
            if _X11 not in kept or not _is_there(display, int(kept[_X11])):
                self._keep({**kept, _X11: _shown(display)})
            pixmap = root.create_pixmap(size.width, size.height, screen.root_depth)
            pixmap.put_pil_image(pixmap.create_gc(), 0, 0, fitted)
            _show(display, pixmap.id)
            display.set_close_down_mode(X.RetainPermanent)  # so that the picture outlives this connection

    def _display(self) -> AbstractContextManager[Display]:
        return _on_display(self._environment.get("DISPLAY"))

    def _all_kept(self) -> dict[str, Any]:
        """Return what was there before Wisp's pictures, by whose means: values by places, or a pixmap's id."""
        try:
            kept = json.loads(self._kept.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # because nothing was kept yet
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, kept: Mapping[str, Any]) -> None:
        try:
            self._kept.write_text(json.dumps(kept), encoding="utf-8")
        except OSError as error:
            raise ToolFailed(f"What was there before cannot be kept: {error}.") from error


def _is_there(display: Display, pixmap: int) -> bool:
    """Return whether the X server knows the pixmap: one of a server that has ended is gone. 0 stands for none."""
    from Xlib.error import XError

    try:
        return not pixmap or bool(display.create_resource_object("pixmap", pixmap).get_geometry())
    except XError:
        return False


@contextmanager
def _on_display(name: str | None) -> Iterator[Display]:
    """Open X11's display. Raises NeedsPerson without one."""
    if not name:
        raise NeedsPerson(_says("no_manager"))
    from Xlib.display import Display
    from Xlib.error import DisplayError

    try:
        display = Display(name)
    except (DisplayError, OSError) as error:
        raise NeedsPerson(_says("none")) from error
    try:
        yield display
        display.sync()
    finally:
        display.close()


_PINNED = ("_NET_WM_STATE_BELOW", "_NET_WM_STATE_SKIP_TASKBAR", "_NET_WM_STATE_SKIP_PAGER")
_OF_A_PAGER = 2
_EVERY_WORKSPACE = 0xFFFFFFFF


def keep_on_desktop(instance: str, *, is_kept: bool, environment: Mapping[str, str] | None = None) -> str:
    """Keep the window whose class begins with `instance` on all workspaces behind the others, or no longer.

    Returns what was done. Raises ToolFailed if there is no such window, NeedsPerson where no window manager can do it.
    """
    from Xlib import X, Xatom
    from Xlib.protocol.event import ClientMessage

    with _on_display((environment if environment is not None else os.environ).get("DISPLAY")) as display:
        root = display.screen().root
        window = next((one for one in _clients(display) if _instance(one).split(".")[0] == instance), None)
        if window is None:
            raise ToolFailed(_says("no_window"))
        states = [display.intern_atom(name) for name in _PINNED]
        shown = root.get_full_property(display.intern_atom("_NET_CURRENT_DESKTOP"), Xatom.CARDINAL)
        workspace = _EVERY_WORKSPACE if is_kept else int(shown.value[0]) if shown else 0
        wishes = [("_NET_WM_STATE", (int(is_kept), state, 0)) for state in states]
        for name, values in [*wishes, ("_NET_WM_DESKTOP", (workspace, _OF_A_PAGER, 0))]:
            data = (32, [*values, _OF_A_PAGER, 0])
            message = ClientMessage(window=window, client_type=display.intern_atom(name), data=data)
            root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
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


def _shown(display: Display) -> int:
    from Xlib import Xatom

    found = display.screen().root.get_full_property(display.intern_atom(_ROOT_NAMES[0]), Xatom.PIXMAP)
    return int(found.value[0]) if found and len(found.value) else 0


def _show(display: Display, pixmap: int) -> None:
    """Show a pixmap on X11's root window, behind all windows. With 0, show none."""
    from Xlib import Xatom

    root = display.screen().root
    if pixmap:
        root.change_attributes(background_pixmap=pixmap)
    else:
        root.change_attributes(background_pixel=display.screen().black_pixel)
    root.clear_area()
    for name in _ROOT_NAMES:
        atom = display.intern_atom(name)
        if pixmap:
            root.change_property(atom, Xatom.PIXMAP, 32, [pixmap])
        else:
            root.delete_property(atom)


def _value(means: Mapping[str, Any], picture: Path) -> str:
    return _filled(means["value"], {"path": str(picture), "uri": picture.as_uri()})


def _filled(word: str, given: Mapping[str, str]) -> str:
    """Replace each `{name}` of `given` in a word. Other braces stay, because scripts contain them."""
    for name, value in given.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _table() -> Mapping[str, Any]:
    return resources.table("desktop/wallpaper.toml", resources.Table)


def _says(key: str, /, **values: str) -> str:
    said: str = _table()["says"][key]
    return said.format(**values)
