"""Which tools there are, and what each family's handler is given."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from app.agent.deps import ConversationRequests, Remind
from app.agent.policy import Mode, Policy
from app.agent.policy.call_analysis import CommandClassifier, NobodyKnows
from app.agent.policy.policy import PolicyDeps
from app.agent.policy.rules import check_lasting
from app.base import paths
from app.base.clock import Clock
from app.base.errors import NeedsPerson
from app.base.values import dataclass
from app.desktop.desktop import Desktop
from app.protocol.call import JsonValue
from app.services.browser.session import BrowserSession
from app.services.files import places, survey
from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.moving import Moves
from app.services.files.places import Workspace
from app.services.mcp.servers import McpServers
from app.services.memory import FactStore
from app.services.processes.commands import Processes
from app.services.processes.deletions import Deletions
from app.services.sandbox import bubblewrap
from app.services.sandbox.layout import Sandbox
from app.services.schedule import Agenda
from app.services.skills import Skills
from app.services.tasks import Checklist
from app.services.web.pages import Pages
from app.services.web.search import WebSearch
from app.settings.catalog import COMMAND_SANDBOX, MODE, STOP_KEY, SUMMON_KEY, WORKSPACE, YOLO_MINUTES
from app.settings.store import Current, Settings, key_of
from app.tools.browser import BROWSER, Browsing
from app.tools.computer import COMPUTER, Computer
from app.tools.conversation import SAY, TASKS, Speech, Tasks, checklist_payload
from app.tools.edit import EDITS, Edits
from app.tools.exec import COMMANDS, WAITS, CommandJudge, Commands, Waits
from app.tools.file import ARRANGEMENTS, FILES, Arrangements, Files
from app.tools.mcp import MCP, McpTools, ServerHints
from app.tools.memory import MEMORY, MemoryTools, PastWords, Reminders
from app.tools.pictures import ModelSight
from app.tools.registry import DOCS, Registry, ToolDocs
from app.tools.schedule import SCHEDULES, ScheduleTools
from app.tools.screen import SCREEN, ScreenReading
from app.tools.search import CODE, SEARCH, Code, Searches
from app.tools.skills import SKILLS, SkillHints, SkillTools
from app.tools.subagent import GOALS, Goals
from app.tools.watching import WATCHING, Watching
from app.tools.web import WEB, Web
from app.tools.windows import WINDOWS, WindowTools


def registry() -> Registry:
    """The shapes of all tools; no service is opened for it."""
    return Registry(
        *(SAY, DOCS, WATCHING, COMPUTER, SCREEN, WINDOWS, GOALS),
        *(FILES, EDITS, SEARCH, CODE, ARRANGEMENTS, COMMANDS, WAITS, WEB, BROWSER, MCP, TASKS, MEMORY, SKILLS),
        SCHEDULES,
    )


def nearby() -> Registry:
    """The tools that a goal is pursued with: the screen, and words to end with."""
    return Registry(SAY, WATCHING, COMPUTER, SCREEN, WINDOWS)


def checkpoints() -> Checkpoints:
    """The copies that make changes of files undoable, shared by all sessions of this person."""
    return Checkpoints(paths.data_dir() / "checkpoints")


def agenda(clock: Clock) -> Agenda:
    """What is to be done later, and the inbox, shared by all sessions of this person."""
    return Agenda(paths.data_dir() / "agenda.db", clock)


def memory(clock: Clock) -> FactStore:
    """What this person wants remembered, shared by all sessions."""
    return FactStore(paths.data_dir() / "memory.db", clock)


def reminding(own: Belongings) -> Remind:
    """What a model is reminded of before each pass: rules and facts of the person, skills, and tool servers."""
    facts, skills, servers = Reminders(own.memory), SkillHints(Skills(own.workspace.folder)), ServerHints(own.servers)

    async def remind(said: str) -> tuple[Mapping[str, str], bool]:
        remembered = await facts(said)
        return {**remembered, **await skills(said), **await servers()}, bool(remembered)

    return remind


def workspace_of(settings: Settings) -> Path:
    """The folder it works in: the one that was chosen, else `Wisp` in the home folder, which is made for that."""
    chosen = _chosen_workspace(settings)
    if not places.why_no_workspace(chosen, _home()):
        return chosen
    own = _home() / str(places.table()["workspace"]["default"])
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
    why = places.why_no_workspace(chosen, _home())
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
    conversation: ConversationRequests
    checklist: Checklist
    sight: ModelSight
    memory: FactStore
    past: PastWords
    browser: BrowserSession
    servers: McpServers
    agenda: Agenda


def handlers(own: Belongings) -> tuple[object, ...]:
    """The objects that run the tools, one for each family."""
    desktop, clock, workspace, processes = own.desktop, own.clock, own.workspace, own.processes
    return (
        Speech(),
        ToolDocs(registry().specs),
        Watching(desktop, own.sight),
        Computer(desktop, own.sight),
        Goals(desktop, own.sight),
        ScreenReading(desktop, own.sight),
        WindowTools(desktop, own.sight),
        Files(workspace),
        Edits(workspace, own.changes),
        Arrangements(Moves(workspace, checkpoints())),
        Searches(workspace),
        Code(workspace),
        Commands(workspace, processes, clock, own.conversation.is_yolo),
        Waits(workspace, processes, clock),
        Web(Pages(own_ports=processes.open_ports), WebSearch(Current(), key_of), workspace),
        Browsing(own.browser),
        McpTools(own.servers),
        Tasks(own.conversation, own.checklist),
        MemoryTools(own.memory, own.past),
        SkillTools(Skills(workspace.folder)),
        ScheduleTools(own.agenda, str(workspace.folder), partial(check_lasting, specs=registry().specs)),
    )


_MINUTE_S = 60.0


def judged_by(
    settings: Settings,
    commands: CommandClassifier | None = None,
    allowed: Sequence[str] = (),
    own_ports: Callable[[], Collection[int]] = tuple,
) -> Policy:
    """What decides about calls. Without `commands` nothing is known of what a command would be. `allowed` are rules in
    their short form for this run; raises BadRules where one cannot be used. `own_ports` are served by its commands.
    """
    around = PolicyDeps(
        commands or NobodyKnows(),
        yolo_s=settings[YOLO_MINUTES] * _MINUTE_S,
        own_keys=(settings[STOP_KEY], settings[SUMMON_KEY]),
        tools=registry().specs,
        allowed=allowed,
        own_ports=own_ports,
    )
    return Policy(workspace_of(settings), Mode(settings[MODE]), surroundings=around)


def wall_of(settings: Settings) -> Sandbox:
    """What keeps commands inside the workspace; it knows itself whether it can stand here."""
    return bubblewrap.wall(workspace_of(settings), wanted=settings[COMMAND_SANDBOX] == "sandbox")


def commands_of(settings: Settings, clock: Clock) -> tuple[Processes, CommandJudge]:
    """The commands of this person, those of earlier starts included, and their judge: both know the same wall."""
    wall = wall_of(settings)
    deletions = Deletions(Path(os.path.realpath(workspace_of(settings))), checkpoints())
    processes = Processes(paths.state_dir() / "commands", clock, wall=wall, deletions=deletions)
    root = Workspace(workspace_of(settings))
    return processes, CommandJudge(root, processes, lambda: wall.missing() or survey.unsearched(root.folder))


_log = logging.getLogger(__name__)


class Keeper:
    """Keeps what a model reports as `task_progress`; a disk that refuses is logged, the task goes on."""

    def __init__(self, checklist: Checklist) -> None:
        self._checklist = checklist

    async def __call__(self, progress: str) -> Mapping[str, JsonValue]:
        try:
            items = await asyncio.to_thread(self._checklist.update, progress)
        except OSError as error:  # A full disk must not stop the task, since the checklist is only an aid.
            _log.warning("The checklist could not be kept: %s", error)
            return {}
        return checklist_payload(items)
