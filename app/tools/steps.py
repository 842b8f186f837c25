"""The steps of one call: what follows a change of window or focus is judged like a call of its own."""

from __future__ import annotations

from enum import Enum

from app.base.errors import ToolFailed
from app.desktop.key_target import KeyTarget
from app.desktop.seat import Seat
from app.protocol.call import ToolCall
from app.tools.context import Admit


class Move(Enum):
    """Where the keyboard may have gone since the step before."""

    NOWHERE = "nowhere"
    """Another window stops the rest, also one of the same program."""
    SAME_PROGRAM = "same program"
    ANYWHERE = "anywhere"
    """The step before was sent to change the window."""


class Steps:
    """Asked before each step of a call that presses keys or types. `admit` judges the rest under the action's name.

    The gate judged the whole call by what had the keyboard then. While that is still so, every step is judged.
    """

    def __init__(self, seat: Seat, call: ToolCall, admit: Admit) -> None:
        self._seat = seat
        self._admit = admit
        self._judged = seat.key_targets.take(call.id)

    async def before(self, rest: ToolCall, may_move: Move) -> bool:
        """Return when the first step of the rest may be sent, at once: True where a line break would only add a line.

        Raises ToolFailed with the sentence that says why it may not.
        """
        targets = self._seat.key_targets
        now = await targets.now(self._judged)
        if self._judged is None:
            self._judged = now
        if now != self._judged:
            self._check_move(self._judged, now, may_move)
            if refusal := await self._admit(rest):
                raise ToolFailed(refusal)
            self._judged = targets.take(rest.id) or await targets.now(now)
        if not targets.is_still(self._judged):
            raise ToolFailed("The keyboard went to another window at this moment.")
        return self._judged.takes_lines

    def _check_move(self, was: KeyTarget, now: KeyTarget, may_move: Move) -> None:
        if not was.is_elsewhere(now) or may_move is Move.ANYWHERE:
            return
        if may_move is Move.NOWHERE or self._pid(was) != self._pid(now) or not self._pid(now):
            raise ToolFailed(f"The keyboard went from {was.title!r} to {now.title!r}.")

    def _pid(self, target: KeyTarget) -> int:
        windows = self._seat.backend.windows.all()
        return next((window.pid for window in windows if window.ref == target.landing.window), 0)
