"""Use the turn's model a second time inside the turn: to pursue a goal, or to answer a single question.

A goal is a separate conversation with the same model, policy, approvals and stop. It has fewer tools than the turn,
and none to set a goal. The costs of both count for the turn as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace

from app.agent.agent_events import (
    AgentEvent,
    Outcome,
    PassStarted,
    SayDelta,
    TagDelta,
    TagStart,
    ToolFinished,
    ToolProgress,
    ToolRunning,
    TurnEnded,
    TurnStarted,
    UsageChanged,
)
from app.agent.budget import Budget, Ceilings
from app.agent.deps import Nearby, SessionDeps
from app.agent.prompt import admits_failure, told
from app.agent.recording import EntryKind, History, NoRecorder
from app.agent.streaming import SideAnswer
from app.agent.turn import Evidence, LoopDetector, Turn
from app.protocol.call import Media
from app.protocol.message import Author, ImagePart, Message, Role, TextPart
from app.providers.api import Request, Usage
from app.tools.registry import GoalLimits, Pursued

_LOOK_AGAIN_S = 0.05

RunTurn = Callable[[SessionDeps, History, Turn], Awaitable[TurnEnded]]


class Pursuit:
    """The goal of one call. `run` runs a turn over a history to its end."""

    def __init__(self, parts: SessionDeps, nearby: Nearby, turn: Turn, run: RunTurn) -> None:
        self._parts = parts
        self._nearby = nearby
        self._turn = turn
        self._run = run

    async def pursue(self, call_id: str, goal: str, limits: GoalLimits) -> Pursued:
        """Pursue the goal until it is reached, given up, or at a limit. Raises ProviderError; the person's stop ends it
        too.
        """
        turn, parts = self._turn, self._parts
        began = parts.clock.now()
        budget = Share(limits, turn, parts)
        cards = Within(turn.tell, call_id, limits.passes)
        inner = replace(
            turn, tell=cards, budget=budget, meanwhile=[], repetition=LoopDetector(), evidence=Evidence(),
            refused=0, reports=False, nudged=False, looping=False, made_room=False,
        )  # fmt: skip
        try:
            ended = await self._timed(inner, self._history(goal))
        finally:
            budget.charge()
            for source in inner.tainted_by:
                turn.read(source)
            turn.learn(inner.secrets)
            turn.ran_commands = turn.ran_commands or inner.ran_commands
            turn.copied = inner.copied
            turn.refused += inner.refused
        return Pursued(
            ended.outcome is Outcome.FINISHED and not inner.reports and not admits_failure(ended.text, is_own=True),
            ended.text, budget.passes, parts.clock.now() - began, budget.cost_usd, tuple(cards.deeds),
        )  # fmt: skip

    def _history(self, goal: str) -> History:
        history = History()
        history.add(EntryKind.PERSON, Message(Role.USER, (TextPart(goal), TextPart(told("goal"), Author.WISP))))
        return history

    async def _timed(self, inner: Turn, history: History) -> TurnEnded:
        """End the pursuit at its own time limit, even during a pass. Waiting for the person does not count."""
        near = self._nearby
        parts = replace(
            self._parts, registry=near.registry, executor=near.executor, nearby=None,
            record=NoRecorder(), keep_progress=None,
        )  # fmt: skip
        task = asyncio.ensure_future(self._run(parts, history, inner))
        try:
            while not task.done() and inner.budget.seconds_left >= 0:
                await asyncio.wait([task], timeout=max(inner.budget.seconds_left, _LOOK_AGAIN_S))
            if task.done():
                return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        return TurnEnded(inner.id, Outcome.FAILED, inner.budget.exceeded())


_CONSULTED_TOKENS = 4096
"""The room for a short answer to one question. Models that always think need most of it for that."""


class Consultation:
    """Ask the model in use one question beside the conversation: no history, no tools."""

    def __init__(self, parts: SessionDeps, turn: Turn) -> None:
        self._parts = parts
        self._turn = turn

    async def ask(self, system: str, question: str, pictures: tuple[Media, ...] = ()) -> str:
        """Return the text of the answer. Raises ProviderError. Whatever came of it counts for the turn's budget."""
        message = Message(Role.USER, (TextPart(question), *map(ImagePart, pictures)))
        request = Request(self._parts.model, system, (message,), max_tokens=_CONSULTED_TOKENS)
        answer = SideAnswer()
        try:
            await answer.hear(self._parts.provider, request, self._parts.settings)
        finally:
            self._turn.budget.spend(answer.usage)
            self._turn.tell(self._turn.budget.changed())
        return answer.text.strip()


class Share(Budget):
    """A goal's own budget, within that of its turn."""

    def __init__(self, limits: GoalLimits, turn: Turn, parts: SessionDeps) -> None:
        whole = Ceilings.of(parts.settings)
        cost = whole.cost_usd if limits.cost_usd is None else min(limits.cost_usd, whole.cost_usd)
        super().__init__(Ceilings(limits.passes, limits.seconds, whole.tokens, cost), turn.budget.price, parts.clock)
        self._limits = limits
        self._turn = turn
        self._charged = Usage()

    def charge(self) -> None:
        """Add the tokens and the cost since the last call to the turn's budget."""
        new, before = self.usage, self._charged
        self._turn.budget.spend(Usage(*(getattr(new, f.name) - getattr(before, f.name) for f in fields(Usage))))
        self._charged = new

    def changed(self) -> UsageChanged:
        self.charge()
        return self._turn.budget.changed()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        with super().waiting(), self._turn.budget.waiting():
            yield

    def exceeded(self, language: str = "") -> str:
        self.charge()
        if self._turn.meanwhile:
            return told("goal_meanwhile")
        if self.passes >= self._limits.passes:
            return told("goal_passes", count=str(self.passes))
        if self.seconds_left < 0:
            return told("goal_seconds", count=f"{self._limits.seconds:g}")
        limit, cost = self._limits.cost_usd, self.cost_usd
        if limit is not None and cost is not None and cost > limit:
            return told("goal_cost", cost=f"{limit:.2f}")
        return self._turn.budget.exceeded(language)


class Within:
    """Shows a goal's calls as cards inside the card of the call that set it. Its speech is only for the model."""

    def __init__(self, tell: Callable[[AgentEvent], None], call_id: str, passes: int) -> None:
        self._tell = tell
        self._call_id = call_id
        self._passes = passes
        self._voiced: set[str] = set()
        self.deeds: list[str] = []

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case TagStart(voiced=True):
                self._voiced.add(event.call_id)
            case TagStart():
                self._tell(replace(event, within=self._call_id))
            case PassStarted():
                progress = {"pass": event.number, "of": self._passes}
                self._tell(ToolProgress(self._call_id, "goal_pass", progress))
            case TagDelta() | ToolRunning() | ToolProgress() | ToolFinished():
                self._of_call(event)
            case TurnStarted() | TurnEnded() | SayDelta():
                return
            case _:
                self._tell(event)

    def _of_call(self, event: TagDelta | ToolRunning | ToolProgress | ToolFinished) -> None:
        if event.call_id in self._voiced:
            return
        if isinstance(event, ToolFinished):
            self.deeds.append(event.echo.split("\n", 1)[0] if event.ok else f"{event.tool} failed: {event.echo}")
        self._tell(event)
