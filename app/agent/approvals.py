"""The gate every call passes: the policy's verdict, the person's answer where one is wanted, and circles noticed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from app.agent.cards import Cards
from app.agent.events import ApprovalAnswered, ApprovalWanted, State
from app.agent.policy import Decision, Policy, Verdict
from app.agent.repetition import ASK_AT
from app.agent.turn import Tell, Turn
from app.agent.words import told
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec

REFUSALS = 3
"""Refusals in a row that end a turn."""
_HARMLESS = (Effect.READS, Effect.TALKS)


class Approvals:
    """Questions to the person, one at a time. Not `attended` means that nobody can answer: every question is a no."""

    def __init__(self, new_id: Callable[[], str], *, attended: bool) -> None:
        self._new_id = new_id
        self.attended = attended
        self._waiting: dict[str, asyncio.Future[tuple[bool, str]]] = {}
        self._turnstile = asyncio.Lock()

    def answer(self, approval_id: str, *, allow: bool, words: str = "") -> None:
        """The person's answer; one for a question that is no longer open is ignored."""
        waiting = self._waiting.get(approval_id)
        if waiting and not waiting.done():
            waiting.set_result((allow, words))

    async def ask(self, call: ToolCall, sentence: str, tell: Tell) -> str:
        """Empty where the person allows it, otherwise the sentence for the model."""
        if not self.attended:
            return told("unattended")
        async with self._turnstile:
            allowed, words = await self._asked(call, sentence, tell)
        if allowed:
            return ""
        return told("denied_words", words=words) if words else told("denied")

    async def _asked(self, call: ToolCall, sentence: str, tell: Tell) -> tuple[bool, str]:
        approval_id = self._new_id()
        waiting: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()
        self._waiting[approval_id] = waiting
        answered = (False, "")
        tell(ApprovalWanted(approval_id, call.id, call.name, sentence, _detail(call)))
        try:
            answered = await waiting
        finally:
            del self._waiting[approval_id]
            tell(ApprovalAnswered(approval_id, *answered))
        return answered


def _detail(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, indent=1, default=str)


class TurnGate:
    """Lets calls of one turn run, or not. Whatever goes wrong here is a no."""

    def __init__(self, policy: Policy, approvals: Approvals, turn: Turn, cards: Cards) -> None:
        self._policy = policy
        self._approvals = approvals
        self._turn = turn
        self._cards = cards

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        verdict = self._policy.decide(call, spec)
        if verdict.decision is not Decision.DENY and spec.feeds_back and not self._turn.follows_plan:
            verdict = self._unless_circling(call, verdict)
        refusal = verdict.sentence if verdict.decision is Decision.DENY else ""
        if verdict.decision is Decision.ASK:
            refusal = await self._ask(call, verdict.sentence)
        self._count(spec, refused=bool(refusal))
        if not refusal:
            if spec.effect is not Effect.TALKS:
                self._turn.mood.become(State.BUSY)
            self._cards.running(call, spec)
        return refusal

    def _unless_circling(self, call: ToolCall, verdict: Verdict) -> Verdict:
        repetition = self._turn.repetition
        count = max(repetition.note(call.name, call.arguments), repetition.idle)
        if count < ASK_AT:
            return verdict
        self._turn.looping = True
        return Verdict(Decision.ASK, told("repeated_ask", count=str(count)))

    async def _ask(self, call: ToolCall, sentence: str) -> str:
        if self._approvals.attended:
            self._turn.mood.become(State.NEEDS_YOU)
        with self._turn.budget.waiting():
            refusal = await self._approvals.ask(call, sentence, self._turn.tell)
        if not refusal and self._turn.looping:
            self._turn.looping = False
            self._turn.repetition.forgive()
        return refusal

    def _count(self, spec: ToolSpec, *, refused: bool) -> None:
        if refused:
            self._turn.refused += 1
        elif spec.effect not in _HARMLESS:
            self._turn.refused = 0
