"""The agent's events, a closed union of facts. The user interface is a pure function of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum

from app.base.errors import Remedy
from app.base.facts import Fact, as_json
from app.base.values import dataclass, field
from app.protocol.call import MARKED_PART as MARKED_PART  # noqa: PLC0414 - as below
from app.protocol.call import JsonValue
from app.protocol.call import Media as Media  # noqa: PLC0414 - the presence sees no protocol: it has Media from here


class State(StrEnum):
    IDLE = "idle"
    THINKING = "thinking"
    BUSY = "busy"
    NEEDS_YOU = "needs_you"
    DRIVING = "driving"
    ERROR = "error"


_KEYS = "This program takes text only by typing: no line breaks, tabs or emoji. Copy the new text instead."
_ONE_LINE = "This field holds one line, and the new text has several. Copy it instead."


@dataclass(frozen=True, slots=True)
class Selected:
    """A text that is selected in a program.

    `window` is the window's ref, `title` its title. `field` is the ref of the field, "" if its program does not
    describe it. `start` is the index of the text's first character in the field. `obstacle` is the sentence why other
    text cannot take its place, "" if it can. `needs_keys`: only typing puts text there. `has_lines`: the field can hold
    several lines.
    """

    text: str
    window: str
    title: str
    field: str = ""
    start: int = 0
    obstacle: str = ""
    needs_keys: bool = False
    has_lines: bool = True

    def obstacle_to(self, text: str) -> str:
        """Why `text` cannot take its place and be taken back again; "" if it can."""
        if self.obstacle:
            return self.obstacle
        if self.needs_keys and any(sign in "\t\n" or sign > "\uffff" for sign in self.text + text):
            return _KEYS
        return _ONE_LINE if not self.has_lines and "\n" in text else ""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to rewrite a text: its name for the person, and what the model is asked; "" for a way without a model."""

    name: str
    asks: str = ""


class Outcome(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    """Not done: by an error, or the model says so."""
    UNVERIFIED = "unverified"
    """Nothing shows that the actions worked."""
    ANSWERED = "answered only"
    """The model answered in plain words, and no call ran."""
    CUT_OFF = "cut off"
    """The model reached its longest answer, also after it was asked to go on."""
    REPEATING = "repeating"
    """The model wrote the same words over and over."""
    WAITING = "waiting"
    STOPPED = "stopped"


class Scope(StrEnum):
    """How far the person's permission reaches."""

    ONCE = "once"
    TASK = "task"
    """The same action again, until this task is done."""
    ALWAYS = "always"
    """Always: a rule is written into the person's own file."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What the person attached to a message. `name` is for people, `line` for models; `kind` is file, region …"""

    kind: str
    name: str
    line: str


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The person's words begin a turn. `attached` are the names of what they attached."""

    turn_id: str
    text: str
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SaidMeanwhile:
    """What the person wrote while the turn ran. `attached` are the names of what they attached."""

    text: str
    attached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassStarted:
    number: int


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State


@dataclass(frozen=True, slots=True)
class TagStart:
    """A call began to arrive: open its card. `voiced` calls are speech, not cards.

    `within` is the call for whose goal this one is made; its card opened before and closes after.
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
    """A piece of speech. All pieces of one call have the same `tone`; plain prose has call_id ''."""

    call_id: str
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolRunning:
    """A call begins to run: all of its arguments are known."""

    call_id: str
    tool: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """An update of a running call, such as new output or a countdown."""

    call_id: str
    event: str
    payload: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The result event of a call, which closes its card. Every `TagStart` is followed by exactly one."""

    call_id: str
    tool: str
    ok: bool
    event: str
    payload: Mapping[str, JsonValue] = field(default_factory=dict)
    echo: str = ""
    media: tuple[Media, ...] = ()
    elapsed_s: float = 0.0
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalWanted:
    """The person must allow or deny a call before it runs.

    `sentence` says in plain words what it would do. `why` is the rule's own sentence.
    `detail` holds the call's arguments word for word. `who` is the program acted on; `undo` says what can be undone;
    `rule` decided. `sources` are whose words were read before; `reasons` are sentences about a command. `scopes` are
    the possible answers. `ring` is the place in the picture's pixels. `deed` is what is asked for, without the words
    around it in the sentence; `strong` are the sentence's verbs, each as its first character and the one behind it.
    `icon` is the name or path of the program's icon. Everything but the tool's name is in the person's language.
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
    deed: str = ""
    strong: tuple[tuple[int, int], ...] = ()
    icon: str = ""


@dataclass(frozen=True, slots=True)
class ProgramsUsed:
    """The programs that the conversation has used, the newest last.

    `granted` are those that the person granted it (`Owner.ref`), so that a conversation that goes on later keeps them.
    """

    names: tuple[str, ...]
    granted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """The end of a question. `is_withdrawn`: it went before the person answered, and nothing was allowed."""

    approval_id: str
    allowed: bool
    words: str = ""
    scope: Scope = Scope.ONCE
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The permission mode changed: ask, auto, plan or yolo, which ends by itself after `left_s` seconds."""

    mode: str
    left_s: float = 0.0


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """The turn's tokens and cost so far. The cost is None if the price is unknown."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person about the run itself (a retry, a limit). `level` is info, warning or error."""

    level: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The end of a turn. `text` is its result, the question asked, or a sentence on what went wrong.

    `remedy` is what the person can do about a failure. `offers` is what they may say next, each in its own words.
    `told_by_card`: the rows of the turn's calls tell the same as the text.
    """

    turn_id: str
    outcome: Outcome
    text: str
    remedy: Remedy = Remedy.AGAIN
    offers: tuple[str, ...] = ()
    told_by_card: bool = False


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
    | ProgramsUsed
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
    ProgramsUsed: "programs_used",
    ModeChanged: "mode",
    UsageChanged: "usage",
    Notice: "notice",
    TurnEnded: "turn_ended",
}


_UNTOLD = ("event", "media", "picture")


def to_json(event: AgentEvent) -> dict[str, JsonValue]:
    """`event` is the event's name; for a finished tool, the tool's own event name."""
    name = event.event if isinstance(event, (ToolFinished, ToolProgress)) else _NAMES[type(event)]
    fields = {f.name: getattr(event, f.name) for f in dataclasses.fields(event) if f.name not in _UNTOLD}
    if isinstance(event, ToolFinished):
        fields["media"] = [
            {"media_type": m.media_type, "width": m.width, "height": m.height, "label": m.label} for m in event.media
        ]
        fields["facts"] = as_json(event.facts)
    if isinstance(event, ToolProgress):
        fields["progress"] = True
    return {"event": name, **fields}
