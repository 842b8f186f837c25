"""Every chord that ends the session or is Wisp's own stays denied with further keys held, in three layouts."""

from __future__ import annotations

import pytest

from app.agent.policy.chords import listed_chords, pressed

SESSION = ("ctrl+alt+Delete", "ctrl+alt+BackSpace", "super+l", "ctrl+alt+F1")
FURTHER = ("a", "Return", "shift", "altgr", "F5", "KP_7", "Tab", "é")
LAYOUTS = {
    "us": {"l": frozenset("lL")},
    "de": {"l": frozenset("lLł"), "ł": frozenset("lLł"), "KP_Decimal": frozenset({"Delete"})},
    "fr": {"a": frozenset("aAqQ"), "KP_Decimal": frozenset({"Delete"})},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chord", SESSION)
def test_no_further_key_makes_a_chord_harmless(chord: str, layout: str) -> None:
    held = [chord, *(f"{chord}+{key}" for key in FURTHER), *(f"{key}+{chord}" for key in FURTHER)]
    denied = listed_chords("session")
    assert [one for one in held if not all(each.holds(denied) for each in pressed(one, LAYOUTS[layout]))] == []


@pytest.mark.parametrize(
    ("keys", "layout"), [("super+ł", "de"), ("ctrl+alt+KP_Decimal", "fr"), ("ctrl+alt+kp_decimal", "us")]
)
def test_a_key_counts_as_all_that_it_makes(keys: str, layout: str) -> None:
    assert all(one.holds(listed_chords("session")) for one in pressed(keys, LAYOUTS[layout]))


@pytest.mark.parametrize("keys", ["ctrl+s", "Return", "ctrl+alt+t", "super+d", "ctrl+shift+Escape"])
def test_ordinary_chords_are_none_of_these(keys: str) -> None:
    assert not any(one.holds(listed_chords("session")) for one in pressed(keys))


@pytest.mark.parametrize(
    ("keys", "types"), [("a", True), ("shift+a", True), ("space", True), ("ctrl+a", False), ("Tab", False), ("é", True)]
)
def test_a_chord_types_what_a_field_would_take(keys: str, *, types: bool) -> None:
    assert any(one.types for one in pressed(keys)) is types
