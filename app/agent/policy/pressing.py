"""What keys do to what has the keyboard, and what typed text does."""

from __future__ import annotations

from functools import cache

from app.agent.policy.controls import is_field, is_password, meaning_of, sends_on_return
from app.agent.policy.tables import table
from app.agent.policy.values import Control
from app.base.errors import ToolMisuse
from app.desktop.keys import chord, chords

_BUTTON = "button"
_SHORT = {"Control": "ctrl", "Alt": "alt", "Shift": "shift", "Super": "super", "ISO_Level3_Shift": "altgr"}


def normal(keys: str) -> tuple[str, ...]:
    """The chords in one spelling; a chord that cannot be read stays as it is (the tool will refuse it)."""
    try:
        return tuple(_normal(str(one)) for one in chords(keys))
    except ToolMisuse:
        return tuple(keys.split())


def may_submit(keys: str, text: str) -> bool:
    """Whether these keys, or this text, might press a button or submit a field."""
    activates = _spelled(tuple(table("keys")["activates"]["keys"]))
    return any(sign in text for sign in "\n\r") or any(one in activates for one in normal(keys) if keys)


def of_keys(pressed: tuple[str, ...], control: Control, stop_key: str = "") -> frozenset[str]:
    """What pressing these chords comes to while `control` has the keyboard."""
    found: set[str] = set()
    activates = table("keys")["activates"]
    for one in pressed:
        found |= _kinds().get(one, frozenset())
        if stop_key and one in normal(stop_key):
            found.add("session")
        if one in _spelled(tuple(activates["keys"])):
            found |= _activated(one, control)
        if control.runs_programs and one in _spelled(tuple(activates["runs"])):
            found.add("terminal")
    return frozenset(found)


def of_text(text: str, control: Control) -> frozenset[str]:
    """What typing the text comes to: line breaks press Return."""
    found: set[str] = set()
    if is_password(control):
        found.add("password")
    if any(sign in text for sign in "\n\r"):
        found |= of_keys(("Return",), control)
    if control.is_terminal and any(ord(sign) < ord(" ") for sign in text):
        found.add("terminal")
    return frozenset(found)


def _activated(one: str, control: Control) -> frozenset[str]:
    """Return and the space bar press the focused button; Return in a field submits it, in a dialog by its default."""
    submits = one in _spelled(tuple(table("keys")["activates"]["submits"]))
    if not is_field(control):
        pressed = meaning_of(control.role, control.name)
        return pressed | (meaning_of(_BUTTON, control.default) if submits else frozenset())
    if not submits:
        return frozenset()
    sent = frozenset({"submits"}) if sends_on_return(control) else frozenset()
    return sent | meaning_of(_BUTTON, control.default)


@cache
def _kinds() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for kind, spelled in table("keys")["kinds"].items():
        for one in spelled:
            found.setdefault(_normal(str(chord(one))), set()).add(kind)
    return {one: frozenset(kinds) for one, kinds in found.items()}


@cache
def _spelled(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_normal(str(chord(one))) for one in keys)


def _normal(spelled: str) -> str:
    """Modifiers by their short names and in one order, left and right alike; letters small."""
    *held, last = [*spelled[:-1].split("+"), "+"] if spelled.endswith("+") else spelled.split("+")
    names = {_SHORT.get(name.removesuffix("_L").removesuffix("_R"), name) for name in held if name}
    return "+".join([*sorted(names), last.lower() if len(last) == 1 else last])
