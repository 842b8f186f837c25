"""What GNOME's extension tells becomes windows: menus belong to their window, and shadows are no part of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Landing
from app.desktop.keys import chord
from app.desktop.wayland.bus import Place, Refused, SessionBus
from app.desktop.wayland.gnome import GnomeKey, GnomeWindows, accelerator, windows_of


def _told(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "id": number,
        "title": "Letter",
        "app": "org.gnome.TextEditor",
        "pid": 7,
        "frame": [290, 156, 700, 520],
        "surface": [265, 131, 750, 570],
        "x11": 0,
        "active": False,
        "shown": True,
        "workspace": 0,
        "dialog": False,
        "parent": 0,
        "popup": False,
        "tip": False,
    } | changed


class Shell:
    """A session bus on which the extension answers, as long as it `is_there`."""

    def __init__(self) -> None:
        self.is_there = True
        self.answers: dict[str, Any] = {"Follow": []}
        self.followed: list[dict[str, str]] = []
        self._handlers: dict[str, list[Callable[..., None]]] = {}

    def hear(self, _place: Place, member: str, handler: Callable[..., None]) -> None:
        self._handlers.setdefault(member, []).append(handler)

    def told(self, member: str, *values: str) -> None:
        for handler in self._handlers[member]:
            handler(*values)

    def call(self, _place: Place, member: str, _signature: str = "", *body: Any) -> Any:
        if not self.is_there:
            raise Refused("org.freedesktop.DBus.Error.ServiceUnknown", "nobody")
        if member == "Follow":
            self.followed.append(body[0])
        return self.answers[member]


@pytest.fixture
def shell() -> Shell:
    return Shell()


@pytest.fixture
def gnome(shell: Shell) -> GnomeWindows:
    return GnomeWindows(cast(SessionBus, shell))


def test_a_press_on_a_menu_goes_to_its_window_and_one_on_the_panel_to_the_shell(
    gnome: GnomeWindows, shell: Shell
) -> None:
    shell.answers["List"] = json.dumps({"windows": [_told(3, parent=2, popup=True), _told(2)]})
    gnome.windows()
    landings = []
    for number in (3, 2, 0, -1):
        shell.answers["At"] = number
        landings.append(gnome.at(Point(1, 1)))
    assert landings == [Landing("w3", "w2"), Landing("w2", "w2"), Landing("shell"), Landing()]


def test_after_the_screen_was_locked_the_keys_are_asked_for_again(gnome: GnomeWindows, shell: Shell) -> None:
    changes: list[str] = []
    pressed: list[str] = []
    gnome.follow(lambda: changes.append("changed"))
    key = GnomeKey(cast(SessionBus, shell), "stop", chord("ctrl+alt+Escape"), lambda: pressed.append("stop"))
    assert not key.grab()
    shell.is_there = False
    shell.told("NameOwnerChanged", "wisp.Shell", ":1.7", "")
    with pytest.raises(ToolFailed, match="the screen is locked"):
        gnome.windows()
    shell.is_there = True
    shell.told("NameOwnerChanged", "wisp.Shell", "", ":1.9")
    shell.told("Pressed", "stop")
    keys = {"stop": "<Control><Alt>Escape"}
    assert (shell.followed, pressed, len(changes)) == ([{}, keys, {}, keys], ["stop"], 2)


def test_a_window_counts_from_its_frame_and_a_menu_from_its_shadow() -> None:
    menu = _told(3, title="", parent=2, popup=True, frame=[813, 196, 229, 520], surface=[790, 175, 275, 566])
    submenu = _told(4, title="", parent=3, popup=True)
    found = windows_of([submenu, menu, _told(2, active=True)])
    assert [(one.ref, one.title, one.is_popup, one.is_active) for one in found] == [
        ("w2", "Letter", True, False),
        ("w2", "Letter", True, False),
        ("w2", "Letter", False, True),
    ]
    assert (found[1].area, found[1].content) == (Rect(813, 196, 229, 520), Rect(790, 175, 275, 566))
    assert found[2].area == found[2].content == Rect(290, 156, 700, 520)


def test_xwayland_tells_the_menus_and_places_of_its_own_programs() -> None:
    found = windows_of([_told(3, popup=True, x11=0x400012), _told(2, x11=0x400007)])
    assert [(one.ref, one.content) for one in found] == [("w2", None)]


def test_windows_out_of_sight_come_last() -> None:
    found = windows_of([_told(2, shown=False), _told(3), _told(4, dialog=True)])
    assert [(one.ref, one.is_minimised, one.is_dialog) for one in found] == [
        ("w3", False, False),
        ("w4", False, True),
        ("w2", True, False),
    ]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("ctrl+alt+Escape", "<Control><Alt>Escape"),
        ("super+?", "<Super>U003F"),
        ("ctrl+alt+space", "<Control><Alt>space"),
    ],
)
def test_keys_are_written_as_gtk_writes_them(keys: str, told: str) -> None:
    assert accelerator(chord(keys)) == told
