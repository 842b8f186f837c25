"""Find controls whose names say that they send, pay or delete for good. One table, in English and German.

This is a courtesy and no wall: such a control is asked about once, unless the person's sentence has that word or name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from app.agent.policy.chords import Pressed, listed_chords
from app.agent.policy.values import Control
from app.base import resources
from app.protocol.spec import PASSING, Gesture, ScreenAim, ToolSpec

_WORD = re.compile(r"\w+")
_MOST_WORDS = 6
"""A longer name is a sentence, such as a row in a list of mails. What a page asks is always one."""
_QUESTION = "alert"
_PRESSED = frozenset(
    {"", "button", "push button", "toggle button", "menu item", "link", "icon", "image", "label", "page tab", _QUESTION}
)


def pressed_label(spec: ToolSpec, control: Control, keys: Sequence[Pressed]) -> str:
    """The name of the control that a call presses, if that name is in the table; else ""."""
    if spec.aim is ScreenAim.FOCUS:
        is_button = "button" in control.role
        presses = any(one.holds(listed_chords("submits")) for one in keys)
        label = control.name if is_button else control.default
        presses = presses or (is_button and any(one.holds(listed_chords("presses")) for one in keys))
    else:
        is_press = spec.gesture is not None and spec.gesture not in {*PASSING, Gesture.SET, Gesture.DRAG}
        presses, label = is_press and control.role in _PRESSED, control.name
    is_short = control.role == _QUESTION or len(_WORD.findall(label)) <= _MOST_WORDS
    return label if presses and is_short and next(stems_in(label), "") else ""


def stems_in(label: str) -> Iterator[str]:
    """Yield the beginnings of words in the table that a name contains."""
    text = " ".join(_WORD.findall(label.casefold()))
    yield from (stem for stem in _stems() if re.search(rf"\b{stem}", text))


@cache
def _stems() -> tuple[str, ...]:
    table = resources.table("policy/buttons.toml", resources.Table)
    return tuple(re.escape(stem).replace(r"\ ", " ") for stems in table["stems"].values() for stem in stems)
