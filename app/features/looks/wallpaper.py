"""Set the picture behind all windows, by a program of the desktop or on X11's root window, and restore the old one.

Each change is kept in a file with what was there before, so that a later start of Wisp can undo it as well. Everything
here blocks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.base import own_files, paths, resources
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed, WispError
from app.base.values import dataclass, replace

if TYPE_CHECKING:
    from Xlib.display import Display

_LIMIT_S = 10.0
_SAID_CHARS = 200
_MOST_KEPT = 5
_X11 = "X11"
_ROOT_NAMES = ("_XROOTPMAP_ID", "ESETROOT_PMAP_ID")
"""Where compositors and terminals look for the picture (feh and Esetroot write both)."""
_NAMED, _UNNAMED = "named", "unnamed"
"""The places on X11: a pixmap that these names tell, or a copy of what the root window showed without one."""


@dataclass(frozen=True, slots=True)
class WallpaperChange:
    """A picture that Wisp has set, or put back. `before` is what was there, and `after` what is there since.

    Both are by place: the desktop's own value, or an X11 pixmap. `at` is in seconds since 1970.
    """

    turn: str
    at: float
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def what(self) -> str:
        """What was changed, for the person."""
        return "picture behind all windows"


class DesktopWallpaper:
    """The wallpaper of the desktop that `environment` belongs to (None: this process's environment)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment if environment is not None else os.environ)
        self._kept = paths.state_dir() / "wallpaper.json"

    def set(self, picture: Path, turn: str = "") -> str:
        """Show the picture behind all windows. Returns by whose means. Raises NeedsPerson or ToolFailed.

        What was there is read and kept before anything is written. `turn` is the turn whose change it is.
        """
        means = self._means()
        if means is None:
            self._on_root(picture, turn)
            return _X11
        name, changes = str(means["name"]), self.listed()
        places = self._places(means)
        if not places:
            raise ToolFailed(_says("nowhere", name=name))
        value = _value(means, picture)
        after = dict.fromkeys(places, value)
        self._keep([*changes, WallpaperChange(turn, time.time(), self._now(means), after)])
        for number, place in enumerate(places):
            try:
                self._write(means, place, value)
            except ToolFailed:
                if not number:  # because nothing is changed
                    self._keep(changes)
                raise
        if not self._is_shown(after):
            raise ToolFailed(_says("unseen", name=name))
        return name

    def restore(self, turn: str = "", at: float | None = None) -> str:
        """Show what was there before Wisp's first picture, whatever is there now. Returns a sentence about it.

        That is a change as well, of the turn `turn` and the time `at` (None: now). Raises NeedsPerson or ToolFailed.
        """
        means, changes = self._means(), self.listed()
        own = _since_the_persons(changes)
        if not own:
            raise ToolFailed(_says("first"))
        done = WallpaperChange(turn, time.time() if at is None else at, self._now(means), own[0].before)
        self._keep([*changes, done])
        return self._show_again(done.after)

    def reset(self, turn: str = "", at: float | None = None) -> str:
        """Show what was there before Wisp's first picture, unless somebody has set another one since.

        Returns a sentence about it, also if it fails; "" if there is nothing to do.
        """
        try:
            own = _since_the_persons(self.listed())
            return self.restore(turn, at) if own and self._is_shown(own[-1].after) else ""
        except WispError as error:
            return str(error)

    def listed(self) -> list[WallpaperChange]:
        """Return the changes of this desktop that can be undone, the oldest first."""
        try:
            return [WallpaperChange(**row) for row in self._all_kept().get(self._name(), ())]
        except (NeedsPerson, TypeError):  # because there may be no desktop, and a damaged list only costs the undo
            return []

    def newest_at(self, turns: Collection[str] | None) -> float:
        """Return when one of these turns (None: any) last set a picture, in seconds since 1970; 0 for never."""
        return max((change.at for change in self.listed() if _is_of(change, turns)), default=0.0)

    def undo_newest(self, turns: Collection[str] | None) -> str:
        """Undo the newest change of these turns (None: any turn). Returns a sentence on what was done."""
        newest = next((change for change in reversed(self.listed()) if _is_of(change, turns)), None)
        if newest is None:
            raise ToolFailed(_says("first"))
        return self._undo(newest)

    def take_back(self, turn: str) -> list[str]:
        """Undo what a turn (or one call of it, `turn/call`) changed. Returns a sentence about it; [] if it changed
        nothing.
        """
        own = [change for change in self.listed() if f"{change.turn}/".startswith(f"{turn}/")]
        return [self._undo(change) for change in reversed(own)][:1]

    def needs(self, picture: Path) -> bool:
        """Return whether the picture is shown, or an undo would show it again."""
        return picture.name in json.dumps(self._all_kept())

    def _undo(self, change: WallpaperChange) -> str:
        """Undo one change. If another picture lies over it, that one's undo shows what was there before both."""
        changes = self.listed()
        at = changes.index(change)
        after = [replace(changes[at + 1], before=change.before), *changes[at + 2 :]] if changes[at + 1 :] else []
        is_shown = not after and self._is_shown(change.after)
        self._keep([*changes[:at], *after])
        return self._show_again(change.before) if is_shown else _says("covered")

    def _show_again(self, before: Mapping[str, str]) -> str:
        """Show what was there before, by place. Returns a sentence about it."""
        means = self._means()
        if means is not None:
            for place, value in before.items():
                self._write(means, place, value)
            return _says("back", name=str(means["name"]))
        (place, pixmap), *_ = before.items()
        with self._display() as display:
            if is_there := _is_there(display, int(pixmap)):
                _show(display, int(pixmap), is_named=place == _NAMED)
        if not is_there:
            raise ToolFailed(_says("gone"))
        return _says("back", name=_X11) if int(pixmap) else _says("unread")

    def _is_shown(self, values: Mapping[str, str]) -> bool:
        means = self._means()
        if means is None:
            with self._display() as display:
                return _shown(display) == int(values.get(_NAMED, 0))
        now = self._now(means)
        return all(place in now and _is_same(value, now[place]) for place, value in values.items())

    def _now(self, means: Mapping[str, Any] | None) -> Mapping[str, str]:
        if means is not None:
            return {one: self._ran(means["name"], means["read"], {"name": one}) for one in self._places(means)}
        from Xlib import X

        with self._display() as display:
            display.set_close_down_mode(X.RetainPermanent)  # so that the copy outlives this connection
            shown = _shown(display)
            return {_NAMED: str(shown)} if shown else {_UNNAMED: str(_copied(display))}

    def _name(self) -> str:
        """As in the file of changes. Each X11 display has pixmaps of its own."""
        means = self._means()
        return f"{_X11} {self._environment.get('DISPLAY')}" if means is None else str(means["name"])

    def _means(self) -> Mapping[str, Any] | None:
        """A row of the table; None: X11's root window. Raises NeedsPerson if none fits."""
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
        self._ran(means["name"], means["write"], {"name": place, "value": value, "quoted": json.dumps(value)})

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

    def _on_root(self, picture: Path, turn: str) -> None:
        """Show the picture on X11's root window, and keep the pixmap of before."""
        from PIL import Image, ImageOps, UnidentifiedImageError
        from Xlib import X

        try:
            with Image.open(picture) as opened:
                image = opened.convert("RGB")
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
            raise ToolFailed(_says("failed", name="X11", said=clip_line(str(error), _SAID_CHARS))) from error
        before = self._now(None)
        with self._display() as display:
            display.set_close_down_mode(X.RetainPermanent)  # so that the pixmap outlives this connection
            screen = display.screen()
            root = screen.root
            size = root.get_geometry()
            fitted = ImageOps.fit(image, (size.width, size.height))
            pixmap = root.create_pixmap(size.width, size.height, screen.root_depth)
            pixmap.put_pil_image(pixmap.create_gc(), 0, 0, fitted)
            after = {_NAMED: str(pixmap.id)}
            self._keep([*self.listed(), WallpaperChange(turn, time.time(), before, after)])
            _show(display, pixmap.id)

    def _display(self) -> AbstractContextManager[Display]:
        return _on_display(self._environment.get("DISPLAY"))

    def _all_kept(self) -> dict[str, Any]:
        """By desktop, as in the file."""
        try:
            kept = json.loads(self._kept.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # because nothing was kept yet
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, changes: list[WallpaperChange]) -> None:
        """Write the changes of this desktop. Of too many the oldest are merged, so that the first picture is kept."""
        kept = changes[-_MOST_KEPT:]
        if own := _since_the_persons(changes[:-_MOST_KEPT]):
            kept[0] = replace(kept[0], before=own[0].before)
        rows = [
            {"turn": one.turn, "at": one.at, "before": dict(one.before), "after": dict(one.after)}
            for one in kept
            if one.before != one.after
        ]
        try:
            with own_files.locked(self._kept):
                own_files.write(self._kept, json.dumps({**self._all_kept(), self._name(): rows}))
        except OSError as error:
            raise ToolFailed(f"What was there before cannot be kept: {error}.") from error


def _since_the_persons(changes: list[WallpaperChange]) -> list[WallpaperChange]:
    """Since the person's own picture was last shown: that from before Wisp's first one."""
    own: list[WallpaperChange] = []
    for change in changes:
        own.append(change)
        if change.after == own[0].before:
            own = []
    return own


def _is_same(written: str, read: str) -> bool:
    """Some desktops tell what was written in quotes, or among other words."""
    bare = written.strip("'")
    return bare in read if bare else not read.strip("'")


def _is_of(change: WallpaperChange, turns: Collection[str] | None) -> bool:
    return turns is None or change.turn.partition("/")[0] in turns


def _is_there(display: Display, pixmap: int) -> bool:
    """False for the pixmap of an X server that has ended. 0 stands for none."""
    from Xlib.error import XError

    try:
        return not pixmap or bool(display.create_resource_object("pixmap", pixmap).get_geometry())
    except XError:
        return False


@contextmanager
def _on_display(name: str | None) -> Iterator[Display]:
    """Open X11's display. Raises NeedsPerson without one."""
    if not name:
        raise NeedsPerson(_says("none"))
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


def _shown(display: Display) -> int:
    from Xlib import Xatom

    found = display.screen().root.get_full_property(display.intern_atom(_ROOT_NAMES[0]), Xatom.PIXMAP)
    return int(found.value[0]) if found and len(found.value) else 0


def _copied(display: Display) -> int:
    """Return a pixmap with what the root window shows behind all windows; 0 if the X server does not tell.

    X11 tells no program the background of a window, such as xsetroot's. So a window over the whole screen with the same
    background is shown for a moment, in which no other program can draw.
    """
    from Xlib import X
    from Xlib.error import XError

    screen = display.screen()
    root = screen.root
    size = root.get_geometry()
    area = (size.width, size.height)
    display.grab_server()
    try:
        window = root.create_window(
            0,
            0,
            *area,
            0,
            X.CopyFromParent,
            background_pixmap=X.ParentRelative,
            override_redirect=True,
            save_under=True,
        )
        window.map()
        pixmap = root.create_pixmap(*area, screen.root_depth)
        pixmap.copy_area(pixmap.create_gc(), window, 0, 0, *area, 0, 0)
        window.destroy()
        return int(pixmap.id) if pixmap.get_geometry() else 0
    except XError:
        return 0
    finally:
        display.ungrab_server()


def _show(display: Display, pixmap: int, *, is_named: bool = True) -> None:
    """Show a pixmap on X11's root window, behind all windows. With 0, show none. `is_named`: its name is told, too."""
    from Xlib import Xatom

    root = display.screen().root
    if pixmap:
        root.change_attributes(background_pixmap=pixmap)
    else:
        root.change_attributes(background_pixel=display.screen().black_pixel)
    root.clear_area()
    for name in _ROOT_NAMES:
        atom = display.intern_atom(name)
        if pixmap and is_named:
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
