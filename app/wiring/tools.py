"""Which tools there are, and what each family's handler is given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app.agent.conversation import Conversation
from app.base import paths
from app.base.clock import Clock
from app.base.errors import NeedsPerson
from app.desktop.desk import Desktop
from app.services.checkpoints.store import Checkpoints
from app.services.processes.processes import Processes
from app.services.tasks.checklist import Checklist
from app.services.web.pages import Pages
from app.services.workspace import protected
from app.services.workspace.changes import Changes
from app.services.workspace.places import Workspace
from app.settings.catalog import WORKSPACE
from app.settings.store import Settings
from app.tools.code import CODE, Code
from app.tools.computer import COMPUTER, Computer
from app.tools.edit import EDITS, Edits
from app.tools.exec import COMMANDS, Commands
from app.tools.file import FILES, Files
from app.tools.goals import GOALS, Goals
from app.tools.pictures import Sight
from app.tools.registry import Registry
from app.tools.say import SAY, Voice
from app.tools.screen import SCREEN, ScreenReading
from app.tools.search import SEARCH, Searches
from app.tools.tasks import TASKS, Tasks
from app.tools.until import WAITS, Waits
from app.tools.watching import WATCHING, Watching
from app.tools.web import WEB, Web
from app.tools.windows import WINDOWS, Windows


def registry() -> Registry:
    """The shapes of all tools; no service is opened for it."""
    return Registry(
        *(SAY, WATCHING, COMPUTER, SCREEN, WINDOWS, GOALS),
        *(FILES, EDITS, SEARCH, CODE, COMMANDS, WAITS, WEB, TASKS),
    )


def nearby() -> Registry:
    """The tools that a goal is pursued with: the screen, and words to end with."""
    return Registry(SAY, WATCHING, COMPUTER, SCREEN, WINDOWS)


def checkpoints() -> Checkpoints:
    """The copies that make changes of files undoable, shared by all sessions of this person."""
    return Checkpoints(paths.data_dir() / "checkpoints")


def workspace_of(settings: Settings) -> Path:
    """The folder it works in: the one that was chosen, else `Wisp` in the home folder, which is made for that."""
    chosen = _chosen_workspace(settings)
    if not protected.why_no_workspace(chosen, _home()):
        return chosen
    own = _home() / str(protected.table()["workspace"]["default"])
    try:
        own.mkdir(exist_ok=True)
    except OSError as error:
        raise NeedsPerson(
            f"Wisp needs a folder to work in, and {own} cannot be made ({error.strerror}). "
            "Name another one: wisp --workspace FOLDER"
        ) from error
    return own


def why_moved(settings: Settings) -> str:
    """Why it works in another folder than it was started in or given, as a sentence; empty where it does not."""
    chosen = _chosen_workspace(settings)
    why = protected.why_no_workspace(chosen, _home())
    if not why:
        return ""
    return (
        f"{chosen} {why}, which is no folder to work in: Wisp works in {workspace_of(settings)}. "
        "Choose another one with --workspace or in the settings (files.workspace)."
    )


def _chosen_workspace(settings: Settings) -> Path:
    chosen = Path(settings[WORKSPACE]).expanduser() if settings[WORKSPACE] else Path.cwd()
    return Path(os.path.realpath(chosen))


def _home() -> Path:
    return Path(os.path.realpath(Path.home()))


@dataclass(frozen=True, slots=True)
class Belongings:
    """What the handlers are given: the desktop, the files and commands, the conversation and its checklist.

    `sight` is how the model in use sees.
    """

    desktop: Desktop
    workspace: Workspace
    changes: Changes
    processes: Processes
    clock: Clock
    conversation: Conversation
    checklist: Checklist
    sight: Sight


def handlers(own: Belongings) -> tuple[object, ...]:
    """The objects that run the tools, one for each family."""
    desktop, clock, workspace, processes = own.desktop, own.clock, own.workspace, own.processes
    return (
        Voice(),
        Watching(desktop, own.sight),
        Computer(desktop, own.sight),
        Goals(desktop, own.sight),
        ScreenReading(desktop, own.sight),
        Windows(desktop),
        Files(workspace),
        Edits(workspace, own.changes),
        Searches(workspace),
        Code(workspace),
        Commands(workspace, processes, clock, own.conversation.is_yolo),
        Waits(workspace, processes, clock),
        Web(Pages()),
        Tasks(own.conversation, own.checklist),
    )
