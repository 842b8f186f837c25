"""Windows and keys by scripts inside KWin: one that tells the windows at each change, one for each act and each key.

https://develop.kde.org/docs/plasma/kwin/api/. A script calls Wisp's own connection to the bus.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.base import resources
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.values import dataclass, field, replace
from app.desktop.backends import Window
from app.desktop.keys import Chord
from app.desktop.wayland.bus import Place, Refused, SessionBus
from app.desktop.wayland.windows import Listing

_KWIN = "org.kde.KWin"
_SCRIPTING = Place(_KWIN, "/Scripting", "org.kde.kwin.Scripting")
_SHORTCUTS = Place("org.kde.kglobalaccel", "/kglobalaccel", "org.kde.KGlobalAccel")
_PATH, _WINDOWS, _KEYS = "/kwin", "wisp.Windows", "wisp.Keys"
_REF_DIGITS = 8
_UNLISTED = frozenset({"backdrop", "unmanaged"})
_MODIFIERS = {"Control_L": "Ctrl", "Alt_L": "Alt", "Shift_L": "Shift", "Super_L": "Meta"}


class _Scripts:
    """The scripts that one connection has in KWin, or those that all of Wisp share, by their `mark`."""

    def __init__(self, bus: SessionBus, mark: str = "") -> None:
        self._bus = bus
        self._mark = mark or f"wisp{bus.name.replace(':', '-')}"

    def is_running(self, name: str) -> bool:
        return bool(self._bus.call(_SCRIPTING, "isScriptLoaded", "s", f"{self._mark}-{name}"))

    def run(self, resource: str, values: Mapping[str, object], *, as_: str = "") -> None:
        """Run a resource as a script, to the end of its first turn. `values` are its constants."""
        script = f"{self._mark}-{as_ or resource}"
        values = {"wisp": self._bus.name, "script": script, **values}
        head = "".join(f"const {key} = {json.dumps(value)};\n" for key, value in values.items())
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="wisp-", suffix=".js") as file:
            file.write(head + resources.text(f"desktop/kwin-{resource}.js"))
            file.flush()
            number = self._bus.call(_SCRIPTING, "loadScript", "ss", file.name, script)
            if number < 0:  # because another Wisp has loaded it meanwhile
                return
            try:
                self._bus.call(Place(_KWIN, f"/Scripting/Script{number}", "org.kde.kwin.Script"), "run")
            except Refused:  # because KWin 5 has it there
                self._bus.call(Place(_KWIN, f"/{number}", "org.kde.kwin.Script"), "run")

    def end(self, name: str) -> None:
        self._bus.call(_SCRIPTING, "unloadScript", "s", f"{self._mark}-{name}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as the script told it. `popups` are menus, panels and whatever else is no program's window."""

    windows: tuple[Window, ...] = ()
    popups: tuple[Window, ...] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    x_numbers: Mapping[str, int | None] = field(default_factory=dict)


class KwinWindows(Listing):
    """The windows of KWin, native ones and those of XWayland, topmost first."""

    name = "KWin"

    def __init__(self, bus: SessionBus) -> None:
        self._bus = bus
        self._scripts = _Scripts(bus)
        self._listed = Listed()
        self._pointer = Point(0, 0)
        self._changed: Callable[[], None] = lambda: None
        bus.serve(_PATH, _WINDOWS, {"Listed": self._hear_list, "Pointed": self._hear_pointer})

    # --- seeing

    def windows(self) -> tuple[Window, ...]:
        """Return the windows, and above them menus, tool tips and panels. Those of XWayland are left to it."""
        found = self._look()
        return (*found.popups, *found.windows)

    def _look(self) -> Listed:
        # KWin has sent all changes before it answers this call.
        if not self._scripts.is_running("windows"):
            self._scripts.run("windows", {})
        self._bus.pump(0)
        return self._listed

    def x_number(self, ref: str) -> int | None:
        """Return the number that a window of the last list has in XWayland: only KWin 5 tells it."""
        return self._listed.x_numbers.get(ref)

    def pointer(self) -> Point:
        """Return where the pointer is, to a pixel: KWin rounds it."""
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
        try:
            self._scripts.run("act", {"asked": asked})
        finally:
            self._scripts.end("act")

    # --- news

    def _hear_list(self, text: str) -> None:
        self._listed = read_list(text)
        self._changed()

    def _hear_pointer(self, x: float, y: float) -> None:
        self._pointer = Point(int(x), int(y))

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window: as soon as the bus is watched."""
        self._changed = changed
        self._look()

    def leave(self) -> None:
        """Take the script out of KWin."""
        self._changed = lambda: None
        self._scripts.end("windows")


class KwinKey:
    """A key that KWin passes on from any program. It is the `Grabbed` of `heard_key.py`.

    One script passes it on to everyone who queues for the key's name on the bus, so a Wisp that ends takes it from no
    other. A script that nobody queues for ends itself at the next press.
    """

    def __init__(self, bus: SessionBus, what_for: str, chord: Chord, pressed: Callable[[], None]) -> None:
        self._bus = bus
        self._scripts = _Scripts(bus, "wisp")
        self._keys = qt_name(chord)
        self._title = f"Wisp: {what_for} ({self._keys})"
        self._script = "key_" + re.sub(r"\W", lambda sign: f"{ord(sign[0]):x}", f"{what_for}_{'_'.join(chord.keys)}")
        self._name = f"wisp.{self._script}"
        bus.serve(_PATH, _KEYS, {self._script: pressed})

    def grab(self) -> str:
        self._bus.own(self._name, queues=True)
        self._run()
        owner = self._owner()
        return "" if owner in ("", self._title) else f"KDE ({owner})"

    def _run(self) -> None:
        if not self._scripts.is_running(self._script):
            self._forget()  # because KDE keeps what a key was before, whatever a script asks for
            names = {"queue": self._name, "member": self._script}
            self._scripts.run("key", {**names, "title": self._title, "keys": self._keys}, as_=self._script)

    def _owner(self) -> str:
        """What KDE does at the key."""
        codes = self._bus.call(_SHORTCUTS, "shortcut", "as", ["kwin", self._title, "KWin", self._title])
        owner = self._bus.call(_SHORTCUTS, "action", "i", codes[0]) if codes else ()
        return str(owner[1]) if owner else ""

    def _forget(self) -> None:
        with suppress(Refused):  # because KDE does not know it
            self._bus.call(_SHORTCUTS, "unregister", "ss", "kwin", self._title)

    def _is_wanted(self) -> bool:
        return self._bus.has_owner(self._name)

    def leave(self) -> None:
        """Take the key out of KWin and out of KDE's settings, if nobody else wants it."""
        self._bus.disown(self._name)
        if not self._is_wanted():
            self._scripts.end(self._script)
            self._forget()
            if self._is_wanted():  # because another Wisp came meanwhile, and found the script still there
                self._run()


def qt_name(chord: Chord) -> str:
    """As Qt writes it: `Ctrl+Alt+Escape`. https://doc.qt.io/qt-6/qkeysequence.html#fromString"""
    return "+".join(_MODIFIERS.get(key, key.replace("_", " ")) for key in chord.keys)


def read_list(text: str) -> Listed:
    """Read a list of the script: windows and pop-ups, topmost first, the windows that are out of sight last."""
    told = sorted(json.loads(text), key=lambda one: (one["away"], -one["order"]))
    told = [one for one in told if one["kind"] not in _UNLISTED]
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
    """The beginning of the number that KWin gave the window, `{89a1eba7-5726-…}`."""
    return f"w{number[1 : 1 + _REF_DIGITS]}"


def _rect(box: Sequence[float]) -> Rect:
    """In whole pixels, of its own size: KWin centres windows between pixels, and draws on the next."""
    x, y, width, height = (math.floor(number + 0.5) for number in box)
    return Rect(x, y, width, height)


def is_here(bus: SessionBus) -> bool:
    return bus.has_owner(_KWIN)
