"""Another agent uses this desktop through Wisp. Its calls pass the same gate as a model's, one after the other.

Nothing that it writes permits anything: only the person's answers do, and what the person always allows. After a stop
nothing of it runs until the person says that it may go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from app.agent.agent_events import AgentEvent, ApprovalWanted
from app.agent.budget import Budget, Ceilings
from app.agent.calls import Calls
from app.agent.cards import Cards
from app.agent.deps import SessionDeps
from app.agent.gate import AsksPerson, PermissionGate
from app.agent.prompt import told
from app.agent.recording import KeptFirst
from app.agent.turn import LoopDetector, Mood, Turn
from app.base.phrases import Phrase
from app.base.translation import words_in
from app.base.values import replace
from app.protocol.call import Block, JsonValue, ToolResult, not_run, tool_error
from app.protocol.dialects.api import Answer
from app.protocol.spec import HARMLESS

_SOURCES = ("client", "screen")
"""What an agent has read is not known, so its calls count as made after reading others' words, here and elsewhere."""
_GO_ON = Phrase("You stopped {client!r}. Let it go on?")


class Guest:
    """The calls of one agent. `name` is what it calls itself, which nothing proves.

    `approvals` asks the person. `resume` lets input happen again after a stop.
    """

    def __init__(self, parts: SessionDeps, name: str, approvals: AsksPerson, resume: Callable[[], None]) -> None:
        self._name = name
        self._parts = replace(parts, audit=self._noted, keep_progress=None)
        self._audit = parts.audit
        self._approvals = approvals
        self._resume = resume
        self._hear: Callable[[AgentEvent], None] | None = None
        self._turn = Turn(
            parts.turn_ids(),
            self._tell,
            Mood(self._tell),
            Budget(Ceilings.of(parts.settings), None, parts.clock),
            by=name,
            tainted_by=_SOURCES,
        )
        self._in_turn = asyncio.Lock()
        self._running: asyncio.Future[Answer] | None = None
        self._is_stopped = False

    async def run(self, block: Block, hear: Callable[[AgentEvent], None]) -> ToolResult:
        """Run one call after those before it. `hear` is told of its progress. Cancelling ends the call."""
        async with self._in_turn:
            if self._is_stopped and (refusal := await self._going_on(block)):
                return not_run(block.name, refusal)
            self._hear = hear
            try:
                return await self._run(block)
            finally:
                self._hear = self._running = None

    def stop(self) -> None:
        """End the call that runs. The next one asks the person first."""
        self._is_stopped = True
        self._turn.cancelled.set()
        if self._running:
            self._running.cancel()

    async def _run(self, block: Block) -> ToolResult:
        turn, parts = self._turn, self._parts
        turn.cancelled, turn.repetition, turn.looping = asyncio.Event(), LoopDetector(), False
        turn.judged.clear()
        cards = Cards(self._tell, parts.registry)
        gate = PermissionGate(parts, self._approvals, turn, cards)
        calls = Calls(parts.executor, parts.registry, turn, cards, gate, KeptFirst(gate, parts.record))
        calls.audit = self._noted
        self._running = running = asyncio.ensure_future(calls.run(block))
        try:
            answer = await running
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            await self._noted("stopped", {"tool": block.name, "turn": turn.id})
            return tool_error(block.name, told("stopped_guest"), for_model=True)
        await self._note_look(answer)
        return answer.result

    async def _note_look(self, answer: Answer) -> None:
        """Record a call that only looked, which the gate does not record."""
        spec = self._parts.registry.find(answer.call.name) if answer.call else None
        if answer.call and spec and spec.effects_of(answer.call) <= HARMLESS:
            told: Mapping[str, JsonValue] = answer.call.arguments
            await self._noted("looked", {"tool": spec.name, "arguments": dict(told), "turn": self._turn.id})

    async def _going_on(self, block: Block) -> str:
        """Ask whether the agent may go on after a stop. Return why not."""
        words = words_in(self._parts.policy.language)
        sentence = replace(_GO_ON, values={"client": self._name}).said(words)
        answer = await self._approvals.ask(ApprovalWanted("", block.call_id, block.name, sentence), self._tell)
        by = "person" if answer.is_denied or not answer.refusal else "nobody there"
        ruling = {"tool": "go on", "by": by, "turn": self._turn.id}
        await self._noted("refused" if answer.refusal else "allowed", ruling)
        if answer.refusal:
            return told("guest_stays_stopped")
        self._is_stopped = False
        self._resume()
        return ""

    async def _noted(self, kind: str, details: Mapping[str, JsonValue]) -> None:
        if self._audit:
            await self._audit(kind, {**details, "client": self._name})

    def _tell(self, event: AgentEvent) -> None:
        if self._hear:
            self._hear(event)
