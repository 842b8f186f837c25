"""The person is heard on other systems, too; pynput stands in as what it is to us: callbacks that say who moved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any, ClassVar

import pytest

from app.base.geometry import Point
from app.desktop import portable
from app.desktop.keys import chord
from app.desktop.portable import PortableListener, SentInput


class Key(Enum):
    ctrl = 1
    ctrl_l = 2
    alt = 3
    alt_l = 4
    esc = 5


class Listener:
    """Started, it is called by the test as the system would call it."""

    made: ClassVar[list[Any]] = []

    def __init__(self, **heard: Callable[..., None]) -> None:
        self.__dict__.update(heard)
        self.running = False
        Listener.made.append(self)

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False

    def canonical(self, key: Any) -> Any:
        return {Key.ctrl_l: Key.ctrl, Key.alt_l: Key.alt}.get(key, key)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    package, keyboard, mouse = ModuleType("pynput"), ModuleType("pynput.keyboard"), ModuleType("pynput.mouse")
    keyboard.__dict__.update(Listener=Listener, Key=Key)
    mouse.__dict__.update(Listener=Listener)
    package.__dict__.update(keyboard=keyboard, mouse=mouse)
    for module in (package, keyboard, mouse):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    Listener.made = []
    portable.key_driver.cache_clear()
    portable.button_driver.cache_clear()
    yield Listener.made
    portable.key_driver.cache_clear()
    portable.button_driver.cache_clear()


def _told() -> tuple[list[str], Callable[[], None], Callable[[], None]]:
    told: list[str] = []
    return told, lambda: told.append("stop"), lambda: told.append("touched")


def test_the_stop_key_stops_whichever_of_its_keys_are_used(heard: list[Any]) -> None:
    told, stop, touched = _told()
    PortableListener(chord("ctrl+alt+escape"), stop, touched)
    keys = heard[0]
    for key in (Key.ctrl_l, Key.alt_l, Key.esc):
        keys.on_press(key, True)
    assert told == ["stop"]


def test_keys_that_were_let_go_of_do_not_count(heard: list[Any]) -> None:
    told, stop, touched = _told()
    PortableListener(chord("ctrl+alt+escape"), stop, touched)
    keys = heard[0]
    keys.on_press(Key.ctrl_l, True)
    keys.on_release(Key.ctrl_l, True)
    for key in (Key.alt_l, Key.esc):
        keys.on_press(key, True)
    assert told == []


def test_a_hand_is_told_from_what_we_send(heard: list[Any]) -> None:
    told, stop, touched = _told()
    PortableListener(chord("ctrl+alt+escape"), stop, touched)
    keys, mouse = heard
    for _ in range(5):
        mouse.on_move(10, 10, True)
    mouse.on_click(10, 10, "left", True, True)
    keys.on_press("a", True)
    assert told == []
    keys.on_press("a", False)
    mouse.on_click(10, 10, "left", True, False)
    mouse.on_scroll(10, 10, 0, 1, False)
    assert told == ["touched"] * 3


def test_a_bump_is_no_hand_and_the_corner_stops(heard: list[Any]) -> None:
    told, stop, touched = _told()
    PortableListener(None, stop, touched)
    (mouse,) = heard
    mouse.on_move(10, 10, False)
    mouse.on_move(11, 10, False)
    assert told == []
    mouse.on_move(0, 0, False)
    assert told == ["stop", "touched"]


def test_closing_ends_both(heard: list[Any]) -> None:
    listener = PortableListener(chord("ctrl+alt+escape"), *_told()[1:])
    assert [one.running for one in heard] == [True, True]
    listener.close()
    assert [one.running for one in heard] == [False, False]


def test_where_the_system_does_not_tell_what_wisp_sent_is_not_the_person(heard: list[Any]) -> None:
    told, stop, touched = _told()
    sent = SentInput()
    PortableListener(chord("ctrl+alt+escape"), stop, touched, sent)
    keys, mouse = heard
    sent.moved(Point(0, 0))
    for kind in ("key", "button", "button", "scroll"):
        sent.sent(kind)
    for _ in range(4):
        mouse.on_move(0, 0)
    keys.on_press(Key.esc)
    mouse.on_click(0, 0, "left", True)
    mouse.on_click(0, 0, "left", False)
    mouse.on_scroll(0, 0, 0, 1)
    assert told == []
    keys.on_press(Key.esc)
    mouse.on_click(0, 0, "left", True)
    mouse.on_scroll(0, 0, 0, 1)
    for x in (10, 20, 30):
        mouse.on_move(x, 5)
    assert told == ["touched"] * 4


def test_keys_that_are_sent_by_other_means_are_wisps_until_they_are_through(heard: list[Any]) -> None:
    told, stop, touched = _told()
    sent = SentInput()
    PortableListener(chord("ctrl+alt+escape"), stop, touched, sent)
    keys, mouse = heard
    with sent.keys_by_other_means():
        keys.on_press(Key.esc)
        assert told == []
        mouse.on_click(0, 0, "left", True)
    assert told == ["touched"]
