"""Ask the person whether another agent may do something: in the presence, or else in the agent's own window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.agent.agent_events import ApprovalWanted, Scope
from app.agent.gate import ApprovalAnswer
from app.agent.turn import Tell
from app.base import resources
from app.base.facts import NotAllowed
from app.base.phrases import Phrase
from app.base.values import replace
from app.features.serve.questions import ask_in_presence
from app.protocol.call import GateRefusal

_NOBODY = Phrase("It needs your permission, and you could not be asked.")
Elicit = Callable[[ApprovalWanted], Awaitable[ApprovalAnswer | None]]


class ClientApprovals:
    """Asks for one client. `elicit` asks in the client's window, and returns None if that is impossible.

    `is_own_desktop`: the desktop is a virtual one, on which no presence runs.
    """

    def __init__(self, elicit: Elicit, *, is_own_desktop: bool) -> None:
        self._elicit = elicit
        self.attended = not is_own_desktop

    async def ask(self, wanted: ApprovalWanted, _tell: Tell) -> ApprovalAnswer:
        # A yes counts as long as the client is connected, which is no task; and a yes for good is not offered, because
        # the client's name is its own word.
        wanted = replace(wanted, scopes=(Scope.ONCE,))
        answer = await ask_in_presence(wanted) if self.attended else None
        return answer or await self._elicit(wanted) or self._unanswered()

    def _unanswered(self) -> ApprovalAnswer:
        told = resources.table("serve.toml", resources.Table)
        said = told["unattended" if self.attended else "unattended_own"].strip()
        return ApprovalAnswer(GateRefusal(said, NotAllowed(is_unattended=True), _NOBODY))
