"""One assistant: a session with its tools, its desktop and its provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from app.agent.agent_events import AgentEvent, Notice, TurnEnded, TurnStarted
from app.agent.deps import ConversationRequests, Nearby, SessionDeps
from app.agent.inspection import DesktopInspector
from app.agent.prompt import MachineFacts, ending
from app.agent.recording import Archive
from app.agent.session import Listener, Session
from app.assembly import (
    Belongings,
    Keeper,
    agenda,
    checkpoints,
    commands_of,
    handlers,
    judged_by,
    memory,
    nearby,
    registry,
    reminding,
    workspace_of,
)
from app.base import ids, paths
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.texts import clip_line, named_in_short
from app.desktop.backends import Curtain
from app.desktop.capture import PictureBudget
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.privacy import private_by
from app.desktop.verification import Patience
from app.history.archive import Journal, PastSaid, journal_of
from app.protocol.call import Block, Media, ToolResult
from app.protocol.dialects.choose import by_name
from app.providers import profiles
from app.providers.profiles import Profile
from app.services.browser.session import BrowserSession
from app.services.files import places
from app.services.files.changes import Changes
from app.services.files.places import Workspace
from app.services.mcp.servers import McpServers
from app.services.processes.commands import Processes
from app.services.tasks import Checklist
from app.services.watchdog import WatchdogProcess, WatchdogWord
from app.settings.catalog import (
    BACKEND,
    DIALECT,
    FOCUS_CHAIN,
    PRIVATE_WINDOWS,
    STOP_KEY,
    SUMMON_KEY,
    TOOL_ATTEMPTS,
)
from app.settings.store import Current, Settings
from app.tools.exec import left_behind
from app.tools.executor import Executor, WrittenByThePerson, note_outcome
from app.tools.pictures import ModelSight
from app.tools.registry import Registry, TurnContext, admitted

_COMMAND_CHARS = 80
_WORK_LEFT = Patience(first_s=1.0, quiet_s=0.5, limit_s=5.0)
_INTERRUPTED = "Wisp was ended in the middle of “{title}”. It is among your conversations, to be gone on with."
_LOOK = "screen_capture"
_WATCHDOG_SENTENCES = {"ended": "watchdog_ended", "hung": "watchdog_hung"}


class Assistant:
    """What the presence and the commands hold: the session's methods, its desktop, and a way to run a single call."""

    def __init__(
        self, session: Session, tools: Registry, executor: Executor, own: Belongings, journal: Journal
    ) -> None:
        self.session = session
        self.archive: Archive = journal.archive
        self._journal = journal
        # The name of all that `run` changes, for `take_back` and `wisp undo --turn`.
        self.by_hand = ids.unique("run-")
        self._new_call = ids.counter(f"{self.by_hand}/")
        journal.attach(session)
        self.registry = tools
        self._executor = executor
        self._own = own
        self._desktop = own.desktop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch = WatchdogClient(session, own.desktop)
        session.subscribe(self._allow_input)
        self._desktop.on_stop(lambda: self._soon(session.stop))
        self._desktop.on_driving(lambda is_driving: self._soon(partial(session.give_way, is_driving=is_driving)))

    def subscribe(self, listener: Callable[[AgentEvent], None]) -> Callable[[], None]:
        return self._watch.subscribe(listener)

    async def send(
        self, text: str, media: Sequence[Media] = (), own: str = "", read_before: tuple[str, ...] | None = None
    ) -> TurnEnded:
        """One turn, from the person's words to its end. `own` and `read_before` as in `Session.send`."""
        self._loop = asyncio.get_running_loop()
        self._watch.begin()
        return await self.session.send(text, tuple(media), own, read_before)

    def stop(self) -> None:
        """End the turn and all input at once: nothing stays pressed."""
        self._desktop.stop()
        self.session.stop()

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = "once") -> None:
        self.session.answer(approval_id, allow=allow, words=words, scope=scope)

    async def run(self, block: Block) -> ToolResult:
        """Run one call that the person wrote, without asking for approval.

        What it changes belongs to `by_hand`, and within that to this call.
        """
        audit = self._journal.audit
        context = TurnContext(admitted, block.call_id, audit=audit, turn_id=self._new_call())
        done = await self._executor.run(block, WrittenByThePerson(audit), context)
        if spec := self.registry.find(block.name):
            await note_outcome(audit, done, spec)
        return done.result

    async def from_before(self) -> list[str]:
        """Return a sentence for each command of an earlier start that still runs or has ended meanwhile, and for each
        conversation that was interrupted.
        """
        told = [
            f"A command of an earlier time still runs: {clip_line(run.record.command, _COMMAND_CHARS)} ({run.id})"
            for run in await asyncio.to_thread(self._own.processes.left_over)
        ]
        late = await asyncio.to_thread(self._own.processes.settled_late)
        told += [f"A command has ended meanwhile.{left_behind(run)}" for run in late]
        with suppress(WispError):  # because the first turn reports a journal that cannot be read
            told += [_INTERRUPTED.format(title=past.title) for past in await self._journal.interrupted()]
        return told

    @property
    def conversation(self) -> str:
        """The id of this conversation in the archive; empty where nothing of it is kept."""
        return self._journal.record.kept

    async def reopen(self, conversation_id: str) -> list[AgentEvent]:
        """Go on with an earlier conversation; what was shown of it. Raises WispError where that cannot be now."""
        return await self._journal.reopen(conversation_id, self.session)

    def begin_anew(self) -> None:
        """An empty conversation. Raises WispError while a turn runs."""
        self.session.begin_anew()

    async def take_back(self, turn_id: str) -> list[str]:
        """Undo what a turn changed in files; what was done and what could not be, a sentence each."""
        undone, problems = await asyncio.to_thread(self._own.changes.restore, turn_id)
        names = named_in_short([change.path for change in undone])
        remembered = await asyncio.to_thread(self._own.memory.take_back, turn_id)
        return [*(f"Took back: {name}" for name in names), *remembered, *problems]

    async def picture(self) -> Media:
        """The whole screen as it is now."""
        return await self._desktop.run(_photographed)

    async def worked_off(self) -> None:
        """Wait until programs have worked off what they were told to do, as far as the screen shows it."""
        await self._desktop.run(_worked_off)

    async def close(self) -> None:
        await self.session.close()
        await self._own.browser.close()
        await self._own.servers.close()
        self._desktop.close()
        await asyncio.to_thread(self._watch.close)
        self._own.memory.close()
        self._own.agenda.close()

    def _soon(self, act: Callable[[], None]) -> None:
        """From the desktop's threads to the session's loop."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)

    def _allow_input(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted):
            self._desktop.resume()


async def _photographed(controller: DesktopController) -> Media:
    capture = await controller.screen_capture.capture(controller.backend.screen.extent(), "the screen", PictureBudget())
    sent = capture.geometry.sent
    return Media(capture.data, capture.media_type, sent.width, sent.height, capture.label)


async def _worked_off(controller: DesktopController) -> None:
    await controller.screen_capture.settle(_WORK_LEFT)


def assemble(
    settings: Settings,
    *,
    curtain: Curtain | None = None,
    dry_run: bool = False,
    attended: bool = True,
    allowed: Sequence[str] = (),
) -> Assistant:
    """Build an assistant. Raises NeedsPerson where a key, a display or a script is missing, BadRules for bad `allowed`.

    `attended` says that somebody can answer approvals; `dry_run` gives it a desktop on which nothing really happens.
    `allowed` are rules in their short form for this run.
    """
    chosen = profiles.choose(settings)
    clock = SystemClock()
    processes, judge = commands_of(settings, clock)
    policy = judged_by(settings, judge, allowed, processes.open_ports)
    conversation = ConversationRequests(policy)
    private = private_by(settings[PRIVATE_WINDOWS], places.is_named_secret)
    now = Current()
    desktop = open_desktop(
        curtain=curtain,
        dry_run=dry_run,
        stop_key=settings[STOP_KEY],
        is_portable=settings[BACKEND] == "portable",
        private=private,
        reserved=lambda: filter(None, (now()[SUMMON_KEY],)),
    )
    tools = registry()
    journal = journal_of(settings, clock, chosen.model)
    browser = BrowserSession(paths.data_dir() / "browser", processes.open_ports, is_dry=dry_run)
    own = _belongings(settings, chosen, desktop, conversation, processes, journal, browser)
    executor = Executor(tools, handlers(own), clock, attempts=settings[TOOL_ATTEMPTS], dry_run=dry_run)
    parts = SessionDeps(
        provider=chosen.provider,
        model=chosen.model,
        dialect=by_name(_dialect_name(settings, chosen)),
        registry=tools,
        executor=executor,
        policy=policy,
        resolve=DesktopInspector(desktop, own.browser),
        settings=settings,
        facts=MachineFacts(workspace_of(settings), desktop, clock),
        remind=reminding(own),
        has_servers=lambda: own.servers.is_any,
        conversation=conversation,
        keep_progress=Keeper(own.checklist) if settings[FOCUS_CHAIN] else None,
        audit=journal.audit,
        nearby=_nearby(own, settings, dry_run=dry_run),
        look=_LOOK,
        record=journal.record,
        turn_ids=ids.counter(f"turn-{ids.unique()}-"),
        attended=attended,
        follows_plan=chosen.provider.name == profiles.OFFLINE,
        window_tokens=chosen.profile.context_tokens,
        tool_names=chosen.profile.tool_names,
    )
    return Assistant(Session(parts), tools, executor, own, journal)


def _nearby(own: Belongings, settings: Settings, *, dry_run: bool) -> Nearby:
    """What a goal on the screen is pursued with."""
    tools = nearby()
    attempts = settings[TOOL_ATTEMPTS]
    return Nearby(tools, Executor(tools, handlers(own), own.clock, attempts=attempts, dry_run=dry_run))


def _belongings(
    settings: Settings,
    chosen: profiles.ChosenProvider,
    desktop: Desktop,
    conversation: ConversationRequests,
    processes: Processes,
    journal: Journal,
    browser: BrowserSession,
) -> Belongings:
    clock = SystemClock()
    workspace = Workspace(workspace_of(settings))
    changes = Changes(workspace, checkpoints())
    changes.sweep()
    return Belongings(
        desktop=desktop,
        workspace=workspace,
        changes=changes,
        processes=processes,
        clock=clock,
        conversation=conversation,
        checklist=Checklist(paths.state_dir() / "checklists" / f"{ids.unique()}.md"),
        sight=ModelSight(_budget(chosen.profile), partial(_takes_pictures, settings, chosen.model)),
        memory=memory(clock),
        past=PastSaid(journal.archive, journal.record),
        browser=browser,
        servers=McpServers(workspace.folder, clock),
        agenda=agenda(clock),
    )


def _budget(profile: Profile) -> PictureBudget:
    """Within what the model reads unscaled, and no larger than what its maker advises for screens."""
    edge = min(profile.long_edge_px, max(profile.advised_width_px, profile.advised_height_px))
    return PictureBudget(edge, profile.picture_tokens)


def _takes_pictures(settings: Settings, model: str) -> bool:
    """False once it is known that the model takes none."""
    return profiles.takes_pictures(settings, model) is not False


def _dialect_name(settings: Settings, chosen: profiles.ChosenProvider) -> str:
    """A provider that speaks only one dialect is not asked for another."""
    only: str = getattr(chosen.provider, "dialect", "")
    return only or settings[DIALECT] or chosen.profile.dialect


@asynccontextmanager
async def assembled(
    settings: Settings, *, dry_run: bool = False, allowed: Sequence[str] = ()
) -> AsyncIterator[Assistant]:
    """Yield an unattended assistant and close it at the end. Calls that need an approval are refused."""
    assistant = assemble(settings, dry_run=dry_run, attended=False, allowed=allowed)
    try:
        yield assistant
    finally:
        await assistant.close()


class WatchdogClient:
    """The watchdog of one assistant: tells it what goes on, and the person what it had to do."""

    def __init__(self, session: Session, desktop: Desktop, guard: WatchdogProcess | None = None) -> None:
        self._session = session
        self._is_real = desktop.name != "headless"
        self._guard = guard or WatchdogProcess(self._report)
        self._listeners: list[Listener] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_running = False
        session.subscribe(self._follow)
        desktop.on_stop(self._stop_asked)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """The session's events, and what the watchdog reports."""
        unsubscribe = self._session.subscribe(listener)
        self._listeners.append(listener)

        def end() -> None:
            unsubscribe()
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def begin(self) -> None:
        """Before a turn, on the loop it runs on. A desktop on which nothing happens needs no watching."""
        self._loop = asyncio.get_running_loop()
        if self._is_real:
            self._guard.begin()

    def close(self) -> None:
        self._guard.close()

    def _follow(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted):
            self._is_running = True
        elif isinstance(event, TurnEnded):
            self._is_running = False
            self._guard.tell(WatchdogWord.STOPPED)

    def _stop_asked(self) -> None:
        """On whatever thread the stop was raised."""
        self._guard.tell(WatchdogWord.STOP)
        self._soon(self._stop_heard)

    def _stop_heard(self) -> None:
        self._guard.tell(WatchdogWord.HEARD if self._is_running else WatchdogWord.STOPPED)

    def _report(self, word: str, count: int) -> None:
        """On the guard's thread; the person reads it as soon as the loop runs again."""
        if word in _WATCHDOG_SENTENCES:
            notice = Notice("warning", ending(_WATCHDOG_SENTENCES[word]).format(count=count))
            self._soon(lambda: self._tell(notice))

    def _tell(self, event: AgentEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def _soon(self, act: Callable[[], None]) -> None:
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)
