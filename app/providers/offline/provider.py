"""The offline provider: it reads the conversation like a model would and answers with the next step, as a stream."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

from app.base.texts import clip_middle
from app.base.values import dataclass
from app.protocol.message import Message
from app.protocol.payload import encode
from app.providers.api import Provider, Request, Stopped, StreamEvent, TextDelta, Usage
from app.providers.offline import wording
from app.providers.offline.reading import read_wish
from app.providers.offline.wording import Exchange, StepOutcome, exchanges
from app.providers.offline.words import Plan, PlannedCall, Reading, Refusal, Resume, Talk, Value
from app.settings.store import Settings

_ANGLES = str.maketrans("<>", "‹›")
_TOKEN = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")


def speech(text: str, tone: str) -> str:
    return f'<say tone="{tone}">{_shown(text)}</say>'


def completion(text: str) -> str:
    return f"<attempt_completion><result>{_shown(text)}</result></attempt_completion>"


def call(step: PlannedCall) -> str:
    """A self-closing tag; plain text to type stands between tags, any other in an attribute, where entities hold."""
    arguments = dict(step.arguments)
    body = str(arguments.pop("text")) if step.tool == "computer_type" and _is_plain(step.arguments["text"]) else ""
    tag = step.tool + "".join(f' {name}="{encode(str(value))}"' for name, value in arguments.items())
    return f"<{tag}>{body}</{step.tool}>" if body else f"<{tag}/>"


def pieces(text: str) -> list[str]:
    """The text a token at a time."""
    return _TOKEN.findall(text)


def _is_plain(text: Value) -> bool:
    """Whether text reads back from between tags as it is and can be taken for nothing else."""
    return re.fullmatch(r"\w|\w[^<>&]*[^<>&\s]", str(text)) is not None


def _shown(text: str) -> str:
    """Words for the person. They may quote a tool's result, and nothing in them may become a tag."""
    return text.translate(_ANGLES).strip()


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
        return Reply(completion(wording.talk("no_wish")))
    reading, outcomes = _current(said)
    match reading:
        case Plan(steps):
            return _next(steps, outcomes, said[-1].outcomes)
        case Talk(topic):
            return Reply(completion(wording.talk(topic)))
        case Refusal():
            return _declined(wording.refused(reading))
        case Resume():
            return Reply(completion(wording.talk("nothing_left")))


def _current(said: Sequence[Exchange]) -> tuple[Reading, list[StepOutcome]]:
    """What is to be done now, and all that has been done of it, this time and before it was resumed."""
    outcomes: list[StepOutcome] = []
    for exchange in reversed(said):
        outcomes = [*exchange.outcomes, *outcomes]
        reading = _together(exchange.wishes)
        if not isinstance(reading, Resume):
            is_idle = exchange is not said[-1] and not said[-1].outcomes
            return (Resume() if is_idle and not _has_more(reading, outcomes) else reading), outcomes
    return Resume(), outcomes


def _has_more(reading: Reading, outcomes: Sequence[StepOutcome]) -> bool:
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


def _next(steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome], latest: Sequence[StepOutcome]) -> Reply:
    done = sum(outcome.ok for outcome in outcomes)
    if latest and not latest[-1].ok:
        index = min(done, len(steps) - 1)
        return _declined(wording.failed(steps[index], steps[:done], wording.reason(steps[index], latest[-1].text)))
    if done >= len(steps):
        return _finished(steps, [outcome for outcome in outcomes if outcome.ok])
    step = steps[done]
    return Reply(speech(wording.doing(step, done), "warm") + call(step))


def _finished(steps: Sequence[PlannedCall], outcomes: Sequence[StepOutcome]) -> Reply:
    """The end of a plan: what was done, and which of it nothing shows to have worked."""
    found = _found(steps, [outcome.text for outcome in outcomes])
    if any(outcome.is_dry for outcome in outcomes):
        return Reply(completion(wording.rehearsed(steps, found)))
    doubted = [step for step, outcome in zip(steps, outcomes, strict=False) if wording.is_doubted(step, outcome.proof)]
    if doubted:
        return Reply(speech(wording.doubted(steps, doubted, found), "apologetic"), "unverified")
    return Reply(completion(wording.finished(steps, found)))


def _found(steps: Sequence[PlannedCall], echoes: Sequence[str]) -> str:
    """What the looks of a plan brought, each after the other."""
    looks = [wording.found(step, echo) for step, echo in zip(steps, echoes, strict=False)]
    return "\n".join(clip_middle(look, _SHOWN, _SHOWN) for look in looks if look)


def _declined(sentence: str) -> Reply:
    return Reply(speech(sentence, "apologetic"), "refusal")


MODEL = "offline"


class OfflineProvider:
    """Answer without a model. Stateless: each pass derives the plan and its progress from the messages.

    It always writes inline XML, whichever dialect the request teaches. The assembly reads `dialect` to set up the
    session.
    """

    name = "offline"
    dialect = "xml"

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reply = reply_to(request.messages)
        for piece in pieces(reply.text):
            yield TextDelta(piece)
            await asyncio.sleep(0)  # so that a stop gets through between two pieces
        yield Usage()
        yield Stopped(reply.stop_reason)

    async def models(self) -> tuple[str, ...]:
        return (MODEL,)

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def make(_settings: Settings, _key: str) -> Provider:
    return OfflineProvider()
