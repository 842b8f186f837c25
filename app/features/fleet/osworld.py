"""A private desktop behind the surface of OSWorld's `DesktopEnv`, so that the loop of such a runner works unchanged.

The methods, their arguments and what they return are as there. Whatever asks OSWorld's virtual machine itself
(`env.controller`, its metrics) is not: `judge` takes the place of the metrics.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from app.base.errors import WispError
from app.features.fleet import actions
from app.features.fleet.benchmark import ActionFailed, Desktop, Observation

_COMMANDS = ("command", "execute", "launch")
_SLEEP = "sleep"
_INFEASIBLE = "infeasible"

Judge = Callable[[Desktop, Mapping[str, Any]], float]
"""Returns the score of a task on the desktop as it is at the end, from 0 to 1."""


class DesktopEnv:
    """`judge` scores a task that was ended by anything but FAIL. `options` are those of `Desktop`.

    Actions of every kind are understood, whatever `action_space` is.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        action_space: str = "pyautogui",
        screen_size: tuple[int, int] = (1920, 1080),
        require_a11y_tree: bool = True,
        **options: Any,
    ) -> None:
        self.desktop = Desktop(width=screen_size[0], height=screen_size[1], **options)
        self.action_space, self.vm_platform = action_space, "Linux"
        self.vm_screen_size = {"width": screen_size[0], "height": screen_size[1]}
        self._judge, self._has_tree = judge, require_a11y_tree
        self._task: Mapping[str, Any] = {}

    def reset(self, task_config: Mapping[str, Any] | None = None, **_unused: object) -> dict[str, Any]:
        """Begin a task on a fresh desktop. Raises WispError if a step of its `config` is not possible or fails."""
        self._task = task_config or {}
        setup = "\n".join(_command(one) for one in self._task.get("config", ()))
        return self._told(self.desktop.reset(setup=setup, instruction=self._task.get("instruction", "")))

    def step(
        self, action: str | Mapping[str, Any], pause: float = 2.0
    ) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        """Return the observation after an action, the reward (always 0), whether the episode is done, and more.

        An action that fails ends nothing; `error` in the last value says why. `pause` (s) is waited afterwards.
        """
        info: dict[str, Any] = {}
        try:
            seen = self.desktop.act(action)
        except ActionFailed as error:
            seen, info = self.desktop.observe(), {"error": str(error)}
        if self.desktop.ended:
            return self._told(seen), 0.0, True, {self.desktop.ended.lower(): True}
        if pause:
            seen = self.desktop.act({"action_type": actions.WAIT, "seconds": pause})
        return self._told(seen), 0.0, False, info

    def evaluate(self) -> float:
        is_infeasible = self._task.get("evaluator", {}).get("func") == _INFEASIBLE
        if is_infeasible or self.desktop.ended == actions.FAIL:
            return float(is_infeasible and self.desktop.ended == actions.FAIL)
        return self._judge(self.desktop, self._task)

    def close(self) -> None:
        self.desktop.close()

    def _get_obs(self) -> dict[str, Any]:
        """Runners call it, although OSWorld does not name it as public."""
        return self._told(self.desktop.observe())

    def _told(self, seen: Observation) -> dict[str, Any]:
        tree = seen.tree if self._has_tree else None
        told = {"screenshot": seen.picture, "accessibility_tree": tree}
        return {**told, "terminal": None, "instruction": seen.instruction}


def _command(step: Mapping[str, Any]) -> str:
    """Return a line for `sh` that does a step of a task's `config`. Programs that are launched stay."""
    kind, given = step["type"], step.get("parameters", {})
    if kind == _SLEEP:
        return f"sleep {float(given['seconds'])}"
    if kind not in _COMMANDS:
        raise WispError(f"The step {kind!r} of a task's config is not possible; {', '.join((*_COMMANDS, _SLEEP))} are.")
    command = given["command"]
    line = command if isinstance(command, str) else shlex.join(command)
    return f"({line}) &" if kind == "launch" else f"({line}) || exit"
