"""One assistant: a session with its tools, its desktop and its provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from app.agent.agent_events import (
    AgentEvent,
    Attachment,
    Notice,
    TagStart,
    ToolFinished,
    ToolRunning,
    TurnEnded,
    TurnStarted,
)
from app.agent.deps import ConversationRequests, Nearby, SessionDeps
from app.agent.gate import AsksPerson
from app.agent.guest import Guest
from app.agent.inspection import DesktopInspector, PageInspector
from app.agent.policy import Tier
from app.agent.prompt import MachineFacts, ending
from app.agent.recording import Archive, KeptFirst
from app.agent.rewriting import SelectionRewriter
from app.agent.session import Listener, Session, showable
from app.assembly import (
    Belongings,
    commands_of,
    handlers,
    judged_by,
    looking,
    looking_only,
    nearby,
    registry,
    undoables,
)
from app.base import ids, paths
from app.base.clipping import clip_line, named_in_short
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.desktop.backends import Curtain, Owner
from app.desktop.capture import Capture, PictureBudget
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.driving import Driving
from app.desktop.privacy import private_by
from app.desktop.verification import Patience
from app.features import loading
from app.features.feature import Room
from app.features.opened import OpenFeatures
from app.history.archive import Journal, PastSaid, journal_of
from app.protocol.call import Block, JsonValue, Media, ToolResult
from app.protocol.dialects.api import Dialect
from app.protocol.dialects.choose import by_name, shortest
from app.providers import profiles
from app.providers.offline import OfflineProvider
from app.providers.profiles import Profile
from app.services.files import places
from app.services.files.changes import Changes
from app.services.files.checkpoints import standard_checkpoints
from app.services.files.places import Workspace
from app.services.files.workspace import workspace_of
from app.services.processes.commands import Processes
from app.services.tasks import Checklist
from app.services.watchdog import WatchdogProcess, WatchdogWord
from app.settings.catalog import BACKEND, DIALECT, FOCUS_CHAIN, PRIVATE_WINDOWS, STOP_KEY, SUMMON_KEY, TOOL_ATTEMPTS
from app.settings.store import Current, Settings, key_of
from app.tools.conversation import Keeper
from app.tools.exec import left_behind
from app.tools.executor import Executor, WrittenByThePerson, note_outcome
from app.tools.pictures import READING_TOKENS, ModelSight
from app.tools.registry import Registry, TurnContext, admitted
from app.tools.sharing import DesktopSharing

T = TypeVar("T")
_ALL = PictureBudget(1 << 30, 1 << 30)
_COMMAND_CHARS = 80
_WORK_LEFT = Patience(first_s=1.0, quiet_s=0.5, limit_s=5.0)
_INTERRUPTED = "Wisp was ended in the middle of “{title}”. It is among your conversations, to be gone on with."
_WATCHDOG_SENTENCES = {"ended": "watchdog_ended", "hung": "watchdog_hung"}


class Assistant:
    """What the presence and the commands use: a session, its desktop, and a way to run a single call."""

    def __init__(
        self,
        session: Session,
        tools: Registry,
        executor: Executor,
        own: Belongings,
        journal: Journal,
        parts: SessionDeps,
    ) -> None:
        self.session = session
        self._parts = parts
        self.rewriter = SelectionRewriter(own.desktop, self.run, parts, session.spend, lambda: session.is_running)
        self.archive: Archive = journal.archive
        self._journal = journal
        # The name of all that `run` changes, for `take_back` and `wisp undo --turn`.
        self.by_hand = ids.unique("run-")
        journal.attach(session)
        self.registry = tools
        self._executor = executor
        self._own = own
        self._desktop = own.desktop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch = WatchdogClient(session, own.desktop)
        self._by_hand_now = 0
        session.subscribe(self._follow_turn)
        own.features.begin(session, parts)
        self._desktop.on_stop(lambda: self._soon(session.stop))
        self._desktop.on_question(lambda sentence: self._soon(partial(session.tell, sentence)))
        self._desktop.on_driving(lambda is_driving: self._soon(partial(session.give_way, is_driving=is_driving)))

    def subscribe(self, listener: Callable[[AgentEvent], None]) -> Callable[[], None]:
        return self._watch.subscribe(listener)

    async def send(
        self,
        text: str,
        media: Sequence[Media] = (),
        own: str = "",
        read_before: tuple[str, ...] | None = None,
        using: tuple[str, ...] = (),
        attached: tuple[Attachment, ...] = (),
    ) -> TurnEnded:
        """Run one turn on the person's text, to its end. The arguments are those of `Session.send`."""
        self._own.sight.note_marked(media)
        return await self.session.send(text, tuple(media), own, read_before, using, attached)

    def stop(self) -> None:
        """End the turn and all input at once. No key or button stays pressed."""
        self._desktop.stop()
        self.session.stop()

    @property
    def is_stopped(self) -> bool:
        """Whether all input was stopped, and nothing was asked for since."""
        return self._desktop.is_stopped

    def on_stop(self, end: Callable[[], object]) -> None:
        """Call `end` on the running event loop at each stop, also outside a turn."""
        self._loop = asyncio.get_running_loop()
        self._desktop.on_stop(lambda: self._soon(end))

    def resume(self) -> None:
        """Allow input again after a stop, because the person asks for something else than a turn."""
        self._desktop.resume()

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = "once") -> None:
        self.session.answer(approval_id, allow=allow, words=words, scope=scope)

    async def run(self, block: Block) -> ToolResult:
        """Run one call that the person wrote, without asking for approval. It is refused while it cannot be recorded.

        Its changes are recorded under `by_hand` and this call, so that they can be undone.
        """
        audit = self._journal.audit
        context = TurnContext(admitted, block.call_id, audit=audit, turn_id=ids.unique(f"{self.by_hand}/"))
        gate = KeptFirst(WrittenByThePerson(audit), self._journal.record)
        self._by_hand_now += 1
        try:
            done = await self._executor.run(block, gate, context)
        finally:
            self._by_hand_now -= 1
            if not (self._by_hand_now or self.session.is_running):
                self._own.sharing.release()
        if spec := self.registry.find(block.name):
            await note_outcome(audit, done, spec)
        return done.result

    def guest(self, name: str, approvals: AsksPerson) -> Guest:
        """Return another agent, called `name`, that uses this desktop. Each stop ends its call."""
        guest = Guest(self._parts, name, approvals, self._desktop.resume)
        self._own.sharing.client = name
        self.on_stop(guest.stop)
        self.on_stop(self._own.sharing.release)
        return guest

    async def perform(self, tool: str, arguments: Mapping[str, JsonValue], show: Callable[[AgentEvent], None]) -> bool:
        """Run one call that the person chose with a button, and show it as the calls of a turn are shown.

        Return whether it worked.
        """
        block = Block(ids.unique("call_"), tool, args=arguments)
        show(TagStart(block.call_id, tool, arguments))
        show(ToolRunning(block.call_id, tool, arguments))
        began = time.monotonic()
        done = await self.run(block)
        took = time.monotonic() - began
        media, echo = tuple(done.llm_media), done.llm_echo
        show(showable(ToolFinished(block.call_id, tool, done.ok, done.event, done.payload, echo, media, took)))
        return done.ok

    def offered(self, kind: type[T]) -> T | None:
        """Return what a feature of this conversation offers under this type; None if none does."""
        return self._own.features.offered(kind)

    def present(self) -> None:
        """Begin what only a conversation with a presence needs. Runs on the event loop."""
        self._own.features.present()

    async def from_before(self) -> list[str]:
        """What is left to tell of an earlier start, and which abilities do not work.

        A sentence for each command of an earlier start that still runs or has ended meanwhile, for each
        conversation that was interrupted, and for each ability that does not work.
        """
        told = [
            f"A command of an earlier time still runs: {clip_line(run.record.command, _COMMAND_CHARS)} ({run.id})"
            for run in await asyncio.to_thread(self._own.processes.left_over)
        ]
        late = await asyncio.to_thread(self._own.processes.settled_late)
        told += [f"A command has ended meanwhile.{left_behind(run)}" for run in late]
        with suppress(WispError):  # because the first turn reports a journal that cannot be read
            told += [_INTERRUPTED.format(title=past.title) for past in await self._journal.interrupted()]
        told += [f"{name} does not work and is left out: {why}" for name, why in loading.problems().items()]
        return told

    async def commands(self) -> list[str]:
        """Return the beginnings of the commands that the person may write, such as `/server:prompt`."""
        return await asyncio.to_thread(self._own.features.completions)

    @property
    def conversation(self) -> str:
        """The id of this conversation in the archive; "" if nothing of it is saved."""
        return self._journal.record.kept

    async def reopen(self, conversation_id: str) -> list[AgentEvent]:
        """Continue an earlier conversation, and return its events. Raises WispError if that is impossible now."""
        return await self._journal.reopen(conversation_id, self.session)

    def begin_anew(self) -> None:
        """Begin a new, empty conversation. Raises WispError while a turn runs."""
        self.session.begin_anew()

    async def take_back(self, turn_id: str) -> list[str]:
        """Undo what a turn changed in files. Returns a sentence for each file that was restored, or could not be."""
        undone, problems = await asyncio.to_thread(self._own.changes.restore, turn_id)
        names = named_in_short([change.path for change in undone])
        told = await asyncio.to_thread(self._own.features.take_back, turn_id)
        for one in undoables(has_screen=self._desktop.name != "headless"):
            told += await asyncio.to_thread(one.take_back, turn_id)
        return [*(f"Took back: {name}" for name in names), *told, *problems]

    async def picture(self, *, at_full_size: bool = False) -> Media:
        """Capture the whole screen, small enough for the model or with all its pixels."""
        budget = _ALL if at_full_size else PictureBudget()
        return await self._desktop.run(lambda controller: _photographed(controller, budget))

    async def capture(self) -> Capture:
        """Capture the whole screen with all its pixels. It also says where the pointer is."""
        return await self._desktop.run(lambda controller: _captured(controller, _ALL))

    async def front_program(self) -> tuple[str, str] | None:
        """Return the ref and the name of the program whose window is in front, beside Wisp's own windows.

        None if there is none, or if it is no ordinary program: a terminal or a browser in front is not yet meant.
        """
        owner = await self._desktop.glance(_front_owner)
        return (owner.ref, owner.name) if owner.ref and self._parts.policy.tier(owner) is Tier.ORDINARY else None

    async def worked_off(self) -> None:
        """Wait until programs have handled their input, judged by what the screen shows."""
        await self._desktop.run(_worked_off)

    async def close(self) -> None:
        await self.session.close()
        await self._own.features.close()
        await self._own.processes.close()
        self._own.sharing.release()
        self._desktop.close()
        await asyncio.to_thread(self._watch.close)

    def _soon(self, act: Callable[[], object]) -> None:
        """Run `act` on the session's event loop. Any thread may call this."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)

    def _follow_turn(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted):
            self._loop = asyncio.get_running_loop()
            self._watch.begin()
            self._desktop.resume()
        elif isinstance(event, TurnEnded) and not self._by_hand_now:
            self._own.sharing.release()


async def _captured(controller: DesktopController, budget: PictureBudget) -> Capture:
    return await controller.screen_capture.capture(controller.backend.screen.extent(), "the screen", budget)


async def _photographed(controller: DesktopController, budget: PictureBudget) -> Media:
    capture = await _captured(controller, budget)
    sent = capture.geometry.sent
    return Media(capture.data, capture.media_type, sent.width, sent.height, capture.label)


async def _front_owner(controller: DesktopController) -> Owner:
    windows = controller.backend.windows.shown()
    front = next((one for one in windows if not (one.is_own or one.is_popup or one.is_minimised)), None)
    return controller.backend.apps.owner(front.pid, front.app) if front else Owner()


async def _worked_off(controller: DesktopController) -> None:
    await controller.screen_capture.settle(_WORK_LEFT)


def assemble(
    settings: Settings,
    *,
    curtain: Curtain | None = None,
    dry_run: bool = False,
    without_screen: bool = False,
    attended: bool = True,
    allowed: Sequence[str] = (),
    is_own_desktop: bool = False,
) -> Assistant:
    """Build an assistant. Raises NeedsPerson where a key, a display or a script is missing.

    `attended` says that somebody can answer approvals. `without_screen` gives it a desktop on which nothing really
    happens; with `dry_run` it changes nothing else either. `allowed` are the names of
    what is allowed in this run. `is_own_desktop`: the display is Wisp's own virtual one.
    """
    without_screen = without_screen or dry_run
    chosen = profiles.choose(settings)
    clock = SystemClock()
    processes, judge = commands_of(settings, clock)
    policy = judged_by(settings, judge, allowed, processes.open_ports, is_own_desktop=is_own_desktop)
    conversation = ConversationRequests(policy)
    now = Current()
    desktop = _desktop(settings, curtain, now, dry_run=dry_run, without_screen=without_screen)
    journal = journal_of(settings, clock, chosen.model, chosen.provider.name)
    own = _belongings(settings, chosen, desktop, conversation, processes, journal, now)
    tools = registry()  # now, because a feature that could not be opened has no tools
    executor, beside = _executors(own, settings, tools, dry_run=dry_run, without_screen=without_screen)
    dialect = _dialect(settings, chosen)
    if isinstance(chosen.provider, OfflineProvider):
        chosen.provider.look = looking_only(settings) if without_screen else looking(desktop, settings)
    provider = own.features.around(chosen.provider, is_native=dialect.name == "native")
    parts = SessionDeps(
        provider=provider,
        model=chosen.model,
        dialect=dialect,
        registry=tools,
        executor=executor,
        policy=policy,
        resolve=DesktopInspector(desktop, lambda: own.features.offered(PageInspector)),
        settings=settings,
        facts=MachineFacts(workspace_of(settings), desktop, clock),
        remind=own.features.remind,
        untaught=own.features.untaught,
        expand=own.features.expand,
        conversation=conversation,
        keep_progress=Keeper(own.checklist) if settings[FOCUS_CHAIN] else None,
        audit=journal.audit,
        nearby=beside,
        record=journal.record,
        turn_ids=ids.counter(f"turn-{ids.unique()}-"),
        attended=attended,
        follows_plan=chosen.provider.name == profiles.OFFLINE,
        window_tokens=chosen.profile.context_tokens,
        tool_names=chosen.profile.tool_names,
    )
    session = Session(parts)
    return Assistant(session, tools, executor, own, journal, parts)


def _desktop(
    settings: Settings, curtain: Curtain | None, now: Current, *, dry_run: bool, without_screen: bool
) -> Desktop:
    return open_desktop(
        curtain=curtain,
        dry_run=without_screen,
        is_like_here=dry_run,
        stop_key=settings[STOP_KEY],
        is_portable=settings[BACKEND] == "portable",
        private=private_by(settings[PRIVATE_WINDOWS], places.is_named_secret),
        reserved=lambda: filter(None, (now()[SUMMON_KEY],)),
    )


def _executors(
    own: Belongings, settings: Settings, tools: Registry, *, dry_run: bool, without_screen: bool
) -> tuple[Executor, Nearby]:
    run_by = partial(
        Executor, clock=own.clock, attempts=settings[TOOL_ATTEMPTS], dry_run=dry_run, without_screen=without_screen
    )
    few = nearby()
    return run_by(tools, handlers(own)), Nearby(few, run_by(few, handlers(own)))


def _belongings(
    settings: Settings,
    chosen: profiles.ChosenProvider,
    desktop: Desktop,
    conversation: ConversationRequests,
    processes: Processes,
    journal: Journal,
    now: Current,
) -> Belongings:
    clock = SystemClock()
    workspace = Workspace(workspace_of(settings))
    changes = Changes(workspace, standard_checkpoints())
    changes.sweep()
    sight = ModelSight(
        _budget(chosen.profile),
        partial(_takes_pictures, settings, chosen.model),
        prefers_text=chosen.profile.reads_little,
        reading_tokens=min(READING_TOKENS, chosen.profile.context_tokens // _SHARE),
    )

    def room(offered: Callable[[type[Any]], Any]) -> Room:
        return Room(
            desktop=desktop,
            workspace=workspace,
            changes=changes,
            processes=processes,
            clock=clock,
            past=PastSaid(journal.archive, journal.record),
            now=now,
            key_of=key_of,
            has_screen=desktop.name != "headless",
            offered=offered,
        )

    return Belongings(
        desktop=desktop,
        sharing=DesktopSharing(Driving(paths.display_socket("driving", of="") if desktop.name != "headless" else None)),
        workspace=workspace,
        changes=changes,
        processes=processes,
        clock=clock,
        conversation=conversation,
        checklist=Checklist(paths.state_dir() / "checklists" / f"{ids.unique()}.md"),
        sight=sight,
        features=OpenFeatures(room),
    )


_SHARE = 8
"""A picture or a reading of the screen takes at most this part of what the model can read."""


def _budget(profile: Profile) -> PictureBudget:
    """The size limit of captures: what the model reads unscaled, at most its maker's advice for screens."""
    edge = min(profile.long_edge_px, max(profile.advised_width_px, profile.advised_height_px))
    return PictureBudget(edge, min(profile.picture_tokens, profile.context_tokens // _SHARE))


def _takes_pictures(settings: Settings, model: str) -> bool:
    """True as long as it is not known."""
    return profiles.takes_pictures(settings, model) is not False


def _dialect(settings: Settings, chosen: profiles.ChosenProvider) -> Dialect:
    """The provider's only dialect, else the setting's, else the model's usual one; in short where it must be."""
    if only := getattr(chosen.provider, "dialect", ""):
        return by_name(only)
    name = settings[DIALECT] or chosen.profile.dialect
    return shortest(name) if chosen.profile.reads_little else by_name(name)


@asynccontextmanager
async def assembled(
    settings: Settings,
    *,
    dry_run: bool = False,
    without_screen: bool = False,
    allowed: Sequence[str] = (),
    is_own_desktop: bool = False,
) -> AsyncIterator[Assistant]:
    """Yield an unattended assistant and close it at the end. Calls that need an approval are refused."""
    assistant = assemble(
        settings,
        dry_run=dry_run,
        without_screen=without_screen,
        attended=False,
        allowed=allowed,
        is_own_desktop=is_own_desktop,
    )
    try:
        yield assistant
    finally:
        await assistant.close()


class WatchdogClient:
    """The watchdog of one assistant. It tells the watchdog about the session, and the person what the watchdog did."""

    def __init__(self, session: Session, desktop: Desktop) -> None:
        self._session = session
        self._is_real = desktop.name != "headless"
        self._guard = WatchdogProcess(self._report)
        self._listeners: list[Listener] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_running = False
        session.subscribe(self._follow)
        desktop.on_stop(self._stop_asked)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with the session's events and the watchdog's reports."""
        unsubscribe = self._session.subscribe(listener)
        self._listeners.append(listener)

        def end() -> None:
            unsubscribe()
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def begin(self) -> None:
        """Start the watchdog before a turn, on the turn's event loop. A desktop without effects needs none."""
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
        """Pass a stop on to the watchdog and to the session. Runs on the thread that raised the stop."""
        self._guard.tell(WatchdogWord.STOP)
        self._soon(self._stop_heard)

    def _stop_heard(self) -> None:
        self._guard.tell(WatchdogWord.HEARD if self._is_running else WatchdogWord.STOPPED)

    def _report(self, word: str, count: int) -> None:
        """Send the person a notice about what the watchdog did. Runs on the watchdog client's own thread."""
        if word in _WATCHDOG_SENTENCES:
            notice = Notice("warning", ending(_WATCHDOG_SENTENCES[word], self._session.language, count=count))
            self._soon(lambda: self._tell(notice))

    def _tell(self, event: AgentEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def _soon(self, act: Callable[[], None]) -> None:
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)
