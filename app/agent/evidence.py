"""What a turn has to show for itself: whether anything ran, and whether the last act is known to have worked.

From this, and not from how confident the last words sound, follows how a turn that ends in plain words counts.
"""

from __future__ import annotations

from collections.abc import Set

from app.agent.agent_events import Outcome
from app.agent.prompt import admits_failure
from app.base.values import dataclass
from app.protocol.call import ToolResult
from app.protocol.spec import Effect

_CONFIRMED = "confirmed"
_NOTHING = "suspected no-op"
_LOOKS = {Effect.READS, Effect.TALKS}


@dataclass(slots=True)
class Evidence:
    """`in_doubt`: the last act failed, or its receipt does not confirm it. `in_vain`: it failed, or changed nothing.
    `has_looked`: the model has looked since. `needs_person`: the last call waits for something only the person can do.
    `is_refused`: the last act was not allowed, and none has worked since.
    """

    has_acted: bool = False
    in_doubt: bool = False
    in_vain: bool = False
    has_looked: bool = False
    needs_person: bool = False
    is_refused: bool = False

    def note(self, effects: Set[Effect], result: ToolResult) -> None:
        """One call that ran."""
        if effects <= {Effect.TALKS}:
            return
        self.has_acted = True
        self.needs_person = bool(result.payload.get("needs_person"))
        if effects <= _LOOKS:
            self.has_looked = self.has_looked or result.ok
            return
        self.is_refused = self.is_refused and not result.ok
        proof = result.payload.get("proof", _CONFIRMED)
        self.in_doubt = not result.ok or proof != _CONFIRMED
        self.in_vain = not result.ok or proof == _NOTHING
        self.has_looked = result.ok and bool(result.llm_media)

    def outcome_of(self, words: str) -> Outcome:
        """Return the outcome of a turn that ended with these words, without a declared completion."""
        if self.is_refused:
            return Outcome.WAITING
        if not self.has_acted:
            return Outcome.ANSWERED
        if self.in_doubt and admits_failure(words):
            return Outcome.FAILED
        return Outcome.UNVERIFIED if self.in_vain and not self.has_looked else Outcome.FINISHED
