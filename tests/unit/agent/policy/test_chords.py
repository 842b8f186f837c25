"""Every chord that does harm keeps doing it with further keys held, in three layouts."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.agent.policy import Control, Decision, Policy, Provenance
from app.agent.policy.chords import pressed
from app.agent.policy.keystrokes import of_keys
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.base import resources
from app.desktop.elements import Binding
from app.desktop.keys import named_keys
from app.protocol.call import ToolCall
from tests.support.controls import altered, described

SPEC = registry().find("computer_key")
OWN_KEYS = ("ctrl+alt+escape", "ctrl+alt+space")
DENIED = ("ctrl+alt+Delete", "ctrl+alt+BackSpace", "super+l", "ctrl+alt+F1", "ctrl+alt+escape", "ctrl+alt+space")
SUBMITS = ("Return", "KP_Enter", "ctrl+m", "ctrl+j")
FURTHER = ("a", "Return", "shift", "super", "altgr", "F5", "Up", "KP_7", "Tab", "é")
# What the keys make that stand where the letters are, as `setxkbmap` has them: the letter, its capital, and level 3.
LAYOUTS = {
    "us": {"m": "mM", "j": "jJ", "l": "lL", "a": "aA"},
    "de": {"m": "mMµ", "µ": "mMµ", "j": "jJ", "l": "lLł", "ł": "lLł", "a": "aAæ", "KP_Decimal": ("Delete",)},
    "fr": {"m": "mM", "j": "jJ", "l": "lL", "a": "aAqQ", ",": ",?", "KP_Decimal": ("Delete",)},
}
TERMINAL = described("box", "xterm", is_terminal=True, is_known=False)
TEXT = described("Untitled", "Mousepad", "text")
PASSWORD = described("Login", "zenity", "password text", is_dialog=True)
BUTTON = described("Sure", "zenity", "button", "Delete", bindings=(Binding("<Alt>d", "button", "Delete"),))


@cache
def _policy(folder: Path) -> Policy:
    return Policy(folder, surroundings=PolicyDeps(own_keys=OWN_KEYS), persons=folder / "none.toml")


def _decided(folder: Path, keys: str, control: Control) -> Decision:
    assert SPEC is not None
    return (
        _policy(folder).decide(ToolCall("c1", "computer_key", {"keys": keys}), SPEC, (control,), Provenance()).decision
    )


def _with(control: Control, layout: str) -> Control:
    symbols = tuple((key, frozenset(made)) for key, made in LAYOUTS[layout].items())
    return altered(control, symbols=symbols)


def _held(chord: str) -> list[str]:
    """The chord alone, and with one and two further keys, before and behind it."""
    one = [f"{chord}+{key}" for key in FURTHER] + [f"{key}+{chord}" for key in FURTHER]
    two = [f"{chord}+{first}+{second}" for first, second in itertools.permutations(FURTHER, 2)]
    return [chord, *one, *two]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chord", DENIED)
def test_what_ends_the_session_or_is_wisps_own_is_denied_with_any_further_keys(
    chord: str, layout: str, tmp_path: Path
) -> None:
    control = _with(described("Untitled", "Mousepad", "text"), layout)
    allowed = [keys for keys in _held(chord) if _decided(tmp_path, keys, control) is not Decision.DENY]
    assert allowed == []


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chord", SUBMITS)
@pytest.mark.parametrize("control", [TERMINAL, BUTTON], ids=["terminal", "button"])
def test_what_submits_asks_with_any_further_keys(chord: str, control: Control, layout: str, tmp_path: Path) -> None:
    there = _with(control, layout)
    assert [keys for keys in _held(chord) if _decided(tmp_path, keys, there) is Decision.ALLOW] == []


MODIFIERS = resources.table("desktop/keys.toml", dict[str, dict[str, list[str]]])["modifiers"]
ALL_KEYS = (*named_keys(), *MODIFIERS, *"abcjklmt17+-,.éßüçµł€д\x04\x0f\x1b\x7f")
PLACES = {Decision.DENY: (DENIED, (TERMINAL, PASSWORD)), Decision.ASK: (SUBMITS, (TERMINAL, BUTTON))}
HARMFUL = [(least, chord, there) for least, (chords, places) in PLACES.items() for chord in chords for there in places]
SEVERITY = [Decision.ALLOW, Decision.ASK, Decision.DENY]


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_single_further_key_makes_a_chord_harmless(layout: str, tmp_path: Path) -> None:
    let_through = []
    for least, chord, control in HARMFUL:
        there = _with(control, layout)
        for number, key in enumerate(ALL_KEYS):
            keys = f"{chord}+{key}" if number % 2 else f"{key}+{chord}"
            if SEVERITY.index(_decided(tmp_path, keys, there)) < SEVERITY.index(least):
                let_through.append((keys, control.window.app))
    assert let_through == []


@given(
    held=st.lists(st.sampled_from(ALL_KEYS), min_size=2, max_size=2),
    place=st.integers(0, 2),
    harmful=st.sampled_from(HARMFUL),
    layout=st.sampled_from(sorted(LAYOUTS)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_two_further_keys_make_a_chord_harmless(
    held: list[str], place: int, harmful: tuple[Decision, str, Control], layout: str, tmp_path: Path
) -> None:
    least, chord, control = harmful
    keys = "+".join([*held[:place], chord, *held[place:]])
    decided = _decided(tmp_path, keys, _with(control, layout))
    assert SEVERITY.index(decided) >= SEVERITY.index(least), keys


@pytest.mark.parametrize("sign", ["\x04", "\x0f", "\x10", "\x1b", "\x7f"])
def test_a_control_character_is_a_key_and_no_sign(sign: str, tmp_path: Path) -> None:
    assert [_decided(tmp_path, sign, control) for control in (TERMINAL, TEXT)] == [Decision.ASK, Decision.ASK]


@pytest.mark.parametrize("keys", ["ctrl+µ", "ctrl+altgr+m", "ctrl+shift+µ"])
def test_a_key_counts_as_all_that_it_makes_in_the_layout(keys: str, tmp_path: Path) -> None:
    assert _decided(tmp_path, keys, _with(TERMINAL, "de")) is Decision.ASK


@pytest.mark.parametrize("keys", ["alt+d", "alt+d+a", "alt+shift+d", "space", "space+a", "Return", "shift+Return"])
def test_a_mnemonic_and_the_space_bar_are_presses(keys: str, tmp_path: Path) -> None:
    assert _decided(tmp_path, keys, BUTTON) is Decision.ASK


@pytest.mark.parametrize("keys", ["h", "u n t", "ctrl+v", "shift+Insert", "Return+a", "space", "BackSpace", "altgr+q"])
def test_no_key_goes_into_a_password_field(keys: str, tmp_path: Path) -> None:
    assert _decided(tmp_path, keys, described("Login", "zenity", "password text", is_dialog=True)) is Decision.DENY


def test_menus_driven_by_keys_are_choices(tmp_path: Path) -> None:
    bound = (Binding("s;<Alt>f:s;", "menu item", "Save"), Binding("d;<Alt>f:d;", "menu item", "Delete"))
    menu = described("Menus", "menu", "menu item", "Save", is_menu_open=True, bindings=bound)
    decided = {keys: _decided(tmp_path, keys, menu).value for keys in ("Down", "Return", "space", "s", "d", "x")}
    assert decided == {"Down": "allow", "Return": "allow", "space": "allow", "s": "allow", "d": "ask", "x": "ask"}


@pytest.mark.parametrize(
    ("text", "decision"), [("s", "allow"), ("d", "ask"), ("D", "ask"), ("sd", "ask"), ("e", "ask"), ("w", "ask")]
)
def test_text_that_is_typed_in_an_open_menu_chooses_too(text: str, decision: str, tmp_path: Path) -> None:
    bound = (Binding("s;<Alt>f:s;", "menu item", "Save"), Binding("d;<Alt>f:d;", "menu item", "Delete"))
    bound = (*bound, Binding("", "menu item", "Erase all"), Binding("Alt+W", "menu item", "Wipe"))
    menu = described("Menus", "menu", "text", is_menu_open=True, bindings=bound)
    spec = registry().find("computer_type")
    assert spec
    policy = Policy(tmp_path, persons=tmp_path / "none.toml")
    named = Provenance(said="look at the window Menus in menu")
    verdict = policy.decide(ToolCall("c1", "computer_type", {"text": text}), spec, (menu,), named)
    assert verdict.decision.value == decision


FORM = described("Shop", "gtk.py", "text", "Note", states=frozenset({"editable"}))
PAY = ("Pay 400 EUR?",)


@pytest.mark.parametrize(
    ("control", "decision"),
    [
        (altered(FORM, default="Buy"), Decision.ASK),
        (altered(FORM, default="Onward", words=PAY), Decision.ASK),
        (altered(FORM, default="OK", words=PAY), Decision.ASK),
        (altered(FORM, default="Find", buttons=()), Decision.ALLOW),
        (altered(FORM, role="check box", buttons=("Kaufen",), states=frozenset()), Decision.ASK),
        (altered(FORM, role="", name="", buttons=("Send",), states=frozenset()), Decision.ASK),
        (altered(FORM, buttons=("Send",), states=FORM.states | {"multi-line"}), Decision.ALLOW),
    ],
)
@pytest.mark.parametrize("keys", ["Return", "KP_Enter", "Return+k"])
def test_return_presses_the_default_button_or_the_worst_that_it_may_be(
    keys: str, control: Control, decision: Decision, tmp_path: Path
) -> None:
    assert _decided(tmp_path, keys, control) is decision


def test_return_in_a_menu_that_marks_nothing_may_choose_any_entry() -> None:
    bound = (Binding("o", "menu item", "Open"), Binding("d", "menu item", "Delete"), Binding("", "text", "Delete"))
    menu = described("Menus", "menu", is_menu_open=True, bindings=bound)
    asked = ("Return", "space", "Down", "Down Return")
    assert [keys for keys in asked if "irreversible" in of_keys(pressed(keys), menu, ())] == ["Return", "space"]
    assert "irreversible" not in of_keys(pressed("Return"), altered(menu, bindings=(bound[0], bound[2])), ())


UNREAD = described("Paper - Chromium", "chromium", is_known=False)


@pytest.mark.parametrize(
    ("keys", "control", "decision"),
    [
        ("ctrl+1", UNREAD, Decision.ALLOW),
        ("ctrl+1 ctrl+9", UNREAD, Decision.ALLOW),
        ("ctrl+1", altered(UNREAD, app="pad"), Decision.ASK),
        ("ctrl+alt+1", UNREAD, Decision.ASK),
        ("ctrl+shift+1", UNREAD, Decision.ASK),
        ("alt+1", UNREAD, Decision.ASK),
        ("ctrl+1 ctrl+Return", UNREAD, Decision.ASK),
        ("ctrl+e", UNREAD, Decision.ASK),
    ],
)
def test_only_ctrl_and_a_digit_go_to_another_tab(
    keys: str, control: Control, decision: Decision, tmp_path: Path
) -> None:
    assert _decided(tmp_path, keys, control) is decision
