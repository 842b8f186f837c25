"""Decide what keys and typed text would do: which controls they press, what they submit, what they paste.

Return presses the default button, a mnemonic the control that it is bound to, and letters choose in an open menu
(SECURITY.md: "Return is the press of its window's default button", "A menu that keys or typed letters drive is a choice
of its entries"). The chords are in `resources/policy/keys.toml`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from app.agent.policy import consequences, terminals
from app.agent.policy.chords import (
    ALT,
    Combination,
    Pressed,
    Stroke,
    bound_combinations,
    combination,
    listed_chords,
    pressed,
)
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control, Kinds, Provenance
from app.base.values import dataclass
from app.desktop.elements import Binding
from app.protocol.spec import PASSING, POINTED_AT, ScreenAim, ToolSpec

_BREAKS = "\n\r"
_BUTTON, _MENU, _TERMINAL = "button", "menu item", "terminal"
_LINES_STATE = "multi-line"
_LEAVES = frozenset({"Tab", "ISO_Left_Tab", "space"})
"""Keys that go from a field to a button, or press it."""


@dataclass(frozen=True, slots=True)
class DesktopAct:
    """What a call does to a control: which keys it presses, and which text it types or sets."""

    aim: ScreenAim
    keys: tuple[Pressed, ...]
    text: str
    control: Control

    @property
    def line(self) -> str:
        """Return the act's text without line breaks at its ends."""
        return self.text.strip("\r\n")

    @property
    def submits(self) -> bool:
        """Return whether the act presses Return."""
        return _breaks(self.text) or any(one.holds(listed_chords("activates", "submits")) for one in self.keys)

    @property
    def label(self) -> str:
        """Return the name of the button that the act presses, or of the default button that Return presses."""
        is_default = self.aim is ScreenAim.FOCUS and not consequences.is_pressed_role(self.control.role)
        return self.control.scene.default if is_default else self.control.name


def may_paste(keys: str) -> bool:
    """Return whether these keys might paste what was cut, copied or selected."""
    return any(one.holds(listed_chords("activates", "pastes")) for one in pressed(keys))


def needs_bindings(keys: str) -> bool:
    """Return whether the policy must know which controls these keys press, because a chord may do harm."""
    known = listed_chords("harmless", "anywhere", "shortcuts")
    return any(stroke.whole not in known for one in pressed(keys) for stroke in one.strokes)


def entered(act: DesktopAct) -> str:
    """Return the address that the act opens from an address bar; "" if it opens none, or the address is unknown."""
    address = act.control.address
    if not consequences.is_address_bar(act.control) or not act.submits:
        return ""
    return next((line for line in act.text.splitlines() if line.strip()), address) if _breaks(act.text) else address


def presses_save(keys: Iterable[Pressed]) -> bool:
    return any(one.holds(listed_chords("activates", "saves")) for one in keys)


def of_keys(keys: Sequence[Pressed], control: Control, own: Sequence[str]) -> Kinds:
    """Return the consequences of these chords while `control` has the keyboard. `own` are Wisp's own keys."""
    ours = frozenset(combination(one) for one in own if one)
    found: set[Consequence] = set()
    for number, one in enumerate(keys):
        is_first = all(map(terminals.only_moves, keys[:number]))
        found |= _anywhere(one, ours) | _at_focus(one, control, is_first=is_first)
        # Before a later key of the call presses something, the gate looks again at which entry is marked then.
        if number == 0 and control.scene.is_menu_open and not control.role.endswith(_MENU):
            found |= _any_entry(control) if one.holds(listed_chords("activates", "submits", "presses")) else set()
    return frozenset(found)


def of_text(text: str, control: Control) -> Kinds:
    """Return the consequences of typing. Line breaks press Return; outside a field, characters act as keys."""
    if consequences.is_password(control):
        return frozenset({Consequence.PASSWORD})
    found: set[Consequence] = set()
    if _breaks(text):
        found |= of_keys(pressed("Return"), control, ())
    if control.window.is_terminal and any(unicodedata.category(sign) == "Cc" for sign in text):
        found.add(Consequence.TERMINAL)
    signs = text.translate({ord(sign): None for sign in _BREAKS})
    return frozenset(found | (_of_signs(signs, control) if signs else set()))


def affirms(act: DesktopAct) -> bool:
    """Return whether an act may make a dialog save the file that it names. An undescribed window may be a dialog.

    In a described dialog that asks for a name, alt+F4 only closes it. A dialog that only asks a question may take
    alt+F4 for its answer.
    """
    control = act.control
    if terminals.is_inside(control) and control.window.is_occupied:
        return act.submits
    if not control.window.is_dialog and control.is_known:
        return False
    if act.aim is not ScreenAim.FOCUS:
        return not act.text and consequences.is_affirming(control)
    presses = not consequences.is_field(control) and consequences.is_affirming(control)
    by_press = presses and any(one.holds(listed_chords("activates", "presses")) for one in act.keys)
    closes = listed_chords("activates", "leaves") if _asks_for_more(control) else frozenset()
    with_alt = any(ALT in stroke.held and stroke.whole not in closes for one in act.keys for stroke in one.strokes)
    return with_alt or by_press or act.submits


def _asks_for_more(control: Control) -> bool:
    """Return whether a described dialog holds more than sentences and buttons, such as the name of a file."""
    return control.is_known and control.window.is_dialog and not control.scene.is_message


def runs_typed(control: Control) -> bool:
    """Return whether typed words followed by Return can start a program. A file's name is no command."""
    return control.window.runs_programs and not consequences.names_item(control)


def is_blind_launcher(control: Control) -> bool:
    """Return whether a program that starts others, and is no terminal, does not describe its content.

    Any of its buttons, and any unknown key, may then run what was typed.
    """
    return control.window.opens_items and not control.is_known


def _may_run(stroke: Stroke) -> bool:
    """Return whether a chord may run what was typed before.

    It may, unless it types a character, is an editing key such as BackSpace, or is a usual shortcut.
    """
    is_edit = len(stroke.key) > 1 and stroke.whole in listed_chords("harmless", "field")
    return not (stroke.is_sign or is_edit or stroke.whole in listed_chords("harmless", "shortcuts"))


def of_running(done: DesktopAct, spec: ToolSpec, provenance: Provenance) -> Kinds:
    """Return the consequences of a press, or of a key that leaves the field: both may run the text that was typed
    before.
    """
    control = done.control
    if not is_blind_launcher(control):
        return frozenset()
    has_typed = bool(provenance.typed.get(control.window.app))
    if done.aim is ScreenAim.FOCUS:
        leaves = "\t" in done.text or any(stroke.key in _LEAVES for one in done.keys for stroke in one.strokes)
        return frozenset({Consequence.TERMINAL} if leaves and (has_typed or done.text.strip()) else ())
    is_press = spec.aim in POINTED_AT - {ScreenAim.MENU} and spec.gesture not in PASSING
    is_plain = consequences.says_nothing_runs(control.name)
    return frozenset({Consequence.TERMINAL} if is_press and has_typed and not is_plain else ())


def of_paste(control: Control) -> Kinds:
    """Judge a paste as typing the pasted text. Unknown text counts as one with a line break."""
    if runs_typed(control):
        return frozenset({Consequence.PASSWORD} if consequences.is_password(control) else {Consequence.TERMINAL})
    return of_text("x\n" if control.keyboard.pasted is None else control.keyboard.pasted, control)


def of_drop(control: Control) -> Kinds:
    """Return the consequences of a drop on the control. Terminals and launchers take what is dropped as if it was
    typed.
    """
    if consequences.is_password(control):
        return frozenset({Consequence.PASSWORD})
    return frozenset({Consequence.TERMINAL} if runs_typed(control) else ())


def _breaks(text: str) -> bool:
    return any(sign in text for sign in _BREAKS)


def _at_focus(one: Pressed, control: Control, *, is_first: bool) -> Kinds:
    """Return the consequences of a chord at the control that has the keyboard."""
    if consequences.is_password(control):
        return _in_password(one, control)
    found: Kinds = frozenset()
    submits = () if _is_choosing(control) or _is_harmless_item(control) else ("submits",)
    if runs_typed(control) and one.holds(listed_chords("activates", "pastes", *submits)):
        found |= {Consequence.TERMINAL}
    if control.window.builds and one.holds(listed_chords("activates", "builds")):
        found |= {Consequence.LAUNCHES}
    is_item = control.window.opens_items and not _is_harmless_item(control)
    if is_item and one.holds(listed_chords("activates", "opens")) and not consequences.is_field(control):
        found |= {Consequence.LAUNCHES}
    if control.scene.is_menu_open:
        return found | _in_menu(one, control)
    if terminals.is_inside(control):
        return found | terminals.of_chord(one, control, is_first=is_first)
    if one.holds(listed_chords("activates", "pastes")):
        return found | of_paste(control) | _of_rest(one, control)
    if one.holds(listed_chords("activates", "submits")):
        return found | _of_return(control) | _of_rest(one, control)
    if one.holds(listed_chords("activates", "presses")) and not consequences.is_field(control):
        return found | consequences.press_of(control) | _of_rest(one, control)
    return found | _of_rest(one, control)


def _is_harmless_item(control: Control) -> bool:
    """Return whether Return opens a folder or a plain document of a file manager."""
    is_item = control.is_known and control.role in table("launchers")["items"] and control.role != ""
    return is_item and control.opens in table("launchers")["harmless"] and not control.window.is_terminal


def _is_choosing(control: Control) -> bool:
    """Return whether Return chooses the marked entry of an open menu. False in a terminal, which may take Return
    itself.
    """
    is_entry = control.scene.is_menu_open and control.role.endswith(_MENU)
    return is_entry and control.is_known and not control.window.is_terminal


def _in_password(one: Pressed, control: Control) -> Kinds:
    submits = listed_chords("activates", "submits")
    known = listed_chords("harmless", "password") | submits
    if not all(stroke.whole in known or stroke.key == "Return" for stroke in one.strokes):
        return frozenset({Consequence.PASSWORD})
    return frozenset({Consequence.PRIVILEGED}) | _of_return(control) if one.holds(submits) else frozenset()


def _in_menu(one: Pressed, control: Control) -> Kinds:
    """Return the consequences of keys in an open menu: they choose the marked entry, or the one they are bound to."""
    if one.holds(listed_chords("activates", "submits", "presses")):
        return consequences.press_of(control) | consequences.started_by(control.name, control)
    known = listed_chords("harmless", "menu")
    if all(stroke.whole in known for stroke in one.strokes):
        return frozenset()
    bound = _bound(one, control)
    return frozenset({Consequence.UNKNOWN}) | _perhaps_chosen(one, control) if bound is None else bound


def _any_entry(control: Control) -> Kinds:
    """Return the consequences of all entries of an open menu that marks none of them."""
    if control.scene.bindings is None:
        return frozenset({Consequence.UNKNOWN})
    entries = (binding for binding in control.scene.bindings if binding.role.endswith(_MENU))
    return frozenset().union(*(consequences.meaning_in(one.role, one.name, control) for one in entries))


def _perhaps_chosen(one: Pressed, control: Control) -> Kinds:
    """Return the consequences of menu entries that contain the letter and do not name their key."""
    signs = {stroke.key for stroke in one.strokes}
    found: set[Consequence] = set()
    for binding in control.scene.bindings or ():
        is_spelled = any(sign in consequences.comparable(binding.name) for sign in signs)
        if is_spelled and binding.role.endswith(_MENU) and not tuple(bound_combinations(binding.chord)):
            found |= consequences.meaning_in(binding.role, binding.name, control)
    return frozenset(found)


def _chosen_by(sign: str, control: Control) -> Kinds:
    """Return the consequences of a typed character in an open menu."""
    read = pressed("space" if sign == " " else "plus" if sign == "+" else sign)
    return frozenset().union(*(_in_menu(one, control) for one in read)) if read else frozenset({Consequence.UNKNOWN})


def _of_return(control: Control) -> Kinds:
    """Return the consequences of Return: it presses a focused button, submits a field, or confirms a dialog."""
    if not consequences.is_field(control):
        sends = consequences.sends_on_return(control) and not consequences.is_pressed_role(control.role)
        return (frozenset({Consequence.SUBMITS}) if sends else consequences.press_of(control)) | by_default(control)
    sent = frozenset({Consequence.SUBMITS}) if consequences.sends_on_return(control) else frozenset()
    return sent | by_default(control)


def by_default(control: Control) -> Kinds:
    """Return the consequences of pressing the default button. If none is known: those of the dialog and its worst
    button.
    """
    if control.scene.default:
        return consequences.meaning_in(_BUTTON, control.scene.default, control)
    words = control.scene.words
    is_asking = control.window.is_dialog and not consequences.is_news(control)
    said = consequences.words_of(words) | consequences.asked_by(words) if is_asking else frozenset()
    return said.union(*(consequences.meaning_in(_BUTTON, name, control) for name in perhaps_pressed(control)))


def perhaps_pressed(control: Control) -> tuple[str, ...]:
    """Return the buttons that Return may press beside the focused control, if the program names no default button.

    Fields of several lines and pages keep Return to themselves; programs that start others are judged without these.
    """
    keeps = _LINES_STATE in control.states and consequences.is_field(control)
    is_judged = control.window.runs_programs or consequences.sends_on_return(control)
    return () if keeps or is_judged else control.scene.buttons


def _of_rest(one: Pressed, control: Control) -> Kinds:
    """Return the consequences of strokes that neither submit, press nor paste: characters, and bound chords."""
    is_leaving = all(stroke.whole in listed_chords("harmless", "password") for stroke in one.strokes)
    found = set(terminals.of_setting(control.role, control) if not is_leaving else ())
    found |= consequences.of_leaving(control) if one.holds(listed_chords("activates", "leaves")) else frozenset()
    for stroke in one.strokes:
        if consequences.is_choice(control) and not stroke.whole.isdisjoint(table("controls")["choices"][control.role]):
            found |= consequences.choice_of(control)
        if _is_harmless(stroke, control) or _is_judged_before(stroke):
            continue
        bound = _bound(one, control)
        if bound is not None:
            found |= bound
        elif ALT not in stroke.held or _is_unresolved(control):
            is_running = is_blind_launcher(control) and _may_run(stroke)
            found.add(Consequence.TERMINAL if is_running else Consequence.UNKNOWN)
    return frozenset(found)


def _is_judged_before(stroke: Stroke) -> bool:
    return bool(stroke.whole & {"Return", "space"}) or stroke.whole in listed_chords("activates", "pastes")


def _is_harmless(stroke: Stroke, control: Control) -> bool:
    known = listed_chords("harmless", "anywhere")
    if consequences.sends_on_return(control) and not (
        consequences.is_field(control) or consequences.is_choice(control)
    ):
        known -= listed_chords("activates", "in_pages")
    if control.is_known:
        known |= listed_chords("harmless", "shortcuts")
    if consequences.sends_on_return(control):
        known |= listed_chords("harmless", "tabs")
    if consequences.is_field(control):
        known |= listed_chords("harmless", "field")
    return stroke.whole in known or (stroke.is_sign and consequences.is_field(control))


def _bound(one: Pressed, control: Control) -> Kinds | None:
    """Return the consequences of the controls that the window binds to a part of the chord; None if it binds none."""
    with_letters, bindings = control.scene.is_menu_open, control.scene.bindings or ()
    bound = [binding for binding in bindings if _is_bound(binding, one, with_letters=with_letters)]
    kinds = (consequences.meaning_in(each.role, each.name, control) for each in bound)
    started = (consequences.started_by(each.name, control) for each in bound)
    return frozenset().union(*kinds, *started) if bound else None


def _is_unresolved(control: Control) -> bool:
    """Return whether an unknown key (a mnemonic) may press a control with consequences."""
    if control.scene.bindings is None:
        return True
    open_ends = (binding for binding in control.scene.bindings if not tuple(bound_combinations(binding.chord)))
    return any(consequences.meaning_in(binding.role, binding.name, control) for binding in open_ends)


def _is_bound(binding: Binding, one: Pressed, *, with_letters: bool) -> bool:
    """Return whether the chord presses the control. A letter alone does so only in an open menu."""
    found = bound_combinations(binding.chord)
    return any(
        (keys - {ALT} if with_letters else keys) <= one.symbols for keys in found if len(keys) > 1 or with_letters
    )


def _of_signs(text: str, control: Control) -> set[Consequence]:
    """Return the consequences of typed characters. In a field, terminal or described surface they have none."""
    if control.scene.is_menu_open:
        return set().union(*(_chosen_by(sign, control) for sign in set(text)))
    if setting := terminals.of_setting(control.role, control):
        return set(setting)
    if control.window.is_terminal and (not consequences.is_field(control) or control.role == _TERMINAL):
        return set(terminals.of_letters(text, control))
    if consequences.is_field(control):
        return set()
    found: set[Consequence] = set()
    if " " in text and consequences.is_pressed_role(control.role):
        found |= consequences.press_of(control)
    is_surface = control.is_known and not consequences.is_pressed_role(control.role)
    is_seen = consequences.sends_on_return(control) or control.scene.has_password
    is_quiet = is_surface and (control.window.is_launcher or not is_seen)
    return found if is_quiet else found | {Consequence.UNKNOWN}


def _anywhere(one: Pressed, own: frozenset[Combination]) -> Kinds:
    """Return the consequences that a chord has whichever control has the keyboard. `own` are Wisp's own keys."""
    found = {Consequence(kind) for kind in table("keys")["kinds"] if one.holds(listed_chords("kinds", kind))}
    return frozenset(found | ({Consequence.SESSION} if one.holds(own) else set()))
