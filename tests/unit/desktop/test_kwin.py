"""What a script inside KWin tells about windows."""

from __future__ import annotations

import json

from app.base.geometry import Rect
from app.desktop.backends import Window
from app.desktop.keys import chord
from app.desktop.wayland.kwin import qt_name, read_list

EDITOR, MENU, SUBMENU = (f"{{{start}-5726-477f-a4a3-5d71f0311af0}}" for start in ("89a1eba7", "4836e2c5", "20665fd3"))


def told(number: str, order: int, **other: object) -> dict[str, object]:
    return {
        "id": number,
        "title": "notes.txt",
        "app": "org.kde.kwrite",
        "pid": 7,
        "order": order,
        "area": [100, 120, 640, 508],
        "content": [100, 148, 640, 480],
        "x": 0,
        "owner": "",
        "active": False,
        "away": False,
        "desktop": 0,
        "kind": "window",
        **other,
    }


def test_windows_come_topmost_first_and_those_out_of_sight_last() -> None:
    lower, upper, away = "{00000001-1}", "{00000002-1}", "{00000003-1}"
    listed = read_list(
        json.dumps([told(lower, 0), told(upper, 1), told(away, 2, away=True), told("{00000004-1}", 3, kind="backdrop")])
    )
    assert [window.ref for window in listed.windows] == ["w00000002", "w00000001", "w00000003"]
    assert listed.ids["w00000002"] == upper


def test_a_window_between_pixels_lies_on_the_next_and_keeps_its_size() -> None:
    area, content = [346.6666666666667, 162.5, 445, 315], [346.6666666666667, 190.5, 445, 287]
    dialog = told(EDITOR, 0, area=area, content=content, kind="dialog", active=True)
    (window,) = read_list(json.dumps([dialog])).windows
    assert window == Window(
        ref="w89a1eba7",
        title="notes.txt",
        app="org.kde.kwrite",
        area=Rect(347, 163, 445, 315),
        pid=7,
        is_active=True,
        is_dialog=True,
        content=Rect(347, 191, 445, 287),
    )


def test_a_submenu_belongs_to_the_window_of_its_menu() -> None:
    menu = told(MENU, 1, kind="popup", title="", owner=EDITOR)
    submenu = told(SUBMENU, 2, kind="popup", title="", owner=MENU)
    listed = read_list(json.dumps([told(EDITOR, 0), menu, submenu]))
    assert [(popup.ref, popup.title, popup.is_popup) for popup in listed.popups] == [
        ("w89a1eba7", "notes.txt", True)
    ] * 2


def test_a_panel_belongs_to_no_window() -> None:
    (panel,) = read_list(json.dumps([told(MENU, 1, kind="popup", title="Panel")])).popups
    assert (panel.ref, panel.title, panel.content) == ("", "Panel", None)


def test_chords_are_written_as_qt_reads_them() -> None:
    assert [qt_name(chord(keys)) for keys in ("ctrl+alt+escape", "super+shift+pgup", "a")] == [
        "Ctrl+Alt+Escape",
        "Meta+Shift+Page Up",
        "a",
    ]
