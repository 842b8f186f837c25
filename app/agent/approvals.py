"""Questions to the person: one at a time, told as an event, answered by whoever shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.agent.events import ApprovalAnswered, ApprovalWanted, Scope
from app.agent.turn import Tell
from app.agent.words import told

REFUSALS = 3
"""Refusals in a row that end a turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person said. `refusal` is the sentence for the model, empty where it is allowed."""

    refusal: str = ""
    scope: Scope = Scope.ONCE


class Approvals:
    """Questions to the person, one at a time. Not `attended` means that nobody can answer: every question is a no."""

    def __init__(self, new_id: Callable[[], str], *, attended: bool) -> None:
        self._new_id = new_id
        self.attended = attended
        self._waiting: dict[str, asyncio.Future[tuple[bool, str, Scope]]] = {}
        self._turnstile = asyncio.Lock()

    def answer(self, approval_id: str, *, allow: bool, words: str = "", scope: str = Scope.ONCE.value) -> None:
        """The person's answer; one for a question that is no longer open is ignored. An unknown scope means once."""
        waiting = self._waiting.get(approval_id)
        if waiting and not waiting.done():
            known = Scope(scope) if scope in {each.value for each in Scope} else Scope.ONCE
            waiting.set_result((allow, words, known))

    async def ask(self, wanted: ApprovalWanted, tell: Tell) -> Answer:
        """Show the question and wait. `wanted` gets its id here; a scope it does not offer counts as once."""
        if not self.attended:
            return Answer(told("unattended"))
        async with self._turnstile:
            allowed, words, scope = await self._asked(replace(wanted, approval_id=self._new_id()), tell)
        if allowed:
            return Answer(scope=scope if scope in wanted.scopes else Scope.ONCE)
        return Answer(told("denied_words", words=words) if words else told("denied"))

    async def _asked(self, wanted: ApprovalWanted, tell: Tell) -> tuple[bool, str, Scope]:
        approval_id = wanted.approval_id
        waiting: asyncio.Future[tuple[bool, str, Scope]] = asyncio.get_running_loop().create_future()
        self._waiting[approval_id] = waiting
        answered = (False, "", Scope.ONCE)
        tell(wanted)
        try:
            answered = await waiting
        finally:
            del self._waiting[approval_id]
            tell(ApprovalAnswered(approval_id, answered[0], answered[1], answered[2]))
        return answered
