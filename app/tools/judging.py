"""Tells the policy what a call's command would be, from what its arguments resolve to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.base.errors import WispError
from app.protocol.call import ToolCall
from app.services.processes.processes import Processes
from app.services.sandbox.classes import CommandClass, Wishes, classify
from app.services.workspace.places import Workspace

_WRITTEN_TO = "It types into a command that runs already."


class CommandJudge:
    """`no_wall` says in a sentence why commands run without the wall here; empty where it stands."""

    def __init__(self, workspace: Workspace, processes: Processes, no_wall: Callable[[], str]) -> None:
        self._workspace = workspace
        self._processes = processes
        self._no_wall = no_wall

    def classify(self, call: ToolCall) -> CommandClass | None:
        """The class of a call that starts a command or types into one; None for every other call."""
        if call.name == "execute_command":
            return self._started(call)
        return self._typed(call) if call.name == "send_command_input" else None

    def _started(self, call: ToolCall) -> CommandClass:
        wishes = Wishes(network=call.flag("network"), outside=call.flag("outside"))
        cwd = self._cwd(call)
        return classify(call.text("command"), cwd, self._workspace.folder, wishes, no_wall=self._no_wall())

    def _cwd(self, call: ToolCall) -> Path:
        """A folder that is none counts as outside; the call itself will be told."""
        try:
            return self._workspace.locate(call.text("cwd", "."), "cwd").path
        except WispError:
            return Path(self._workspace.folder.anchor)

    def _typed(self, call: ToolCall) -> CommandClass:
        """As the command that it types into: behind the wall or not."""
        try:
            record = self._processes.find(call.text("run_id")).record
        except WispError as error:
            return CommandClass(False, False, False, True, (str(error),))
        return CommandClass(False, record.walled, record.network, not record.walled, (_WRITTEN_TO,))
