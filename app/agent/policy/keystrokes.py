"""What keys and typed text come to: which controls they press, what they submit and what they paste."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from app.agent.policy import consequences
from app.agent.policy.chords import (
    ALT,
    Combination,
    Pressed,
    Stroke,
    bound_combinations,
    combination,
    combinations,
    pressed,
)
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control
from app.desktop.elements import Binding

_BREAKS = "\n\r"
_BUTTON, _MENU, _TERMINAL = "button", "menu item", "terminal"


def may_paste(keys: str) -> bool:
    """Whether these keys might type what was cut, copied or selected."""
    return any(one.holds(_listed_chords("activates", "pastes")) for one in pressed(keys))


def needs_bindings(keys: str) -> bool:
    """Whether it matters which controls of the window keys press: the chords are not known to be harmless anywhere."""
    known = _listed_chords("harmless", "anywhere", "shortcuts")
    return any(stroke.whole not in known for one in pressed(keys) for stroke in one.strokes)


def entered(keys: Iterable[Pressed], text: str, control: Control) -> str:
    """The address that the act opens from an address bar; empty where it opens none, or the address is unknown."""
    if not consequences.is_address_bar(control):
        return ""
    if _breaks(text):
        return next((line for line in text.splitlines() if line.strip()), control.address)
    return control.address if submits(keys, text) else ""


def submits(keys: Iterable[Pressed], text: str) -> bool:
    """Whether the act presses Return."""
    return _breaks(text) or any(one.holds(_listed_chords("activates", "submits")) for one in keys)


def presses_save(keys: Iterable[Pressed]) -> bool:
    return any(one.holds(_listed_chords("activates", "saves")) for one in keys)


def of_keys(keys: Iterable[Pressed], control: Control, own: Sequence[str] = ()) -> frozenset[str]:
    """What pressing these chords comes to while `control` has the keyboard. `own` are Wisp's own keys."""
    ours = frozenset(combination(one) for one in own if one)
    found: set[str] = set()
    for one in keys:
        found |= _combined(one, ours) | _taken(one, control)
    return frozenset(found)


def of_text(text: str, control: Control) -> frozenset[str]:
    """What typing the text comes to: line breaks press Return, and signs press what no field takes them from."""
    if consequences.is_password(control):
        return frozenset({"password"})
    found: set[str] = set()
    if _breaks(text):
        found |= of_keys(pressed("Return"), control)
    if control.is_terminal and any(unicodedata.category(sign) == "Cc" for sign in text):
        found.add(_TERMINAL)
    signs = text.translate({ord(sign): None for sign in _BREAKS})
    return frozenset(found | (_of_signs(signs, control) if signs else set()))


def affirms(aim: str, keys: Sequence[Pressed], text: str, control: Control) -> bool:
    """Whether an act may make a dialog save the file that it names. What nothing describes may be such a dialog."""
    if not control.is_dialog and control.is_known:
        return False
    if aim == "focus":
        presses = not consequences.is_field(control) and consequences.is_affirming(control)
        by_press = presses and any(one.holds(_listed_chords("activates", "presses")) for one in keys)
        with_alt = any(ALT in stroke.held for one in keys for stroke in one.strokes)
        return with_alt or by_press or submits(keys, text)
    return not text and consequences.is_affirming(control)


def runs_typed(control: Control) -> bool:
    """Whether typed words followed by Return can start a program there. The name of a file is no command."""
    return control.runs_programs and not consequences.names_item(control)


def of_paste(control: Control) -> frozenset[str]:
    """Judge a paste as typing the pasted text. Unknown text counts as one with a line break."""
    if runs_typed(control):
        return frozenset({"password"} if consequences.is_password(control) else {_TERMINAL})
    return of_text("x\n" if control.pasted is None else control.pasted, control)


def of_drop(control: Control) -> frozenset[str]:
    """What letting go of something there comes to: terminals and launchers take it as words."""
    if consequences.is_password(control):
        return frozenset({"password"})
    return frozenset({_TERMINAL} if runs_typed(control) else ())


def _breaks(text: str) -> bool:
    return any(sign in text for sign in _BREAKS)


def _taken(one: Pressed, control: Control) -> frozenset[str]:
    """What a chord comes to where it lands."""
    if consequences.is_password(control):
        return _in_password(one, control)
    found: frozenset[str] = frozenset()
    submits = () if _is_choosing(control) or _is_harmless_item(control) else ("submits",)
    if runs_typed(control) and one.holds(_listed_chords("activates", "pastes", *submits)):
        found |= {_TERMINAL}
    if control.builds and one.holds(_listed_chords("activates", "builds")):
        found |= {Consequence.LAUNCHES}
    if control.is_menu_open:
        return found | _in_menu(one, control)
    if control.is_terminal and control.role in ("", _TERMINAL):
        return found | _in_terminal(one)
    if one.holds(_listed_chords("activates", "pastes")):
        return found | of_paste(control) | _others(one, control)
    if one.holds(_listed_chords("activates", "submits")):
        return found | _submitted(control) | _others(one, control)
    if one.holds(_listed_chords("activates", "presses")) and not consequences.is_field(control):
        return found | consequences.press_of(control) | _others(one, control)
    return found | _others(one, control)


def _is_harmless_item(control: Control) -> bool:
    """Whether Return opens a folder or a plain document of a file manager."""
    is_item = control.is_known and control.role in table("launchers")["items"] and control.role != ""
    return is_item and control.opens in table("launchers")["harmless"] and not control.is_terminal


def _is_choosing(control: Control) -> bool:
    """Whether Return chooses the marked entry of an open menu; a terminal may take it itself."""
    return control.is_menu_open and control.is_known and control.role.endswith(_MENU) and not control.is_terminal


def _in_password(one: Pressed, control: Control) -> frozenset[str]:
    submits = _listed_chords("activates", "submits")
    known = _listed_chords("harmless", "password") | submits
    if not all(stroke.whole in known or stroke.key == "Return" for stroke in one.strokes):
        return frozenset({"password"})
    return frozenset({"privileged"}) | _submitted(control) if one.holds(submits) else frozenset()


def _in_terminal(one: Pressed) -> frozenset[str]:
    known = _listed_chords("harmless", "terminal")
    is_known = all(stroke.is_sign or stroke.whole in known for stroke in one.strokes)
    if not is_known:
        return frozenset({_TERMINAL})
    is_answer = any(stroke.is_sign or stroke.whole == {"space"} for stroke in one.strokes)
    return frozenset({Consequence.UNKNOWN} if is_answer else ())


def _in_menu(one: Pressed, control: Control) -> frozenset[str]:
    """Keys choose the entry that is marked, or the one that they are bound to."""
    if one.holds(_listed_chords("activates", "submits", "presses")):
        return consequences.press_of(control) | consequences.started_by(control.name, control)
    known = _listed_chords("harmless", "menu")
    if all(stroke.whole in known for stroke in one.strokes):
        return frozenset()
    bound = _bound(one, control)
    return frozenset({Consequence.UNKNOWN}) | _perhaps_chosen(one, control) if bound is None else bound


def _perhaps_chosen(one: Pressed, control: Control) -> frozenset[str]:
    """What the entries of a menu do that hold the letter and do not say which key chooses them."""
    signs = {stroke.key for stroke in one.strokes}
    found: set[str] = set()
    for binding in control.bindings or ():
        if binding.role.endswith(_MENU) and not tuple(bound_combinations(binding.chord)):
            is_spelled = any(sign in consequences.comparable(binding.name) for sign in signs)
            found |= consequences.meaning_in(binding.role, binding.name, control) if is_spelled else frozenset()
    return frozenset(found)


def _chosen_by(sign: str, control: Control) -> frozenset[str]:
    """What a typed sign chooses in an open menu."""
    read = pressed("space" if sign == " " else "plus" if sign == "+" else sign)
    return frozenset().union(*(_in_menu(one, control) for one in read)) if read else frozenset({Consequence.UNKNOWN})


def _submitted(control: Control) -> frozenset[str]:
    """Return presses the focused button; in a field it submits it, in a dialog by its default."""
    if not consequences.is_field(control):
        sends = consequences.sends_on_return(control) and not consequences.is_pressed_role(control.role)
        return (frozenset({"submits"}) if sends else consequences.press_of(control)) | _by_default(control)
    sent = frozenset({"submits"}) if consequences.sends_on_return(control) else frozenset()
    return sent | _by_default(control)


def _by_default(control: Control) -> frozenset[str]:
    """What the default button of a dialog does; where none is known, what the dialog says."""
    if control.default:
        return consequences.meaning_in(_BUTTON, control.default, control)
    return consequences.words_of(control) | consequences.asked_by(control) if control.is_dialog else frozenset()


def _others(one: Pressed, control: Control) -> frozenset[str]:
    """Strokes that neither submit, press nor paste: signs for a field, and chords that something is bound to."""
    found: set[str] = set()
    for stroke in one.strokes:
        if consequences.is_choice(control) and not stroke.whole.isdisjoint(table("controls")["choices"][control.role]):
            found |= consequences.choice_of(control)
        if _is_harmless(stroke, control) or _is_judged_before(stroke):
            continue
        bound = _bound(one, control)
        if bound is not None:
            found |= bound
        elif ALT not in stroke.held or _is_unresolved(control):
            found.add(Consequence.UNKNOWN)
    return frozenset(found)


def _is_judged_before(stroke: Stroke) -> bool:
    return bool(stroke.whole & {"Return", "space"}) or stroke.whole in _listed_chords("activates", "pastes")


def _is_harmless(stroke: Stroke, control: Control) -> bool:
    known = _listed_chords("harmless", "anywhere")
    if control.is_known:
        known |= _listed_chords("harmless", "shortcuts")
    if consequences.is_field(control):
        known |= _listed_chords("harmless", "field")
    return stroke.whole in known or (stroke.is_sign and consequences.is_field(control))


def _bound(one: Pressed, control: Control) -> frozenset[str] | None:
    """What the controls do that the window binds to a part of the chord; None where it binds none."""
    found = [one_ for one_ in control.bindings or () if _is_bound(one_, one, with_letters=control.is_menu_open)]
    if not found:
        return None
    kinds: set[str] = set()
    for binding in found:
        kinds |= consequences.meaning_in(binding.role, binding.name, control) | consequences.started_by(
            binding.name, control
        )
    return frozenset(kinds)


def _is_unresolved(control: Control) -> bool:
    """Whether a mnemonic may belong to a control with consequences that does not say which key presses it."""
    if control.bindings is None:
        return True
    open_ends = (binding for binding in control.bindings if not tuple(bound_combinations(binding.chord)))
    return any(consequences.meaning_in(binding.role, binding.name, control) for binding in open_ends)


def _is_bound(binding: Binding, one: Pressed, *, with_letters: bool) -> bool:
    """A letter alone chooses only in a menu that is open, there also where its entry says that alt is held."""
    found = bound_combinations(binding.chord)
    return any(
        (keys - {ALT} if with_letters else keys) <= one.symbols for keys in found if len(keys) > 1 or with_letters
    )


def _of_signs(text: str, control: Control) -> set[str]:
    """Signs without line breaks: harmless in a field, a terminal, and on a surface or finder that describes itself."""
    if control.is_menu_open:
        return set().union(*(_chosen_by(sign, control) for sign in set(text)))
    if control.is_terminal and (not consequences.is_field(control) or control.role == _TERMINAL):
        return {Consequence.UNKNOWN} if _is_answer(text) else set()
    if consequences.is_field(control):
        return set()
    found: set[str] = set()
    if " " in text and consequences.is_pressed_role(control.role):
        found |= consequences.press_of(control)
    is_surface = control.is_known and not consequences.is_pressed_role(control.role)
    if control.is_launcher and is_surface:
        return found
    is_quiet = is_surface and not consequences.sends_on_return(control) and not control.has_password
    return found if is_quiet else found | {Consequence.UNKNOWN}


def _is_answer(text: str) -> bool:
    """Whether a program that asks in a terminal may take it at once, without Return."""
    return len(text) == 1 or text.strip().casefold() in table("controls")["names"]["answers"]


def _combined(one: Pressed, own: frozenset[Combination]) -> frozenset[str]:
    """What the chord does wherever it lands."""
    found = {kind for kind in table("keys")["kinds"] if one.holds(_listed_chords("kinds", kind))}
    return frozenset(found | ({"session"} if one.holds(own) else set()))


@cache
def _listed_chords(section: str, *names: str) -> frozenset[Combination]:
    """The chords of some lists of the table of keys."""
    return frozenset().union(*(combinations(tuple(table("keys")[section][name])) for name in names))
