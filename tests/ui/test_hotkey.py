"""The key that calls the presence: written by people, pressed by a real hand, shared with other programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot
from Xlib import XK, X
from Xlib.display import Display

from app.ui.system.hotkey import Hotkey, Keys, parsed, written
from tests.ui.fake_agent import hand_now


@pytest.fixture
def hotkey(qtbot: QtBot) -> Iterator[Hotkey]:
    made = Hotkey()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ctrl+alt+space", Keys(frozenset({"ctrl", "alt"}), "space")),
        ("Super + F9", Keys(frozenset({"super"}), "f9")),
        ("cmd+ö", Keys(frozenset({"super"}), "ö")),
        ("f12", Keys(frozenset(), "f12")),
        ("ctrl+Return", Keys(frozenset({"ctrl"}), "enter")),
    ],
)
def test_a_key_is_read_as_people_write_it(text: str, keys: Keys) -> None:
    assert parsed(text) == keys


@pytest.mark.parametrize("text", ["ctrl+alt+nonsense", "hyper+a", "+", "ctrl+", "f25"])
def test_what_is_no_key_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"ctrl\+alt\+space"):
        parsed(text)


@pytest.mark.parametrize("text", ["a", "shift+a", "space", "enter"])
def test_a_key_that_is_typed_all_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="typed too often"):
        parsed(text)


def test_for_pynput_it_is_written_in_its_own_way() -> None:
    assert written(parsed("super+ctrl+pageup")) == "<ctrl>+<cmd>+<page_up>"
    assert written(parsed("ctrl+k")) == "<ctrl>+k"


def test_a_real_press_is_heard_with_and_without_num_lock(qtbot: QtBot, hotkey: Hotkey) -> None:
    assert hotkey.use("ctrl+alt+space") == ""
    with qtbot.waitSignal(hotkey.pressed):
        hand_now("key", "ctrl+alt+space")
    hand_now("key", "Num_Lock")
    try:
        with qtbot.waitSignal(hotkey.pressed):
            hand_now("key", "ctrl+alt+space")
    finally:
        hand_now("key", "Num_Lock")


def test_a_key_that_is_held_is_pressed_once(qtbot: QtBot, hotkey: Hotkey) -> None:
    subprocess.run(["xset", "r", "rate", "100", "50"], check=True, timeout=20)
    assert hotkey.use("ctrl+alt+space") == ""
    try:
        with qtbot.waitSignal(hotkey.pressed):
            hand_now("keydown", "ctrl", "keydown", "alt", "keydown", "space")
        with qtbot.assertNotEmitted(hotkey.pressed, wait=500):
            pass  # about 20 repetitions
    finally:
        hand_now("keyup", "space", "keyup", "alt", "keyup", "ctrl")
        subprocess.run(["xset", "r", "rate"], check=True, timeout=20)


def test_another_key_takes_its_place_and_the_first_is_free_again(qtbot: QtBot, hotkey: Hotkey) -> None:
    assert hotkey.use("ctrl+alt+k") == ""
    assert hotkey.use("ctrl+alt+l") == ""
    with qtbot.assertNotEmitted(hotkey.pressed, wait=300):
        hand_now("key", "ctrl+alt+k")
    with qtbot.waitSignal(hotkey.pressed):
        hand_now("key", "ctrl+alt+l")


def test_a_key_that_another_program_has_is_told(qtbot: QtBot, hotkey: Hotkey) -> None:
    other = Display()
    code = other.keysym_to_keycode(XK.string_to_keysym("F9"))
    other.screen().root.grab_key(code, X.ControlMask | X.Mod1Mask, False, X.GrabModeAsync, X.GrabModeAsync)
    other.sync()
    try:
        problem = hotkey.use("ctrl+alt+F9")
    finally:
        other.close()
    assert "ctrl+alt+F9" in problem
    assert "Another program has taken this key" in problem


def test_without_a_key_nothing_is_grabbed(qtbot: QtBot, hotkey: Hotkey) -> None:
    assert hotkey.use("") == ""
    with qtbot.assertNotEmitted(hotkey.pressed, wait=200):
        hand_now("key", "ctrl+alt+space")
