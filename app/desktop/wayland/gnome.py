"""The windows of GNOME, by Wisp's extension of GNOME Shell: `resources/gnome-shell` says what it answers.

GNOME tells programs neither where windows lie nor what they are called. Without the extension (`wisp extension`
installs it), the accessibility bus tells which windows there are, and nobody their places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Landing, Window, number_of_ref
from app.desktop.keys import Chord
from app.desktop.wayland.bus import Place, Refused, SessionBus
from app.desktop.wayland.windows import Listing

EXTENSION = "wisp@wisp-desktop"
_SHELL = Place("wisp.Shell", "/wisp/Shell", "wisp.Shell")
_NAMES = Place("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")


def is_shell_here(bus: SessionBus) -> bool:
    return bool(bus.call(_NAMES, "NameHasOwner", "s", "org.gnome.Shell"))


def is_here(bus: SessionBus) -> bool:
    """True if the extension answers: it is installed, enabled, and the screen is not locked."""
    return bus.has_owner(_SHELL.owner)


class GnomeWindows(Listing):
    """The windows of GNOME, topmost first, with the menus of native programs.

    The Shell itself is listed, and fills the screen, while it takes all input: its overview is open, or a menu of it.
    """

    name = "GNOME"

    def __init__(self, bus: SessionBus) -> None:
        self._bus = bus
        self._x_numbers: dict[str, int] = {}
        self._found: dict[int, dict[str, Any]] = {}
        self._changed: Callable[[], None] = lambda: None
        bus.hear(_SHELL, "Changed", self._change)
        bus.hear(_NAMES, "NameOwnerChanged", self._reappear)

    def windows(self) -> tuple[Window, ...]:
        found = json.loads(self._ask("List"))["windows"]
        self._found = {one["id"]: one for one in found}
        self._x_numbers = {_ref(one["id"]): one["x11"] for one in found}
        return windows_of(found)

    def x_number(self, ref: str) -> int | None:
        """Return the number that a window of the last list has in XWayland; 0 for a native window."""
        return self._x_numbers.get(ref, 0)

    def at(self, point: Point) -> Landing:
        """Return what takes a press at a point, also of the Shell: its panel, its messages and its menus."""
        number = self._ask("At", "ii", point.x, point.y)
        one = self._found.get(number)
        if one is None:
            return Landing() if number < 0 else Landing("shell")
        owner = _owner(one, self._found)
        return Landing(_ref(number), _ref(owner["id"]))

    def pointer(self) -> Point:
        return Point(*self._ask("Pointer"))

    def focus(self, ref: str) -> None:
        self._ask("Activate", "t", number_of_ref(ref))

    def close(self, ref: str) -> None:
        self._ask("Close", "t", number_of_ref(ref))

    def place(self, ref: str, area: Rect) -> None:
        self._ask("MoveResize", "tiiii", number_of_ref(ref), area.x, area.y, area.width, area.height)

    def minimise(self, ref: str) -> None:
        self._ask("Minimise", "t", number_of_ref(ref))

    def _ask(self, member: str, signature: str = "", *values: Any) -> Any:
        try:
            return self._bus.call(_SHELL, member, signature, *values)
        except Refused as refused:
            if not refused.is_absent:
                raise
            raise ToolFailed(
                "Wisp's extension of GNOME Shell does not answer: the screen is locked, or the extension is disabled.",
                "`wisp extension` enables it.",
            ) from None

    # --- news

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window. The bus must be watched."""
        self._changed = changed
        self._ask("Follow", "a{ss}", {})

    def _change(self) -> None:
        self._changed()

    def _reappear(self, name: str, _before: str, now: str) -> None:
        """Follow again: the Shell ends its extensions when the screen is locked, and starts them afterwards."""
        if name == _SHELL.owner:
            with suppress(ToolFailed):  # because it may have ended again; the next list tells
                if now:
                    self._ask("Follow", "a{ss}", {})
            self._changed()


class GnomeKey:
    """A key that the extension passes on from any program. It is the `Grabbed` of `heard_key.py`."""

    def __init__(self, bus: SessionBus, what_for: str, chord: Chord, pressed: Callable[[], None]) -> None:
        self._bus = bus
        self._keys = {what_for: accelerator(chord)}
        bus.hear(_SHELL, "Pressed", lambda _what_for: pressed())
        bus.hear(_NAMES, "NameOwnerChanged", self._reappear)

    def grab(self) -> str:
        """Ask for the key. Without the extension nobody has it, and as soon as there is one it is asked."""
        try:
            return "GNOME" if self._bus.call(_SHELL, "Follow", "a{ss}", self._keys) else ""
        except Refused as refused:
            if not refused.is_absent:
                raise
            return ""

    def _reappear(self, name: str, _before: str, now: str) -> None:
        """Ask again: the Shell ends its extensions when the screen is locked, and starts them afterwards."""
        if name == _SHELL.owner and now:
            with suppress(ToolFailed):  # because it may have ended again
                self.grab()

    def leave(self) -> None:
        """The extension lets go of the key when the connection closes."""


def windows_of(found: list[dict[str, Any]]) -> tuple[Window, ...]:
    """As the extension lists them. Menus of X11 programs are left out: XWayland tells them."""
    by_id = {one["id"]: one for one in found}
    listed = [_window(one, _owner(one, by_id)) for one in found if not (one["popup"] and one["x11"])]
    return tuple(sorted(listed, key=lambda window: window.is_minimised))


def _owner(one: dict[str, Any], by_id: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """The window that a menu belongs to; itself if it is no menu."""
    while one["popup"] and (above := by_id.get(one["parent"])):
        one = above
    return one


def _window(one: dict[str, Any], owner: dict[str, Any]) -> Window:
    return Window(
        ref=_ref(owner["id"]),
        title=owner["title"],
        app=owner["app"],
        area=Rect(*one["frame"]),
        pid=one["pid"],
        is_active=one["active"] and one["shown"],  # a window that was put away has the focus for a moment
        is_minimised=not one["shown"],
        is_dialog=one["dialog"] or (bool(one["parent"]) and not one["popup"]),
        desktop=one["workspace"],
        is_solid=not one["popup"],
        is_popup=one["popup"],
        is_tip=one["tip"],
        # A program draws the shadow of its window itself, and counts places from where its window begins; those in a
        # menu from where the menu's shadow begins.
        content=None if one["x11"] else Rect(*one["surface" if one["popup"] else "frame"]),
    )


def _ref(number: int) -> str:
    return f"w{number:x}"


def accelerator(key: Chord) -> str:
    """As GTK writes keys: `<Control><Alt>space`."""
    *held, last = key.keys
    modifiers = (name.removesuffix("_L").removesuffix("_R") for name in held)
    # By its code point, because the name of a sign is no sign: https://xkbcommon.org/doc/current/group__keysyms.html
    name = last if len(last) > 1 or last.isalnum() else f"U{ord(last):04X}"
    return "".join(f"<{modifier}>" for modifier in modifiers) + name
