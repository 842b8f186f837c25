"""A conversation: the person writes, a turn runs, and listeners get every event.

What the person writes while a turn runs is passed to that turn: the model reads it before its next pass.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.agent.agent_events import (
    AgentEvent,
    ApprovalWanted,
    Attachment,
    ModeChanged,
    Notice,
    Outcome,
    SaidMeanwhile,
    State,
    StateChanged,
    TurnEnded,
    TurnStarted,
    UsageChanged,
)
from app.agent.budget import Budget, Ceilings, price_of, summed
from app.agent.budget import told as usage_told
from app.agent.context import Remains, continuable
from app.agent.deps import ConversationRequests, ConversationWishes, SessionDeps
from app.agent.gate import ApprovalAnswer, Approvals
from app.agent.loop import Loop
from app.agent.policy import Mode, Policy, Subject
from app.agent.prompt import ending, told
from app.agent.recording import Entry, EntryKind, History, note
from app.agent.turn import Learned, Mood, Tell, Turn, Words, with_prompt
from app.base import ids, signs
from app.base.errors import Remedy, WispError
from app.base.phrases import Phrase
from app.base.translation import words_in
from app.protocol.call import Media
from app.protocol.message import Message, Role
from app.providers.api import Usage


class Modes:
    """Reports the permission mode. Use it only on the event loop's thread."""

    def __init__(self, policy: Policy, tell: Tell) -> None:
        self._policy = policy
        self._tell = tell
        self._told = Mode.ASK
        self._problems = list(policy.book.problems)
        self._watch: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Report each problem of the rules once, and the mode if it differs from the last reported one."""
        problems, self._problems = self._problems, []
        for problem in problems:
            self._tell(Notice("warning", problem))
        if self._policy.mode is not self._told:
            self._say()

    def close(self) -> None:
        """Stop reporting."""
        if self._watch:
            self._watch.cancel()
            self._watch = None

    def _say(self) -> None:
        self.close()
        self._told, left_s = self._policy.mode, self._policy.yolo_left_s
        self._tell(ModeChanged(self._told.value, left_s))
        if left_s:
            self._watch = asyncio.get_running_loop().call_later(left_s + _SOONEST_S, self.look)


_PICTURES = "media"


def showable(event: AgentEvent) -> AgentEvent:
    """Return the event with all texts made plain; the same event if nothing had to change."""
    if isinstance(event, (StateChanged, UsageChanged)):
        return event
    clean = signs.revealed if isinstance(event, ApprovalWanted) else signs.bare
    changes: dict[str, Any] = {}
    for name in event.__slots__:
        if name != _PICTURES:
            old = getattr(event, name)
            new = _cleaned(old, clean)
            if new is not old:
                changes[name] = new
    return dataclasses.replace(event, **changes) if changes else event


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """Clean all texts in a value. Returns the value itself if nothing changes."""
    if type(value) is str:
        new = clean(value)
        return value if new == value else new
    if isinstance(value, Mapping):
        items = {name: _cleaned(item, clean) for name, item in value.items()}
        return items if any(items[name] is not value[name] for name in items) else value
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        found = [_cleaned(item, clean) for item in value]
        return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
    return value


Listener = Callable[[AgentEvent], None]

_SOONEST_S = 0.05
"""The shortest pause between two checks of a turn's time."""
_STATES = {
    Outcome.FINISHED: State.IDLE,
    Outcome.ANSWERED: State.IDLE,
    Outcome.UNVERIFIED: State.IDLE,
    Outcome.STOPPED: State.IDLE,
    Outcome.CUT_OFF: State.ERROR,
    Outcome.REPEATING: State.ERROR,
    Outcome.WAITING: State.NEEDS_YOU,
    Outcome.FAILED: State.ERROR,
}


class Session:
    """A conversation, used only on the event loop's thread. One turn runs at a time."""

    def __init__(self, parts: SessionDeps) -> None:
        self._parts = parts
        self._listeners: list[Listener] = []
        self._mood = Mood(self._tell)
        self._approvals = Approvals(ids.counter("approval"), attended=parts.attended)
        self._turn_id = parts.turn_ids
        self._turn: Turn | None = None
        self._running: asyncio.Task[TurnEnded] | None = None
        self._spent = Usage()
        self._secrets: tuple[str, ...] = ()
        self._learned = Learned()
        self._conversation = parts.conversation or ConversationRequests(parts.policy)
        self.history = History(parts.record)
        self._loop = Loop(parts, self.history, self._approvals)
        self._modes = Modes(parts.policy, self._tell)
        self.subscribe(parts.record.take)

    @property
    def language(self) -> str:
        """The person's language, in two letters."""
        return self._parts.policy.language

    @property
    def state(self) -> State:
        return self._mood.state

    @property
    def usage(self) -> UsageChanged:
        """The tokens and cost of all turns so far, including the running one."""
        running = self._turn.budget.usage if self._turn else Usage()
        return usage_told(summed(self._spent, running), price_of(self._parts.model))

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a request that was made beside the turns, such as for rewriting a selection."""
        self._spent = summed(self._spent, usage)

    @property
    def system(self) -> str:
        """The stable part of the prompt, which every request contains."""
        return self._loop.system

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every event from now on, in order. Returns a function that ends that."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    async def send(
        self,
        text: str,
        media: tuple[Media, ...] = (),
        own: str = "",
        read_before: tuple[str, ...] | None = None,
        using: tuple[str, ...] = (),
        attached: tuple[Attachment, ...] = (),
    ) -> TurnEnded:
        """Run one turn to its end. If a turn already runs, add the words to it and return its end.

        `own` is the part of the words that the person wrote themselves, so it can permit what it names; it is "" if a
        program or the clipboard may have added anything. `read_before` is as in `Words`. `using` are the programs
        (`Owner.ref`) that the person lets this conversation use by these words. `attached` are told below the text; the
        pictures among them are in `media`. The text of a finished or
        waiting turn was already sent as `SayDelta` events. Cancelling this call stops the turn.
        """
        self._learned.grants |= {(Subject.PROGRAM, ref) for ref in using}
        return await self._take(Words(text, media, own, read_before, attached=attached))

    async def pass_on(self, name: str, text: str) -> TurnEnded:
        """Run one turn on a message that the small app `name` wrote and the person let through, as `send` does.

        Nothing in it permits anything, and it answers no question to the person.
        """
        words = Words(f"“{name}”: {text}", read_before=(), brought=told("passed_on", app=name))
        return await self._take(words)

    async def _take(self, words: Words) -> TurnEnded:
        if self._turn and self._running:
            running = self._running
            self._turn.hear_meanwhile(words)
            self._parts.record.said_meanwhile(words.whole)
            self._tell(SaidMeanwhile(words.text, words.names))
            await self._settle()
            return await asyncio.shield(running)  # because a cancelled caller must not cancel the turn of another
        turn = self._turn = self._new_turn()
        self._running = asyncio.ensure_future(self._run(turn, words))
        try:
            return await asyncio.shield(self._running)  # so that `_stopped` below ends the turn in order
        except asyncio.CancelledError:
            await self._stopped()
            raise

    def stop(self) -> None:
        """End the running turn now. Its stream is closed, its calls are cancelled, and its history can be continued."""
        turn = self._turn
        if turn and self._running and not turn.cancelled.is_set():
            turn.cancelled.set()
            if turn.begun:
                self._running.cancel()

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = "once") -> None:
        """Answer an `ApprovalWanted`. A denial passes `words` to the model; `scope` is one that it offered."""
        self._approvals.answer(approval_id, allow=allow, words=words, scope=scope)

    async def ask(self, wanted: ApprovalWanted) -> ApprovalAnswer:
        """Ask the person something that belongs to no turn. Without anybody there it is denied."""
        if not self._turn and self._parts.attended:
            self._mood.become(State.NEEDS_YOU)
        try:
            return await self._approvals.ask(wanted, self._tell)
        finally:
            if not self._turn and not self._approvals.is_waiting:
                self._mood.become(State.IDLE)

    def give_way(self, *, is_driving: bool) -> None:
        """Note that the person took the mouse and keyboard (True), or released them, while a turn runs."""
        if self._turn and self._running:
            self._mood.become(State.DRIVING if is_driving else State.BUSY)

    def tell(self, sentence: Phrase) -> None:
        """Tell the person something about the run itself."""
        self._tell(Notice("info", sentence.said(words_in(self.language))))

    def begin_anew(self) -> None:
        """Begin an empty conversation without costs. Raises WispError while a turn runs."""
        self._must_be_quiet()
        self._parts.record.begin_anew()
        self.history.clear()
        self._learned = Learned()
        self._spent = Usage()
        self._secrets = ()

    def reopen(self, remains: Remains, granted: Iterable[str] = ()) -> None:
        """Continue an earlier conversation, with the programs (`Owner.ref`) that it was granted.

        Raises WispError while a turn runs.
        """
        self._must_be_quiet()
        self.history.replace(continuable(remains, self._parts))
        self._learned = Learned(grants={(Subject.PROGRAM, ref) for ref in granted})
        self._spent = Usage()

    async def close(self) -> None:
        """Stop the running turn, withdraw what is asked, and close the record and the provider."""
        await self._stopped()
        self._approvals.close()
        self._modes.close()
        await self._parts.record.close()
        await self._parts.provider.close()

    def _must_be_quiet(self) -> None:
        if self._turn:
            raise WispError("A task is running. Stop it or let it end, then change the conversation.")

    async def _settle(self) -> None:
        """Wait until all events are recorded. If that fails, warn the person and go on."""
        if problem := await self._parts.record.settled():
            self._tell(Notice("warning", problem))

    async def _stopped(self) -> None:
        self.stop()
        if self._running:
            await asyncio.wait([self._running])

    def _tell(self, event: AgentEvent) -> None:
        event = showable(event)
        for listener in tuple(self._listeners):
            listener(event)

    def _new_turn(self) -> Turn:
        budget = Budget(Ceilings.of(self._parts.settings), price_of(self._parts.model), self._parts.clock)
        self._learned.turns.append(self._turn_id())
        return Turn(
            self._learned.turns[-1],
            self._tell,
            self._mood,
            budget,
            follows_plan=self._parts.follows_plan,
            secrets=self._secrets,
            learned=self._learned,
        )

    async def _run(self, turn: Turn, words: Words) -> TurnEnded:
        turn.begun = True
        self._watch(turn)
        ended = TurnEnded(turn.id, Outcome.FAILED, ending("bug", self.language), Remedy.LOG)
        try:
            self._tell(TurnStarted(turn.id, words.text, words.names))
            self._modes.look()
            if words.parts:
                ended = await self._ended(turn, words)
            else:
                ended = TurnEnded(turn.id, Outcome.FAILED, ending("nothing", self.language))
        finally:
            if turn.watch:
                turn.watch.cancel()
            self._turn = self._running = None
            self._spent = summed(self._spent, turn.budget.usage)
            self._secrets = turn.secrets
            self._carry_out(self._conversation.take())
            self._mood.become(_STATES[ended.outcome])
            self._tell(ended)
        await self._settle()
        return ended

    def _carry_out(self, wishes: ConversationWishes) -> None:
        """Apply the changes of the conversation that tools requested in this turn."""
        if wishes.begin_with is not None:
            self.history.clear()
        if wishes.begin_with:
            self.history.add(EntryKind.SUMMARY, note("handed_over", text=wishes.begin_with))
        if wishes.name:
            self._loop.rename(wishes.name)

    async def _hear(self, turn: Turn, words: Words) -> None:
        """Take the person's words into the turn, with what a command in them brings. Raises WispError if it fails."""
        try:
            words = await with_prompt(words, self._parts.expand)
        finally:
            turn.hear(words)
            self.history.add(EntryKind.PERSON, Message(Role.USER, words.parts))

    async def _ended(self, turn: Turn, words: Words) -> TurnEnded:
        try:
            await self._hear(turn, words)
            return await self._stoppable(turn)
        except asyncio.CancelledError:
            # The flag decides, because the stop button and the time limit both cancel the task.
            if turn.expired:
                return self._failed(turn, turn.budget.exceeded(self.language))
            self.history.add(EntryKind.NOTE, note("stopped_turn"))
            return TurnEnded(turn.id, Outcome.STOPPED, ending("stopped", self.language))
        except WispError as error:
            return self._failed(turn, error.for_people(words_in(self.language)), error.remedy)
        finally:
            for said in turn.take_meanwhile():
                self.history.extend(Entry(EntryKind.PERSON, Message(Role.USER, said.parts)), heard=1)

    def _failed(self, turn: Turn, sentence: str, remedy: Remedy = Remedy.AGAIN) -> TurnEnded:
        self.history.add(EntryKind.NOTE, note("failed_turn", sentence=sentence))
        return TurnEnded(turn.id, Outcome.FAILED, sentence, remedy)

    def _watch(self, turn: Turn) -> None:
        """End the turn if its time is over. Otherwise check again when it can be over at the earliest."""
        if turn is not self._turn or not self._running:
            return
        left = turn.budget.seconds_left
        if left < 0 and not turn.cancelled.is_set():
            turn.expired = True
            self.stop()
        else:
            turn.watch = asyncio.get_running_loop().call_later(max(left, _SOONEST_S), self._watch, turn)

    async def _stoppable(self, turn: Turn) -> TurnEnded:
        """Run the turn. Raises CancelledError if it was stopped before it began, or too late for it to notice."""
        try:
            if turn.cancelled.is_set():
                raise asyncio.CancelledError
            await self._settle()
            ended = await self._loop.run(turn)
        finally:
            if turn.cancelled.is_set():
                await asyncio.sleep(0)  # so that a cancellation that is still under way arrives here
        if turn.cancelled.is_set():
            raise asyncio.CancelledError
        return ended
