"""Commands with the wall around them, and what the policy is told about them."""

from __future__ import annotations

import os
from pathlib import Path

from app.base import paths
from app.base.clock import Clock
from app.services.processes.deletions import Deletions
from app.services.processes.processes import Processes
from app.services.sandbox import choose
from app.services.sandbox.enclosure import Wall
from app.services.workspace.places import Workspace
from app.settings.catalog import COMMANDS
from app.settings.store import Settings
from app.tools.judging import CommandJudge
from app.wiring.tools import checkpoints, workspace_of


def wall_of(settings: Settings) -> Wall:
    """What keeps commands inside the workspace; it knows itself whether it can stand here."""
    return choose.wall(workspace_of(settings), wanted=settings[COMMANDS] == "sandbox")


def commands_of(settings: Settings, clock: Clock) -> tuple[Processes, CommandJudge]:
    """The commands of this person, those of earlier starts included, and their judge: both know the same wall."""
    wall = wall_of(settings)
    deletions = Deletions(Path(os.path.realpath(workspace_of(settings))), checkpoints())
    processes = Processes(paths.state_dir() / "commands", clock, wall=wall, deletions=deletions)
    return processes, CommandJudge(Workspace(workspace_of(settings)), processes, wall.missing)
