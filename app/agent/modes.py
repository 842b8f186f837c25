"""Which mode counts, told whenever it changes: also when yolo ends by itself. And what is wrong with the rules."""

from __future__ import annotations

import asyncio

from app.agent.events import ModeChanged, Notice
from app.agent.policy import Mode, Policy
from app.agent.turn import Tell

_SOONEST_S = 0.05


class Modes:
    """All methods belong to the event loop's thread."""

    def __init__(self, policy: Policy, tell: Tell) -> None:
        self._policy = policy
        self._tell = tell
        self._told = Mode.ASK
        self._problems = list(policy.book.problems)
        self._watch: asyncio.TimerHandle | None = None

    def switch(self, mode: Mode) -> None:
        """The person chose another mode."""
        self._policy.switch(mode)
        self._say()

    def look(self) -> None:
        """Tell what is wrong with the rules, once, and the mode where it is another than the one told last."""
        problems, self._problems = self._problems, []
        for problem in problems:
            self._tell(Notice("warning", problem))
        if self._policy.mode is not self._told:
            self._say()

    def close(self) -> None:
        """Tell nothing any more."""
        if self._watch:
            self._watch.cancel()
            self._watch = None

    def _say(self) -> None:
        self.close()
        self._told, left_s = self._policy.mode, self._policy.yolo_left_s
        self._tell(ModeChanged(self._told.value, left_s))
        if left_s:
            self._watch = asyncio.get_running_loop().call_later(left_s + _SOONEST_S, self.look)
