"""What clicks, presses, drags, drops and values do to the controls that they reach."""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.policy import consequences
from app.agent.policy.values import Consequence, Control
from app.protocol.call import ToolCall

_MENU_ITEM = "menu item"


def of_pointing(call: ToolCall, aim: str, seen: Sequence[Control], text: str) -> frozenset[str]:
    """What the call comes to, by how it acts (`aim`) and on what. `text` is a value that it sets."""
    control = seen[-1]
    if text:
        return of_value(text, control)
    if aim == "ends":
        is_middle = call.text("button") == "middle"
        return of_drag(seen) | (frozenset().union(*map(of_middle_click, seen)) if is_middle else frozenset())
    if call.name == "mouse_up":
        pasted = of_middle_click(control) if call.text("button") == "middle" else frozenset()
        return of_release(control) | pasted
    if call.text("button") == "middle":
        return of_middle_click(control)
    return consequences.press_of(control)


def of_way(path: str) -> frozenset[str]:
    """A way through menus: every part of it is pressed. What is really found is judged again at each step."""
    parts = [part.strip() for part in path.replace("›", ">").split(">")]
    return frozenset().union(*(consequences.meaning_of(_MENU_ITEM, part) for part in parts))


def of_value(text: str, control: Control) -> frozenset[str]:
    """A value that a field, a box or a choice is set to."""
    if consequences.is_password(control):
        return frozenset({"password"})
    pressed = frozenset() if consequences.is_field(control) else consequences.press_of(control)
    return pressed | (consequences.of_text(text, control) if consequences.is_field(control) else frozenset())


def of_middle_click(control: Control) -> frozenset[str]:
    """It pastes the selection into fields and terminals; elsewhere it is a press."""
    if consequences.is_password(control) or consequences.is_field(control) or control.runs_programs:
        return consequences.of_paste(control)
    return consequences.press_of(control)


def of_drag(seen: Sequence[Control]) -> frozenset[str]:
    """A press at the start and a drop at the end; within one control it only selects."""
    start, end = seen[0], seen[-1]
    found: set[str] = set()
    for control in seen:
        found |= consequences.press_of(control)
    is_selection = (start.place, start.role, start.name) == (end.place, end.role, end.name)
    if len(seen) > 1 and not is_selection:
        found |= consequences.of_drop(end)
    return frozenset(found)


def of_release(control: Control) -> frozenset[str]:
    """Judge the release of a button. What is dragged is unknown, so in a terminal it may drop a command."""
    dropped = consequences.of_drop(control)
    if "password" in dropped:
        return dropped
    return consequences.press_of(control) | (frozenset({Consequence.UNKNOWN}) if dropped else frozenset())
