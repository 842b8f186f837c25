"""What the next key would reach, looked at again at every step of a sequence. Lives on the desktop thread.

A full look at a program's tree takes tens of milliseconds. Where nothing of the window changed, it is enough that the
control which was seen with the keyboard says that it still has it; that is one question to one program.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from app.base.errors import ToolFailed
from app.base.values import dataclass
from app.desktop.backends import Backend, Landing, Window
from app.desktop.elements import Element
from app.desktop.keys import Taker

_LIMIT_S = 0.4
"""A program that does not answer in this time is not waited for; what it has is not known."""
_LATE_S = 0.06
_LATE_LOOKS = 4
_REMEMBERED = 64
_MULTI_LINE = "multi-line"
_TERMINAL = "terminal"
_FIELDS = frozenset({"entry", "text"})
_HOLDERS = frozenset(
    {
        "check box", "combo box", "date editor", "editbar", "entry", "paragraph", "password text", "push button",
        "radio button", "slider", "spin button", "terminal", "text", "toggle button",
    }
)  # fmt: skip
"""Roles whose state tells all there is to know; in lists and menus the keyboard moves while the list keeps it."""


@dataclass(frozen=True, slots=True)
class KeyTarget:
    """`title` is the window's; `control` is the ref, role and name of what has the keyboard there, None where the
    program tells of nothing. `is_known`: it has answered. `takes_lines`: a line break there is one more line.
    `is_field`: it is a text field that shows what is in it and lets it be changed.
    """

    landing: Landing
    title: str = ""
    control: tuple[str, str, str] | None = None
    is_known: bool = True
    takes_lines: bool = False
    is_field: bool = False

    @property
    def taker(self) -> Taker:
        """What takes a text there."""
        if self.takes_lines:
            return Taker.LINES
        is_entry = self.control is not None and self.control[1] in _HOLDERS and self.control[1] != _TERMINAL
        return Taker.ENTRY if is_entry else Taker.OTHER

    def is_elsewhere(self, other: KeyTarget) -> bool:
        """Whether it is another window."""
        return self.landing.window != other.landing.window


class KeyTargets:
    """Looks, and keeps by call what the gate judged."""

    def __init__(self, backend: Backend, worked_off: Callable[[], Awaitable[bool]]) -> None:
        self._backend = backend
        self._worked_off = worked_off
        self._kept: OrderedDict[str, KeyTarget] = OrderedDict()

    def keep(self, call_id: str, element: Element | None, *, is_known: bool) -> None:
        """The call was judged by this control; where keys go now is taken down with it."""
        self._kept[call_id] = self._target(element, is_known=is_known)
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)

    def take(self, call_id: str) -> KeyTarget | None:
        """Remove and return the target that the policy judged the call by, or None if it did not judge."""
        return self._kept.pop(call_id, None)

    async def now(self, before: KeyTarget | None = None) -> KeyTarget:
        """What the next key would reach. `before` where that still holds; while keys are on their way, unknown."""
        if not await self._worked_off():
            return self._target(None, is_known=False)
        if before is not None and self._is_window_of(before) and await self._still_holds(before):
            return before
        try:
            async with asyncio.timeout(_LIMIT_S):
                found = await self._backend.accessibility.focused()
        except (ToolFailed, TimeoutError):  # so that the policy judges an unknown target as unknown
            return self._target(None, is_known=False)
        return self._target(found, is_known=True)

    async def left(self, before: KeyTarget) -> KeyTarget:
        """What the next key would reach after one that may take the keyboard elsewhere: programs tell of that late."""
        for _ in range(_LATE_LOOKS):
            now = await self.now(before)
            if now != before:
                return now
            await asyncio.sleep(_LATE_S / _LATE_LOOKS)
        return before

    def is_still(self, target: KeyTarget) -> bool:
        """Whether the same window has the keyboard at this moment."""
        return self._backend.windows.keyboard() == target.landing

    async def _still_holds(self, before: KeyTarget) -> bool:
        if before.control is None or before.control[1] not in _HOLDERS:
            return False
        try:
            async with asyncio.timeout(_LIMIT_S):
                has_it = await self._backend.accessibility.has_keyboard(before.control[0])
        except (ToolFailed, TimeoutError):  # so that the target is read again
            return False
        return has_it and self._is_window_of(before)

    def _is_window_of(self, before: KeyTarget) -> bool:
        landing = self._backend.windows.keyboard()
        window = self._window(landing)
        return landing == before.landing and (window.title if window else "") == before.title

    def _target(self, element: Element | None, *, is_known: bool) -> KeyTarget:
        landing = self._backend.windows.keyboard()
        window = self._window(landing)
        if element is not None and window is not None and element.pid not in (0, window.pid):
            element = None
        control = (element.ref, element.role, element.name) if element else None
        takes_lines = element is not None and _MULTI_LINE in element.states
        is_field = element is not None and element.is_("editable") and element.role in _FIELDS
        return KeyTarget(landing, window.title if window else "", control, is_known, takes_lines, is_field)

    def _window(self, landing: Landing) -> Window | None:
        return next((window for window in self._backend.windows.all() if window.ref == landing.window), None)
