"""Ask the person in the client's own window (https://modelcontextprotocol.io/specification, elicitation).

Up to revision 2025-11-25 the server sends a request. From 2026-07-28 on, the answer to the call asks for input, and the
client makes the call once more, with the person's answer and the state that it was given; the call waits meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextvars import ContextVar
from typing import Any

import mcp_types as types

from app.agent.agent_events import ApprovalWanted
from app.agent.gate import ApprovalAnswer
from app.base import ids
from app.base.clipping import clip_middle

_FIELD, _KEY = "answer", "permission"
_YES, _NO = "yes", "no"
_DETAIL_CHARS = 2_000
_HOW_LONG = "A yes to a program or a website counts until this agent disconnects."
_SCHEMA = {
    "type": "object",
    "properties": {_FIELD: {"type": "string", "enum": [_YES, _NO], "title": "Allow it?"}},
    "required": [_FIELD],
}
Answer = Any
"""A `CallToolResult`, or an `InputRequiredResult` with the question to the person."""


class _Call:
    """A call that runs. `questions` are those that the client must bring to the person."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.questions = asyncio.Queue[types.ElicitRequest]()
        self.answers = asyncio.Queue[types.ElicitResult]()
        self.task: asyncio.Task[types.CallToolResult]


_now: ContextVar[_Call] = ContextVar("the call that runs")


class Elicitation:
    """Runs the calls of one client, and asks in its window. `is_allowed`: the person lets the client ask."""

    def __init__(self, *, is_allowed: bool) -> None:
        self._is_allowed = is_allowed
        self._waiting: dict[str, _Call] = {}

    async def run(self, session: Any, work: Coroutine[Any, Any, types.CallToolResult]) -> Answer:
        """Run a new call until its result, or until it asks. What still waited for an answer ends."""
        for one in self._waiting.values():
            one.task.cancel()
        self._waiting.clear()
        call = _Call(session)
        _now.set(call)
        call.task = asyncio.ensure_future(work)
        return await self._until_asked(call)

    async def go_on(self, state: str, responses: Mapping[str, Any] | None) -> Answer | None:
        """Go on with a call that asked; None if none waits under this state."""
        call = self._waiting.pop(state, None)
        if call is None:
            return None
        answer = (responses or {}).get(_KEY)
        call.answers.put_nowait(
            answer if isinstance(answer, types.ElicitResult) else types.ElicitResult(action="cancel")
        )
        return await self._until_asked(call)

    async def ask(self, wanted: ApprovalWanted) -> ApprovalAnswer | None:
        """Ask in the client's window. Return None if the person did not allow that, or if the client cannot."""
        call = _now.get()
        able = call.session.client_capabilities
        if not (self._is_allowed and able and able.elicitation):
            return None
        message = asked_whole(wanted)
        if call.session.can_send_request:
            answer = await call.session.elicit_form(message, _SCHEMA)
        else:
            form = types.ElicitRequestFormParams(message=message, requested_schema=_SCHEMA)
            call.questions.put_nowait(types.ElicitRequest(params=form))
            answer = await call.answers.get()
        is_yes = answer.action == "accept" and (answer.content or {}).get(_FIELD) == _YES
        return ApprovalAnswer(scope=wanted.scopes[0]) if is_yes else ApprovalAnswer.denied()

    async def _until_asked(self, call: _Call) -> Answer:
        question = asyncio.ensure_future(call.questions.get())
        try:
            await asyncio.wait({call.task, question}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.task.cancel()
            raise
        finally:
            is_asked = question.done()
            question.cancel()
        if not is_asked or call.task.done():
            return await call.task
        state = ids.unique("ask-")
        self._waiting[state] = call
        return types.InputRequiredResult(input_requests={_KEY: question.result()}, request_state=state)


def asked_whole(wanted: ApprovalWanted) -> str:
    """All that a yes lets happen: each argument word for word, and how long it counts."""
    told = (
        wanted.sentence,
        *wanted.reasons,
        clip_middle(wanted.detail, _DETAIL_CHARS, _DETAIL_CHARS),
        wanted.undo,
        _HOW_LONG,
    )
    return "\n".join(filter(None, told))
