"""Calls to the computer tools as the executor makes them, and what the rest of the system sees of them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from app.desktop.desktop import Desktop
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import ToolSpec
from app.tools.computer import COMPUTER, Computer
from app.tools.registry import Admit, Registry, TurnContext, admitted
from app.tools.watching import WATCHING, Watching
from app.tools.windows import WINDOWS, WindowTools


class Tools:
    """`await tools("computer_click", x=3, y=4)` runs the handler of that name; errors rise. `admit` is the gate."""

    def __init__(self, desktop: Desktop, admit: Admit = admitted) -> None:
        self.desktop = desktop
        self._admit = admit
        self.registry = Registry(COMPUTER, WINDOWS, WATCHING)
        self._handlers = {Computer: Computer(desktop), WindowTools: WindowTools(desktop), Watching: Watching(desktop)}

    async def __call__(
        self, tool: str, arguments: Mapping[str, JsonValue] | None = None, /, **more: JsonValue
    ) -> ToolResult:
        spec = self._spec(tool)
        given = {**(arguments or {}), **more}
        unknown = [argument for argument in given if spec.param(argument) is None]
        assert not unknown, f"{tool} has no {unknown}"
        handler = self._handlers[self.registry.handler_of(tool)]
        turn = TurnContext(self._admit, "1", turn_id="t1")
        return await spec.execute(handler, ToolCall("1", tool, given), turn)

    def _spec(self, name: str) -> ToolSpec:
        spec = self.registry.find(name)
        assert spec is not None, name
        return spec


def pointer_by_xdotool(environment: Mapping[str, str]) -> tuple[int, int]:
    """Where another program says the pointer is."""
    told = subprocess.run(
        ["xdotool", "getmouselocation", "--shell"], env=dict(environment), capture_output=True, text=True, check=True
    ).stdout
    found = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
    return int(found["X"]), int(found["Y"])
