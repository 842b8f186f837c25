"""The agent's events: a closed union of facts. The presence is a pure function of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum

from app.base.values import dataclass, field
from app.protocol.call import JsonValue
from app.protocol.call import Media as Media  # noqa: PLC0414 - the presence sees no protocol: it has Media from here


class State(StrEnum):
    IDLE = "idle"
    THINKING = "thinking"
    BUSY = "busy"
    NEEDS_YOU = "needs_you"
    DRIVING = "driving"
    ERROR = "error"


class Outcome(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    """Nothing shows that what was done worked."""
    ANSWERED = "answered only"
    """It ended in plain words, and no call ran."""
    CUT_OFF = "cut off"
    """The model reached its longest answer, also after it was asked to go on."""
    REPEATING = "repeating"
    """The model wrote the same words over and over."""
    WAITING = "waiting"
    STOPPED = "stopped"


class Scope(StrEnum):
    """How far the person's yes reaches."""

    ONCE = "once"
    TASK = "task"
    """The same again, until this task is done."""
    ALWAYS = "always"
    """A rule in the person's own file."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    turn_id: str
    text: str


@dataclass(frozen=True, slots=True)
class SaidMeanwhile:
    """What the person said while the turn ran."""

    text: str


@dataclass(frozen=True, slots=True)
class PassStarted:
    number: int


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State


@dataclass(frozen=True, slots=True)
class TagStart:
    """A call has begun to arrive: open its card. `voiced` calls are speech, not cards.

    `within` is the call whose goal this one is made for; its card opened before and closes after.
    """

    call_id: str
    tool: str
    attrs: Mapping[str, JsonValue] = field(default_factory=dict)
    voiced: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class TagDelta:
    """A piece of a call's payload, as the model writes it."""

    call_id: str
    param: str
    text: str


@dataclass(frozen=True, slots=True)
class SayDelta:
    """A piece of speech. `tone` is the same for all pieces of one call; plain prose comes with call_id ''."""

    call_id: str
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolRunning:
    """All arguments are known and the call runs now."""

    call_id: str
    tool: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Something a running call shows: output that arrives, a countdown."""

    call_id: str
    event: str
    payload: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The call's own event: its card closes with it. Every `TagStart` is followed by exactly one of these."""

    call_id: str
    tool: str
    ok: bool
    event: str
    payload: Mapping[str, JsonValue] = field(default_factory=dict)
    echo: str = ""
    media: tuple[Media, ...] = ()
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ApprovalWanted:
    """The person must allow or deny a call before it runs.

    `sentence` says what it would do, in a person's words; `why` is the rule's own sentence, which the model reads too;
    `detail` is what the call was given, word for word; `who` is acted on; `undo` says what can be taken back; `rule` is
    what decided; `sources` are whose words were read before; `reasons` are sentences about a command. `scopes` may be
    answered. `ring` is the place in the picture's pixels.
    """

    approval_id: str
    call_id: str
    tool: str
    sentence: str
    detail: str = ""
    who: str = ""
    undo: str = ""
    rule: str = ""
    why: str = ""
    sources: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = (Scope.ONCE,)
    picture: Media | None = None
    ring: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    approval_id: str
    allowed: bool
    words: str = ""
    scope: Scope = Scope.ONCE


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """What runs without asking is another: ask, auto, plan or yolo, which ends by itself after `left_s` seconds."""

    mode: str
    left_s: float = 0.0


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """Tokens and money of the turn so far; money is None where the price is not known."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person about the run itself (a retry, a ceiling); `level` is info, warning or error."""

    level: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """`text` is the result shown to the person, the question asked, or the sentence that says what went wrong."""

    turn_id: str
    outcome: Outcome
    text: str


AgentEvent = (
    TurnStarted
    | SaidMeanwhile
    | PassStarted
    | StateChanged
    | TagStart
    | TagDelta
    | SayDelta
    | ThoughtDelta
    | ToolRunning
    | ToolProgress
    | ToolFinished
    | ApprovalWanted
    | ApprovalAnswered
    | ModeChanged
    | UsageChanged
    | Notice
    | TurnEnded
)

_NAMES = {
    TurnStarted: "turn_started",
    SaidMeanwhile: "said_meanwhile",
    PassStarted: "pass_started",
    StateChanged: "state",
    TagStart: "tag_start",
    TagDelta: "tag_delta",
    SayDelta: "say_delta",
    ThoughtDelta: "thought_delta",
    ToolRunning: "tool_running",
    ApprovalWanted: "approval_wanted",
    ApprovalAnswered: "approval_answered",
    ModeChanged: "mode",
    UsageChanged: "usage",
    Notice: "notice",
    TurnEnded: "turn_ended",
}


_UNTOLD = ("event", "media", "picture")


def to_json(event: AgentEvent) -> dict[str, JsonValue]:
    """The event as one JSON object; `event` is its name, for a finished tool the tool's own event name."""
    name = event.event if isinstance(event, (ToolFinished, ToolProgress)) else _NAMES[type(event)]
    fields = {f.name: getattr(event, f.name) for f in dataclasses.fields(event) if f.name not in _UNTOLD}
    if isinstance(event, ToolFinished):
        fields["media"] = [
            {"media_type": m.media_type, "width": m.width, "height": m.height, "label": m.label} for m in event.media
        ]
    if isinstance(event, ToolProgress):
        fields["progress"] = True
    return {"event": name, **fields}
