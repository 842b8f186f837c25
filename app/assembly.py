"""Which tools there are, and what each family's handler is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from app.agent.deps import ConversationRequests, Remind, SessionDeps
from app.agent.policy import Mode, Policy
from app.agent.policy.call_analysis import CommandClassifier, NobodyKnows
from app.agent.policy.policy import PolicyDeps
from app.agent.policy.unattended import check_names
from app.agent.session import Session
from app.base import paths, resources
from app.base.clock import Clock
from app.base.values import dataclass
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.programs import names_of
from app.features.apps.answers import AnsweringParts, SurfaceAnswers
from app.features.apps.client import ServedApps, SurfaceEngine
from app.features.apps.store import SurfaceStore
from app.features.apps.tools import SURFACES, SurfaceDocs, SurfaceHints, SurfaceTools
from app.features.browser.session import BrowserSession
from app.features.browser.tools import BROWSER, Browsing
from app.features.browser.transfers import PageFiles
from app.features.looks.drawings import DRAWING, Drawings
from app.features.looks.tools import LOOKS, Looks
from app.features.looks.wallpaper import DesktopWallpaper
from app.features.mcp.declared import DeclaredServerTools
from app.features.mcp.prompts import PromptCommands
from app.features.mcp.servers import McpServers
from app.features.mcp.tools import MCP, McpTools, ServerHints
from app.features.memory.store import FactStore
from app.features.memory.tools import MEMORY, MemoryTools, PastWords, Reminders
from app.features.schedule.agenda import Agenda
from app.features.schedule.tools import SCHEDULES, ScheduleTools
from app.features.skills.store import Skills
from app.features.skills.tools import SKILLS, SkillHints, SkillTools
from app.features.web.search import WebSearch
from app.features.web.tools import WEB, Web
from app.providers.images import PictureMaker
from app.providers.offline import Look
from app.providers.offline.world import World
from app.providers.profiles import OFFLINE
from app.services.files import survey
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.moving import Moves
from app.services.files.places import Workspace
from app.services.files.workspace import workspace_of
from app.services.notifications import DeviceNotifier
from app.services.processes.commands import Processes
from app.services.processes.deletions import Deletions
from app.services.sandbox import bubblewrap
from app.services.sandbox.layout import Sandbox
from app.services.svg import SvgRenderer
from app.services.tasks import Checklist
from app.services.themes import Appearance, active_theme
from app.services.web.pages import Pages
from app.settings.catalog import COMMAND_SANDBOX, LANGUAGE, MODE, STOP_KEY, SUMMON_KEY, YOLO_MINUTES
from app.settings.store import Current, Settings, key_of
from app.tools.computer import COMPUTER, Computer
from app.tools.conversation import SAY, TASKS, Speech, Tasks
from app.tools.edit import EDITS, Edits
from app.tools.exec import COMMANDS, WAITS, CommandJudge, Commands, Waits
from app.tools.file import ARRANGEMENTS, FILES, Arrangements, Files
from app.tools.pictures import ModelSight
from app.tools.registry import DOCS, Registry, ToolDocs, unkept
from app.tools.screen import SCREEN, ScreenReading
from app.tools.search import CODE, SEARCH, Code, Searches
from app.tools.subagent import GOALS, Goals
from app.tools.watching import WATCHING, Watching
from app.tools.windows import WINDOWS, WindowTools


def registry() -> Registry:
    """Return the registry of all tools. Opens no service."""
    return Registry(
        *(SAY, DOCS, WATCHING, COMPUTER, SCREEN, WINDOWS, GOALS),
        *(FILES, EDITS, SEARCH, CODE, ARRANGEMENTS, COMMANDS, WAITS, WEB, BROWSER, MCP, TASKS, MEMORY, SKILLS),
        *(SCHEDULES, SURFACES, LOOKS, DRAWING),
    )


def nearby() -> Registry:
    """Return the tools of a subagent that pursues a goal: it can use the screen, speak, and end."""
    return Registry(SAY, WATCHING, COMPUTER, SCREEN, WINDOWS)


def checkpoints() -> Checkpoints:
    """Return the store of old file contents, which makes changes undoable. All sessions of this person share it."""
    return Checkpoints(paths.data_dir() / "checkpoints")


def agenda(clock: Clock) -> Agenda:
    """Return the schedules and the inbox, which all sessions of this person share."""
    return Agenda(paths.data_dir() / "agenda.db", clock)


def memory(clock: Clock) -> FactStore:
    """Return the facts about this person, which all sessions share."""
    return FactStore(paths.data_dir() / "memory.db", clock)


def looking(desktop: Desktop, workspace: Path, surfaces: SurfaceStore) -> Look:
    """Return what tells the offline provider which programs, windows and small apps there are now."""

    async def look() -> World:
        return await desktop.glance(_seen, str(workspace), surfaces)

    return look


async def _seen(controller: DesktopController, workspace: str, surfaces: SurfaceStore) -> World:
    windows = [window for window in controller.backend.windows.all() if not window.is_own]
    return World(
        programs=names_of(controller.backend.apps.installed()),
        windows=tuple((window.title, window.app) for window in windows),
        apps=tuple((one.id, one.name) for one in surfaces.all()),
        workspace=workspace,
    )


def reminding(own: Belongings, provider: DeclaredServerTools) -> Remind:
    """Return the function that adds the person's rules and facts, the skills and the tool servers to each pass.

    What `provider` declares of the tool servers is not described again.
    """
    facts, skills = Reminders(own.memory), SkillHints(Skills(own.workspace.folder))
    servers = ServerHints(own.servers, provider.declared_servers)
    surfaces = SurfaceHints(own.surfaces)

    async def remind(said: str) -> Mapping[str, str]:
        return {**await facts(said), **await skills(said), **await servers(), **await surfaces()}

    return remind


@dataclass(frozen=True, slots=True)
class Belongings:
    """The parts that the tool handlers use: desktop, files, commands, conversation, checklist and others.

    `sight` says what pictures the model in use can see.
    """

    desktop: Desktop
    workspace: Workspace
    changes: Changes
    processes: Processes
    clock: Clock
    conversation: ConversationRequests
    checklist: Checklist
    sight: ModelSight
    memory: FactStore
    past: PastWords
    browser: BrowserSession
    servers: McpServers
    prompts: PromptCommands
    agenda: Agenda
    surfaces: SurfaceStore
    engine: SurfaceEngine
    renderer: SvgRenderer


def handlers(own: Belongings) -> tuple[object, ...]:
    """Return the objects that run the tools, one for each family."""
    desktop, clock, workspace, processes = own.desktop, own.clock, own.workspace, own.processes
    docs, wallpaper = SurfaceDocs(own.surfaces), _wallpaper(desktop)
    return (
        Speech(),
        ToolDocs(registry().specs),
        Watching(desktop, own.sight),
        Computer(desktop, own.sight),
        Goals(desktop, own.sight),
        ScreenReading(desktop, own.sight),
        WindowTools(desktop, own.sight, partial(own.engine.open_called, own.surfaces)),
        Files(workspace, docs),
        Edits(workspace, own.changes, [Appearance(), *([wallpaper] if wallpaper else [])]),
        Looks(Appearance(), PictureMaker(Current(), key_of), Pages(), wallpaper),
        Arrangements(Moves(workspace, checkpoints())),
        Searches(workspace),
        Code(workspace),
        Commands(workspace, processes, clock, own.conversation.is_yolo),
        Waits(workspace, processes, clock),
        Web(Pages(own_ports=processes.open_ports), WebSearch(Current(), key_of), workspace),
        Browsing(own.browser, PageFiles(workspace, own.changes)),
        McpTools(own.servers, ServedApps(own.surfaces, own.engine)),
        Tasks(own.conversation, own.checklist, Appearance()),
        MemoryTools(own.memory, own.past),
        SkillTools(Skills(workspace.folder)),
        ScheduleTools(
            own.agenda,
            workspace.folder,
            check_names,
            devices=DeviceNotifier(Current(), key_of),
        ),
        SurfaceTools(own.surfaces, own.engine, docs, lambda: active_theme().handbook),
        Drawings(workspace, own.changes, own.renderer, PictureMaker(Current(), key_of), Pages(), wallpaper),
    )


def answering(own: Belongings, parts: SessionDeps, session: Session, now: Callable[[], Settings]) -> SurfaceAnswers:
    """Return the object that answers what surfaces ask for, by the session's policy, model and tools."""
    return SurfaceAnswers(
        AnsweringParts(
            engine=own.engine,
            servers=own.servers,
            provider=parts.provider,
            model=parts.model,
            can_answer=parts.provider.name != OFFLINE,
            policy=parts.policy,
            registry=parts.registry,
            executor=parts.executor,
            pages=Pages(),
            search=WebSearch(now, key_of),
            maker=PictureMaker(now, key_of),
            now=now,
            ask=session.ask,
            pass_on=session.pass_on,
            audit=parts.audit or unkept,
            clock=parts.clock,
        )
    )


def _wallpaper(desktop: Desktop) -> DesktopWallpaper | None:
    """Return the access to the desktop's wallpaper; None in a dry run, where nothing really happens."""
    return None if desktop.name == "headless" else DesktopWallpaper()


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
    """Return the sandbox for commands. The sandbox itself reports whether it works on this machine."""
    return bubblewrap.wall(workspace_of(settings), wanted=settings[COMMAND_SANDBOX] == "sandbox")


def commands_of(settings: Settings, clock: Clock) -> tuple[Processes, CommandJudge]:
    """Return this person's commands, earlier starts included, and their judge, which uses the same sandbox."""
    wall = wall_of(settings)
    deletions = Deletions(Path(os.path.realpath(workspace_of(settings))), checkpoints())
    processes = Processes(paths.state_dir() / "commands", clock, wall=wall, deletions=deletions)
    root = Workspace(workspace_of(settings))
    return processes, CommandJudge(root, processes, lambda: wall.missing() or survey.unsearched(root.folder))
