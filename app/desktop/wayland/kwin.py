"""Windows by scripts inside KWin: one that tells the windows at each change, and one for each act.

https://develop.kde.org/docs/plasma/kwin/api/. A script calls Wisp's own connection to the bus.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.base import resources
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.values import dataclass, field, replace
from app.desktop.backends import Window
from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.windows import Listing

_KWIN = "org.kde.KWin"
_SCRIPTING = Place(_KWIN, "/Scripting", "org.kde.kwin.Scripting")
_NAMES = Place("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_SHORTCUTS = Place("org.kde.kglobalaccel", "/kglobalaccel", "org.kde.KGlobalAccel")
_PATH, _INTERFACE = "/kwin", "wisp.Windows"
_REF_DIGITS = 8
_UNKNOWN = Point(0, 0)


@dataclass(frozen=True, slots=True)
class ScriptKey:
    """A key that KWin passes on. `title` names it in KDE's settings, `keys` is Qt's name of it: `Ctrl+Alt+Esc`."""

    title: str
    keys: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as the script told it. `popups` are menus, panels and whatever else is no program's window."""

    windows: tuple[Window, ...] = ()
    popups: tuple[Window, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    x_numbers: Mapping[str, int] = field(default_factory=dict)


class KwinWindows(Listing):
    """The windows of KWin, native ones and those of XWayland, topmost first. `x_number` tells which are of XWayland."""

    name = "KWin"

    def __init__(self, bus: SessionBus) -> None:
        self._bus = bus
        self._script = f"wisp-{os.getpid()}-{bus.name.removeprefix(':')}"
        self._listed = Listed()
        self._pointer = _UNKNOWN
        self._changed: Callable[[], None] = lambda: None
        self._pressed: dict[ScriptKey, Callable[[], None]] = {}
        bus.serve(_PATH, _INTERFACE, {"Listed": self._hear_list, "Pointed": self._hear_pointer, "Pressed": self._press})

    # --- seeing

    def windows(self) -> tuple[Window, ...]:
        found = self._look()
        return (*found.popups, *found.windows)

    def _look(self) -> Listed:
        # KWin has sent all changes before it answers this call.
        if not self._bus.call(_SCRIPTING, "isScriptLoaded", "s", self._script):
            self._load()
        self._bus.pump(0)
        return self._listed

    def x_number(self, ref: str) -> int | None:
        """Return the number that a window of the last list has in XWayland; 0 for a native window."""
        return self._listed.x_numbers.get(ref, 0)

    def pointer(self) -> Point:
        self._act({"act": "pointer"})
        self._bus.pump(0)
        return self._pointer

    # --- acting

    def focus(self, ref: str) -> None:
        self._act({"act": "focus", "id": self._id(ref)})

    def close(self, ref: str) -> None:
        self._act({"act": "close", "id": self._id(ref)})

    def place(self, ref: str, area: Rect) -> None:
        """Let the window be neither maximised nor tiled, and lie there."""
        where = [area.x, area.y, area.width, area.height]
        self._act({"act": "place", "id": self._id(ref), "area": where})

    def minimise(self, ref: str) -> None:
        self._act({"act": "minimise", "id": self._id(ref)})

    def _id(self, ref: str) -> str:
        if ref not in self._listed.ids:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        return self._listed.ids[ref]

    def _act(self, asked: Mapping[str, object]) -> None:
        name = f"{self._script}-act"
        try:
            self._run(name, "desktop/kwin-act.js", {"asked": asked})
        finally:
            self._bus.call(_SCRIPTING, "unloadScript", "s", name)

    # --- the scripts

    def _load(self) -> None:
        keys = [{"title": key.title, "keys": key.keys} for key in self._pressed]
        self._run(self._script, "desktop/kwin-windows.js", {"script": self._script, "keys": keys})

    def _run(self, name: str, resource: str, values: Mapping[str, object]) -> None:
        """Run a resource as a script, to its end. `values` are its constants."""
        head = "".join(
            f"const {key} = {json.dumps(value)};\n" for key, value in {"wisp": self._bus.name, **values}.items()
        )
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="wisp-", suffix=".js") as file:
            file.write(head + resources.text(resource))
            file.flush()
            number = self._bus.call(_SCRIPTING, "loadScript", "ss", file.name, name)
            self._bus.call(Place(_KWIN, f"/Scripting/Script{number}", "org.kde.kwin.Script"), "run")

    def _hear_list(self, text: str) -> None:
        self._listed = read_list(text)
        self._changed()

    def _hear_pointer(self, x: float, y: float) -> None:
        self._pointer = Point(int(x), int(y))

    # --- news

    def listen_keys(self, keys: Mapping[ScriptKey, Callable[[], None]]) -> None:
        """Call these as their keys are pressed, in any program: as soon as the bus is watched."""
        self._pressed = dict(keys)
        self._bus.call(_SCRIPTING, "unloadScript", "s", self._script)
        self._look()

    def _press(self, title: str) -> None:
        for key, pressed in self._pressed.items():
            if key.title == title:
                pressed()

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window: as soon as the bus is watched."""
        self._changed = changed
        self._look()

    def leave(self) -> None:
        """Take the script and its keys away."""
        self._changed = lambda: None
        self._bus.call(_SCRIPTING, "unloadScript", "s", self._script)


def read_list(text: str) -> Listed:
    """Read a list of the script: windows and pop-ups, topmost first, the windows that are out of sight last."""
    told = sorted(json.loads(text), key=lambda one: (one["away"], -one["order"]))
    told = [one for one in told if one["kind"] != "backdrop"]
    windows = {one["id"]: _window(one) for one in told if one["kind"] in {"window", "dialog"}}
    owners = {one["id"]: one["owner"] for one in told}

    def popup(one: dict[str, Any]) -> Window:
        owner = one["owner"]
        while owner in owners and owner not in windows:  # because the owner of a submenu is a menu
            owner = owners[owner]
        ref, title = (windows[owner].ref, windows[owner].title) if owner in windows else ("", one["title"])
        return replace(_window(one), ref=ref, title=title, is_popup=True, is_tip=one["kind"] == "tip", content=None)

    return Listed(
        windows=tuple(windows.values()),
        popups=tuple(popup(one) for one in told if one["id"] not in windows and not one["away"]),
        ids={window.ref: number for number, window in windows.items()},
        x_numbers={_ref(one["id"]): one["x"] for one in told},
    )


def _window(one: dict[str, Any]) -> Window:
    return Window(
        ref=_ref(one["id"]),
        title=one["title"],
        app=one["app"],
        area=_rect(one["area"]),
        pid=one["pid"],
        is_active=one["active"],
        is_minimised=one["away"],
        is_dialog=one["kind"] == "dialog",
        desktop=max(one["desktop"], 0),
        content=_rect(one["content"]),
    )


def _ref(number: str) -> str:
    """Return the ref of a window: the beginning of the number that KWin gave it, `{89a1eba7-5726-…}`."""
    return f"w{number[1 : 1 + _REF_DIGITS]}"


def _rect(box: Sequence[float]) -> Rect:
    """Return a box in whole pixels. Windows lie between pixels, as by KWin's centring."""
    x, y, right, bottom = round(box[0]), round(box[1]), round(box[0] + box[2]), round(box[1] + box[3])
    return Rect(x, y, right - x, bottom - y)


def is_here(bus: SessionBus) -> bool:
    """Return whether KWin draws this session."""
    return bool(bus.call(_NAMES, "NameHasOwner", "s", _KWIN))
