"""Which tools there are, and what each family's handler is given."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from app.agent.deps import ConversationRequests
from app.agent.policy import Mode, Policy
from app.agent.policy.call_analysis import CommandClassifier, NobodyKnows
from app.agent.policy.policy import PolicyDeps
from app.base import paths, resources
from app.base.clock import Clock
from app.base.errors import WispError
from app.base.values import dataclass
from app.desktop.backends import App, Window
from app.desktop.choose import programs_here, windows_here
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.privacy import private_by
from app.desktop.programs import names_of
from app.features import loading
from app.features.opened import OpenFeatures
from app.providers.offline import Look
from app.providers.offline.world import World
from app.services.files import survey
from app.services.files.changes import Changes
from app.services.files.checkpoints import standard_checkpoints
from app.services.files.moving import Moves
from app.services.files.packing import Packing
from app.services.files.places import Workspace, is_named_secret
from app.services.files.workspace import workspace_of
from app.services.processes.commands import Processes
from app.services.processes.deletions import Deletions
from app.services.sandbox import bubblewrap
from app.services.sandbox.layout import Sandbox
from app.services.tasks import Checklist
from app.services.themes import Appearance
from app.services.web.pages import Pages
from app.settings.catalog import COMMAND_SANDBOX, LANGUAGE, MODE, PRIVATE_WINDOWS, STOP_KEY, SUMMON_KEY, YOLO_MINUTES
from app.settings.store import Settings
from app.tools.archives import ARCHIVES, Archives
from app.tools.computer import COMPUTER, Computer
from app.tools.conversation import SAY, TASKS, Speech, Tasks
from app.tools.edit import EDITS, Edits, Undoable
from app.tools.exec import COMMANDS, WAITS, CommandJudge, Commands, Waits
from app.tools.file import ARRANGEMENTS, FILES, Arrangements, Files, SurfaceReader
from app.tools.pictures import ModelSight
from app.tools.registry import DOCS, Registry, ToolDocs
from app.tools.screen import SCREEN, ScreenReading
from app.tools.search import CODE, SEARCH, Code, Searches
from app.tools.sharing import DesktopSharing
from app.tools.subagent import GOALS, Goals
from app.tools.viewing import VIEWING, Viewing
from app.tools.watching import WATCHING, Watching
from app.tools.windows import WINDOWS, OwnApps, WindowTools


def registry() -> Registry:
    """All tools, those of the features included. Opens no service."""
    families = [
        *(SAY, DOCS, WATCHING, COMPUTER, SCREEN, WINDOWS, GOALS),
        *(FILES, EDITS, SEARCH, CODE, VIEWING, ARRANGEMENTS, ARCHIVES, COMMANDS, WAITS, TASKS),
    ]
    tools = Registry(*families)
    for feature, added in loading.each(lambda feature: tuple(feature.families())):
        try:
            tools = Registry(*families, *added)
        except ValueError as error:  # because a tool of somebody else may have the name of another one
            loading.note_problem(feature.name, error)
        else:
            families += added
    return tools


def nearby() -> Registry:
    """Return the tools of a subagent that pursues a goal: it can use the screen, speak, and end."""
    return Registry(SAY, WATCHING, COMPUTER, SCREEN, WINDOWS)


def undoables(*, has_screen: bool) -> list[Undoable]:
    """Return everything but files whose changes can be undone."""
    added = loading.each(lambda feature: tuple(feature.undoables(has_screen=has_screen)))
    return [Appearance(), *(one for _, several in added for one in several)]


def looking(desktop: Desktop, settings: Settings) -> Look:
    """Return what tells the offline provider which programs, windows, tools and things of Wisp's own there are now."""

    async def look() -> World:
        try:
            there = await asyncio.wait_for(desktop.glance(_there), _GLANCE_S)
        except (WispError, OSError, TimeoutError):  # because programs, files and apps are there all the same
            there = (programs_here().installed(), ())
        return await asyncio.to_thread(world_of, *there, settings)

    return look


_GLANCE_S = 2.0


def looking_only(settings: Settings) -> Look:
    """Return what tells the same of this machine where the desktop itself is none that acts."""

    async def look() -> World:
        return await asyncio.to_thread(world_here, settings)

    return look


async def _there(controller: DesktopController) -> tuple[Sequence[App], Sequence[Window]]:
    return controller.backend.apps.installed(), controller.backend.windows.all()


def world_here(settings: Settings) -> World:
    """Return what a sentence may name on this machine. Blocks."""
    private = private_by(settings[PRIVATE_WINDOWS], is_named_secret)
    return world_of(programs_here().installed(), windows_here(private), settings)


def world_of(programs: Sequence[App], windows: Sequence[Window], settings: Settings) -> World:
    """Return what a sentence may name. Blocks."""
    own = loading.each(lambda feature: tuple(feature.named()))
    return World(
        programs=names_of(programs),
        windows=tuple((window.title, window.app) for window in windows if not window.is_own),
        apps=tuple(one for _, named in own for one in named),
        tools=frozenset(spec.name for spec in registry()),
        unready=_unready,
        workspace=str(workspace_of(settings)),
    )


def _unready() -> frozenset[str]:
    return frozenset(name for _, names in loading.each(lambda feature: tuple(feature.unready())) for name in names)


@dataclass(frozen=True, slots=True)
class Belongings:
    """The parts that the tool handlers use: desktop, files, commands, conversation, checklist and others.

    `sharing` takes the desktop, on which one program at a time acts. `sight` says what pictures the model
    in use can see. `features` are the open features of this conversation.
    """

    desktop: Desktop
    sharing: DesktopSharing
    workspace: Workspace
    changes: Changes
    processes: Processes
    clock: Clock
    conversation: ConversationRequests
    checklist: Checklist
    sight: ModelSight
    features: OpenFeatures


def handlers(own: Belongings) -> tuple[object, ...]:
    """Return the objects that run the tools, one for each family, and those that only watch calls."""
    desktop, clock, workspace, processes = own.desktop, own.clock, own.workspace, own.processes
    offered = own.features.offered
    return (
        Speech(),
        own.sharing,
        ToolDocs(registry().specs),
        Watching(desktop, own.sight),
        Computer(desktop, own.sight),
        Goals(desktop, own.sight),
        ScreenReading(desktop, own.sight),
        WindowTools(desktop, own.sight, lambda: offered(OwnApps)),
        Files(workspace, lambda: offered(SurfaceReader)),
        Edits(workspace, own.changes, undoables(has_screen=desktop.name != "headless")),
        Arrangements(Moves(workspace, standard_checkpoints())),
        Archives(Packing(workspace, own.changes, standard_checkpoints())),
        Searches(workspace),
        Code(workspace),
        Viewing(Pages(own_ports=processes.open_ports), workspace),
        Commands(workspace, processes, clock, own.conversation.is_yolo),
        Waits(workspace, processes, clock),
        Tasks(own.conversation, own.checklist, Appearance()),
        *own.features.handlers,
    )


def judged_by(
    settings: Settings,
    commands: CommandClassifier | None = None,
    allowed: Sequence[str] = (),
    own_ports: Callable[[], Collection[int]] = tuple,
    *,
    is_own_desktop: bool = False,
) -> Policy:
    """Return the policy for these settings. Without `commands`, nothing is known about what a shell command would do.

    `allowed` are the names of what is allowed in this run. `own_ports` are the ports that the conversation's commands
    serve. `is_own_desktop`: the desktop is Wisp's own virtual one.
    """
    around = PolicyDeps(
        commands or NobodyKnows(),
        yolo_s=settings[YOLO_MINUTES] * 60.0,
        own_keys=(settings[STOP_KEY], settings[SUMMON_KEY]),
        tools=registry().specs,
        allowed=allowed,
        own_ports=own_ports,
        language=settings[LANGUAGE] or resources.system_language(),
        is_own_desktop=is_own_desktop,
    )
    return Policy(workspace_of(settings), Mode(settings[MODE]), surroundings=around)


def wall_of(settings: Settings) -> Sandbox:
    """The sandbox itself reports whether it works on this machine."""
    return bubblewrap.wall(workspace_of(settings), wanted=settings[COMMAND_SANDBOX] == "sandbox")


def commands_of(settings: Settings, clock: Clock) -> tuple[Processes, CommandJudge]:
    """Return this person's commands, earlier starts included, and their judge, which uses the same sandbox."""
    wall = wall_of(settings)
    deletions = Deletions(Path(os.path.realpath(workspace_of(settings))), standard_checkpoints())
    processes = Processes(paths.state_dir() / "commands", clock, wall=wall, deletions=deletions)
    root = Workspace(workspace_of(settings))
    return processes, CommandJudge(root, processes, lambda: wall.missing() or survey.unsearched(root.folder))
