"""What was said and what came of it: the wishes of a conversation, each with the outcomes of its calls, as facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from app.base.fact_words import proof_of
from app.base.facts import DialogAsks, Fact, FileSaved, NotAllowed, Rehearsed, WindowChanged, first
from app.base.values import dataclass, field
from app.protocol.message import Author, CallOutcome, Message, Role, TextPart

_UNVERIFIABLE, _CONFIRMED, _NO_EFFECT = "unverifiable", "confirmed", "suspected no-op"

F = TypeVar("F", bound=Fact)


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of one step, and what was found out."""

    ok: bool
    facts: tuple[Fact, ...] = ()

    def get(self, kind: type[F]) -> F | None:
        """The first one counts."""
        return first(kind, self.facts)

    @property
    def proof(self) -> str:
        """The proof that the receipt claims; "" without a receipt. Of several, the weakest counts."""
        return proof_of(self.facts)

    @property
    def is_confirmed(self) -> bool:
        return self.proof == _CONFIRMED

    @property
    def is_unverifiable(self) -> bool:
        return self.proof == _UNVERIFIABLE

    def shows(self, wanted: str, besides: str | None = None) -> bool:
        """Return whether a window "opened" or "closed", anything "changed", a file is "saved"; True if `wanted` is "".

        What happens to a window with the title `besides` does not count. Few programs tell that they saved, so “saved”
        is only false where a window opened instead: it asks for a name, or says why nothing was saved.
        """
        if wanted == "saved":
            return self.get(FileSaved) is not None or not self.shows("opened")
        if wanted == "changed":
            return self.proof != _NO_EFFECT
        changes = (fact for fact in self.facts if isinstance(fact, WindowChanged) and fact.title != besides)
        return not wanted or any(fact.event == wanted for fact in changes)

    @property
    def is_dry(self) -> bool:
        return self.get(Rehearsed) is not None

    @property
    def is_refused(self) -> bool:
        """By the person."""
        refused = self.get(NotAllowed)
        return refused is not None and refused.said_no

    @property
    def is_unattended(self) -> bool:
        """True if it needed an answer and nobody was there."""
        refused = self.get(NotAllowed)
        return refused is not None and refused.is_unattended

    @property
    def dialog(self) -> DialogAsks | None:
        """The one that stands open now."""
        return first(DialogAsks, reversed(self.facts))


class Wish(NamedTuple):
    """The person's own words, and the kinds of what they attached."""

    text: str
    attached: tuple[str, ...] = ()


@dataclass(slots=True)
class Exchange:
    """A wish, what the person said during its execution, and the outcomes of its calls, in order."""

    wishes: list[Wish] = field(default_factory=list)
    outcomes: list[StepOutcome] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """True if the person said no to the last call."""
        return bool(self.outcomes) and self.outcomes[-1].is_refused


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """Return all wishes of the conversation, the latest last.

    What the person said while a call waited for their answer is a wish of its own if they then refused that call.
    """
    found: list[Exchange] = []
    texts = (part for message in messages if message.role is Role.USER for part in message.parts)
    for part in texts:
        if not isinstance(part, TextPart) or not part.text.strip():
            continue
        if part.outcomes and found:
            found[-1].outcomes.append(_of_pass(part.outcomes))
        elif part.author is Author.MEANWHILE and found and not found[-1].is_refused:
            found[-1].wishes.append(_wish_in(part))
        elif part.author is not Author.WISP:
            found.append(Exchange([_wish_in(part)]))
    return found


def _wish_in(part: TextPart) -> Wish:
    return Wish(part.wish if part.attached else part.wish or part.text, part.attached)


def _of_pass(outcomes: Sequence[CallOutcome]) -> StepOutcome:
    """A pass makes one call; of several answers, all must be good."""
    return StepOutcome(all(one.ok for one in outcomes), tuple(fact for one in outcomes for fact in one.facts))
