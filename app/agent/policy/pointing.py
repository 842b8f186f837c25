"""Say what an act at a place does: a click, a press, a drag, a wheel, a value that is set, an item that is opened."""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.policy import consequences, keystrokes, terminals
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control, Kinds
from app.protocol.call import ToolCall
from app.protocol.spec import Gesture, ToolSpec
from app.services.files.document_kinds import DocumentKind

_HARMLESS = frozenset({DocumentKind.FOLDER.value, DocumentKind.PLAIN.value})
_ACTIVE = frozenset({DocumentKind.RUNS.value, DocumentKind.LOADS.value})


_CHOICES = frozenset({Gesture.CLICK, Gesture.PRESS, Gesture.CHOOSE})
"""What starts an entry or a button of a program that starts others."""
_BUTTON = "button"
_HEARD = frozenset({Consequence.OUTWARD, Consequence.IRREVERSIBLE, Consequence.PRIVILEGED})
"""What a page may do as soon as the pointer is over a control that says so."""


def of_opening(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> Kinds:
    """Return the consequences of opening an item. A known folder or plain document has none."""
    control = seen[-1] if seen else Control()
    if control.opens in _HARMLESS:
        return frozenset()
    starts = control.window.opens_items
    started = consequences.started_by(control.name, control) if spec.gesture in _CHOICES else frozenset[Consequence]()
    return started | frozenset({Consequence.LAUNCHES} if starts and _opens(call, spec, seen) else ())


def _opens(call: ToolCall, spec: ToolSpec, seen: Sequence[Control]) -> bool:
    """Return whether the gesture opens an item. A single click counts only on an item that can run."""
    control, count = seen[-1], call.arguments.get("count", 1)
    if spec.gesture is Gesture.CLICK:
        return isinstance(count, int) and (count > 1 or control.opens in _ACTIVE)
    # Letting a button go is a click, and twice a double click; so is a drag from an item to itself.
    is_in_place = spec.gesture is Gesture.DRAG and len(seen) > 1 and all(each == control for each in seen)
    is_click = control.name != "" and (is_in_place or spec.gesture is Gesture.RELEASE)
    return (is_click or spec.gesture is Gesture.PRESS) and control.role in table("launchers")["items"]


def of_pointing(call: ToolCall, spec: ToolSpec, seen: Sequence[Control], text: str) -> Kinds:
    """Return the consequences of a gesture on the controls in `seen`. `text` is the value that the call sets."""
    control, is_middle = seen[-1], call.text("button") == "middle"
    if call.text("modifiers") and any(map(terminals.is_inside, seen)):  # because ctrl opens an address, or a menu
        return consequences.press_of(control) | {Consequence.TERMINAL}
    if spec.gesture is Gesture.SCROLL:
        return consequences.choice_of(control) if consequences.is_choice(control) else frozenset()
    if spec.gesture is Gesture.HOVER:
        return consequences.press_of(control) & _HEARD if consequences.sends_on_return(control) else frozenset()
    if text:
        return _of_value(text, control)
    if slides := [one for one in seen if one.role in table("controls")["pages"]["slides"]]:
        return frozenset().union(*map(consequences.choice_of, slides))
    if spec.gesture is Gesture.DRAG:
        return _of_drag(seen) | (frozenset().union(*map(_of_middle_click, seen)) if is_middle else frozenset())
    if spec.gesture is Gesture.RELEASE:
        return _of_release(control) | (_of_middle_click(control) if is_middle else frozenset())
    chosen = _of_choosing(control) if call.integer("count", 1) > 1 else frozenset[Consequence]()
    return _of_middle_click(control) if is_middle else consequences.press_of(control) | chosen


def _of_choosing(control: Control) -> Kinds:
    """Return the consequences of a double click on an item of a dialog: it chooses the item and gives the default
    answer.
    """
    is_asking = control.window.is_dialog or control.scene.words
    if is_asking and control.name and control.role in table("launchers")["items"]:
        return consequences.own_meaning(_BUTTON, control.name, control) | keystrokes.by_default(control)
    return frozenset()


def _of_value(text: str, control: Control) -> Kinds:
    """Return the consequences of setting a field, a box or a choice to the value `text`."""
    if consequences.is_password(control):
        return frozenset({Consequence.PASSWORD})
    return keystrokes.of_text(text, control) if consequences.is_field(control) else consequences.press_of(control)


def _of_middle_click(control: Control) -> Kinds:
    """Return the consequences of a middle click: it pastes into fields and terminals, and presses other controls."""
    if consequences.is_password(control) or consequences.is_field(control) or keystrokes.runs_typed(control):
        return keystrokes.of_paste(control)
    return consequences.press_of(control)


def _of_drag(seen: Sequence[Control]) -> Kinds:
    """Return the consequences of a drag: a press at its start, a drop at its end. Selecting text has none."""
    start, end = seen[0], seen[-1]
    if start.window.is_frame:
        return frozenset()
    found: set[Consequence] = set().union(*map(consequences.press_of, seen))
    is_selection = (start.window.place, start.role, start.name) == (end.window.place, end.role, end.name)
    if len(seen) > 1 and not is_selection:
        found |= keystrokes.of_drop(end)
    return frozenset(found)


def _of_release(control: Control) -> Kinds:
    """Judge the release of a button. What is dragged is unknown, so in a terminal it may drop a command."""
    dropped = keystrokes.of_drop(control)
    if Consequence.PASSWORD in dropped:
        return dropped
    return consequences.press_of(control) | (frozenset({Consequence.UNKNOWN}) if dropped else frozenset())
