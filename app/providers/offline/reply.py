"""What to answer to a conversation: the next step of the plan, its end, or a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.base.clipping import clip_middle
from app.protocol.message import Message
from app.providers.offline import looking, wording, write
from app.providers.offline.conversation import Exchange, Outcome, exchanges
from app.providers.offline.reading import read_wish
from app.providers.offline.steps import Plan, Reading, Refusal, Resume, Step, Talk

_SHOWN = 1500
"""Characters of each end of what a look at the screen brought."""
_HALT = Talk("halt")


@dataclass(frozen=True, slots=True)
class Reply:
    """`stop_reason` is `refusal` where the wish was declined or a step failed: the turn then counts as failed. It is
    `unverified` where nothing shows that a step worked."""

    text: str
    stop_reason: str = "end_turn"


def reply_to(messages: Sequence[Message]) -> Reply:
    """The next message of the assistant, worked out from nothing but the conversation."""
    said = exchanges(messages)
    if not said:
        return Reply(write.completion(wording.talk("no_wish")))
    reading, outcomes = _current(said)
    match reading:
        case Plan(steps):
            return _next(steps, outcomes, said[-1].outcomes)
        case Talk(topic):
            return Reply(write.completion(wording.talk(topic)))
        case Refusal():
            return _declined(wording.refused(reading))
        case Resume():
            return Reply(write.completion(wording.talk("nothing_left")))


def _current(said: Sequence[Exchange]) -> tuple[Reading, list[Outcome]]:
    """What is to be done now, and all that has been done of it, this time and before it was resumed."""
    outcomes: list[Outcome] = []
    for exchange in reversed(said):
        outcomes = [*exchange.outcomes, *outcomes]
        reading = _together(exchange.wishes)
        if not isinstance(reading, Resume):
            is_idle = exchange is not said[-1] and not said[-1].outcomes
            return (Resume() if is_idle and not _has_more(reading, outcomes) else reading), outcomes
    return Resume(), outcomes


def _has_more(reading: Reading, outcomes: Sequence[Outcome]) -> bool:
    return isinstance(reading, Plan) and sum(outcome.ok for outcome in outcomes) < len(reading.steps)


def _together(wishes: Sequence[str]) -> Reading:
    """What was wished for first, then what was added while it was carried out."""
    readings = [read_wish(wish) for wish in wishes]
    if len(readings) == 1:
        return readings[0]
    for reading in readings:
        if isinstance(reading, Refusal) or reading == _HALT:
            return reading
    steps = [step for reading in readings if isinstance(reading, Plan) for step in reading.steps]
    return Plan(tuple(steps)) if steps else readings[-1]


def _next(steps: Sequence[Step], outcomes: Sequence[Outcome], latest: Sequence[Outcome]) -> Reply:
    done = sum(outcome.ok for outcome in outcomes)
    if latest and not latest[-1].ok:
        index = min(done, len(steps) - 1)
        return _declined(wording.failed(steps[index], steps[:done], looking.reason(steps[index], latest[-1].text)))
    if done >= len(steps):
        return _finished(steps, [outcome for outcome in outcomes if outcome.ok])
    step = steps[done]
    return Reply(write.speech(wording.doing(step, done), "warm") + write.call(step))


def _finished(steps: Sequence[Step], outcomes: Sequence[Outcome]) -> Reply:
    """The end of a plan: what was done, and which of it nothing shows to have worked."""
    found = _found(steps, [outcome.text for outcome in outcomes])
    if any(outcome.is_dry for outcome in outcomes):
        return Reply(write.completion(wording.rehearsed(steps, found)))
    doubted = [step for step, outcome in zip(steps, outcomes, strict=False) if wording.is_doubted(step, outcome.proof)]
    if doubted:
        return Reply(write.speech(wording.doubted(steps, doubted, found), "apologetic"), "unverified")
    return Reply(write.completion(wording.finished(steps, found)))


def _found(steps: Sequence[Step], echoes: Sequence[str]) -> str:
    """What the looks of a plan brought, each after the other."""
    looks = [looking.found(step, echo) for step, echo in zip(steps, echoes, strict=False)]
    return "\n".join(clip_middle(look, _SHOWN, _SHOWN) for look in looks if look)


def _declined(sentence: str) -> Reply:
    return Reply(write.speech(sentence, "apologetic"), "refusal")
