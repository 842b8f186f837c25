"""Windows and keys by scripts inside KWin: one that tells the windows at each change, one for each act, one for keys.

https://develop.kde.org/docs/plasma/kwin/api/. A script calls Wisp's own connection to the bus.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
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
_LOOK_UP_S = 0.5


class _Scripts:
    """The scripts that one connection has in KWin."""

    def __init__(self, bus: SessionBus) -> None:
        self._bus = bus
        self._mark = f"wisp{bus.name.replace(':', '-')}"

    def is_running(self, name: str) -> bool:
        return bool(self._bus.call(_SCRIPTING, "isScriptLoaded", "s", f"{self._mark}-{name}"))

    def run(self, name: str, values: Mapping[str, object]) -> None:
        """Run a resource as a script, to the end of its first turn. `values` are its constants."""
        script = f"{self._mark}-{name}"
        values = {"wisp": self._bus.name, "script": script, **values}
        head = "".join(f"const {key} = {json.dumps(value)};\n" for key, value in values.items())
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="wisp-", suffix=".js") as file:
            file.write(head + resources.text(f"desktop/kwin-{name}.js"))
            file.flush()
            number = self._bus.call(_SCRIPTING, "loadScript", "ss", file.name, script)
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
    """The windows of KWin, native ones and those of XWayland, topmost first.

    `unseen_pid`: KWin leaves the windows of that process out of every picture of the screen, if it can (from 6.6 on).
    `is_unseen`: it does so now.
    """

    name = "KWin"

    def __init__(self, bus: SessionBus, unseen_pid: int = 0) -> None:
        self._bus = bus
        self._unseen_pid = unseen_pid
        self.is_unseen = False
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
            self._scripts.run("windows", {"unseen": self._unseen_pid})
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

    def _hear_list(self, text: str, is_unseen: bool) -> None:  # noqa: FBT001 - an argument of the message
        self._listed, self.is_unseen = read_list(text), is_unseen
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


@dataclass(frozen=True, slots=True)
class Key:
    """A key that KWin passes on from any program. `title` names it in KDE's settings."""

    title: str
    chord: Chord
    pressed: Callable[[], None]


class KwinKeys:
    """Keys that KWin passes on, heard on a thread of their own: a busy desktop thread does not delay the stop key.

    `taken`: what the keys do instead that something else had before, by their titles.
    """

    def __init__(self, environment: Mapping[str, str], keys: Sequence[Key]) -> None:
        self._bus = SessionBus(environment)
        self._scripts = _Scripts(self._bus)
        self._keys = {key.title: key for key in keys}
        self._is_over = threading.Event()
        self._bus.serve(_PATH, _KEYS, {"Pressed": lambda title: self._keys[title].pressed()})
        self._forget()  # because KDE keeps what a key was before, whatever a script asks for
        self._scripts.run("keys", {"keys": [{"title": key.title, "keys": qt_name(key.chord)} for key in keys]})
        self.taken = {key.title: owner for key in keys if (owner := self._owner(key.title)) != key.title}
        self._thread = threading.Thread(target=self._listen, name="kwin-keys", daemon=True)
        self._thread.start()

    def _owner(self, title: str) -> str:
        """Return what KDE does at the key of that title; "" if it knows no such key."""
        codes = self._bus.call(_SHORTCUTS, "shortcut", "as", ["kwin", title, "KWin", title])
        owner = self._bus.call(_SHORTCUTS, "action", "i", codes[0]) if codes else ()
        return str(owner[1]) if owner else ""

    def _forget(self) -> None:
        for title in self._keys:
            with suppress(Refused):  # because KDE does not know it
                self._bus.call(_SHORTCUTS, "unregister", "ss", "kwin", title)

    def _listen(self) -> None:
        with suppress(OSError, ToolFailed):  # because the session ends
            while not self._is_over.is_set():
                self._bus.pump(_LOOK_UP_S)
            self._scripts.end("keys")
            self._forget()
        self._bus.close()

    def close(self) -> None:
        """Take the keys out of KWin and out of KDE's settings."""
        self._is_over.set()
        self._thread.join()


def qt_name(chord: Chord) -> str:
    """Return how Qt writes a chord: `Ctrl+Alt+Escape`. https://doc.qt.io/qt-6/qkeysequence.html#fromString"""
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
    """Return the ref of a window: the beginning of the number that KWin gave it, `{89a1eba7-5726-…}`."""
    return f"w{number[1 : 1 + _REF_DIGITS]}"


def _rect(box: Sequence[float]) -> Rect:
    """Return a box in whole pixels, of its own size: KWin centres windows between pixels, and draws them on some."""
    x, y, width, height = (math.floor(number + 0.5) for number in box)
    return Rect(x, y, width, height)


def is_here(bus: SessionBus) -> bool:
    """Return whether KWin draws this session."""
    return bus.has_owner(_KWIN)
