"""What keys are called."""

from __future__ import annotations

import pytest

from app.base.errors import ToolMisuse
from app.desktop.keys import Chord, chord, chords, is_modifier, key, modifiers


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Return", ("Return",)),
        ("ctrl+s", ("Control_L", "s")),
        ("ctrl++", ("Control_L", "+")),
        ("cmd+space", ("Super_L", "space")),
        ("f5", ("F5",)),
        ("kp_7", ("KP_7",)),
        ("super", ("Super_L",)),
    ],
)
def test_a_chord_is_read_however_it_is_spelt(text: str, keys: tuple[str, ...]) -> None:
    assert chord(text) == Chord(keys)


def test_several_chords_stand_with_blanks_between_them() -> None:
    assert chords("ctrl+a Delete") == (Chord(("Control_L", "a")), Chord(("Delete",)))
    with pytest.raises(ToolMisuse, match="too many"):
        chords("a " * 201)


def test_an_unknown_key_is_told_with_the_nearest_names() -> None:
    with pytest.raises(ToolMisuse, match=r"no key called 'pagedwn'\. Did you mean pagedown"):
        key("pagedwn")


def test_a_name_like_no_key_gets_examples() -> None:
    with pytest.raises(ToolMisuse, match="Keys are named like Return"):
        key("qqqqqqqqqqq")


def test_only_modifiers_may_be_held_with_the_mouse() -> None:
    assert modifiers("ctrl+shift") == ("Control_L", "Shift_L")
    assert modifiers("") == ()
    with pytest.raises(ToolMisuse, match="'a' is not a modifier"):
        modifiers("ctrl+a")


def test_modifiers_are_told_from_other_keys() -> None:
    assert [is_modifier(name) for name in ("Control_L", "Super_L", "a", "Return")] == [True, True, False, False]


def test_nothing_is_no_chord() -> None:
    with pytest.raises(ToolMisuse, match="no key in it"):
        chord("")


@pytest.mark.parametrize(
    ("text", "presses"), [("space", True), ("Return", True), ("shift+KP_Enter", True), ("a", False), ("Tab", False)]
)
def test_a_chord_says_whether_it_presses_the_button_that_has_the_keyboard(text: str, *, presses: bool) -> None:
    assert chord(text).may_press is presses
