"""What GNOME's extension tells becomes windows: menus belong to their window, and shadows are no part of it."""

from __future__ import annotations

from typing import Any

import pytest

from app.base.geometry import Rect
from app.desktop.keys import chord
from app.desktop.wayland.gnome import accelerator, windows_of


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
