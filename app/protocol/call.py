"""A call as the model wrote it (`Block`) and as Wisp runs it (`ToolCall`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from app.base.errors import ToolFailed
from app.base.facts import Fact, Failed, NotAllowed
from app.base.phrases import NO_PHRASE, Phrase
from app.base.values import dataclass, field

JsonValue = None | bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture for the model's next turn. `data` is the encoded file; `label` describes the content in words."""

    data: bytes
    media_type: str
    width: int
    height: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns. `event` and `payload` are for the interface; `llm_echo` and `llm_media` are for the model.

    `facts` are what was found out, for every part of Wisp that decides by the result or tells a person of it.
    `llm_brief` is the echo of a call that others follow in the same batch; the whole echo if it is empty.
    `ends_turn` says how the turn ended if the model gets no further pass after this result (FINISHED, NOT_DONE or
    WAITING); None means that the turn goes on.
    """

    ok: bool
    event: str
    payload: Mapping[str, JsonValue] = field(default_factory=dict)
    llm_echo: str = ""
    llm_media: tuple[Media, ...] = ()
    ends_turn: str | None = None
    facts: tuple[Fact, ...] = ()
    llm_brief: str = ""


MARKED_PART = "a part of the screen"
"""The label of a picture of what the person marked on the screen."""
CHANGED_PART = "changed_part"
"""The payload key for the part of the screen whose pixels changed although the program reported no change."""
PAGE_PICTURE = "the browser's page"
"""The label of pictures that do not show the screen, so that the model cannot point at screen places with them."""
INTRODUCED = "introduced"
"""The payload key for the names of the tools whose docs the model asked for."""
FINISHED = "finished"
NOT_DONE = "failed"
WAITING = "waiting"


def tool_error(tool: str, reason: str, *, for_model: bool = False) -> ToolResult:
    """Return the result of a failed call. `reason` is a sentence that says what to do next.

    `for_model` marks a reason that only the model can follow, so that the interface does not show it.
    """
    return failed(tool, Failed(Phrase(reason), is_for_model=for_model))


def failed(tool: str, why: Failed, *facts: Fact) -> ToolResult:
    reason = why.with_facts(facts)
    payload: dict[str, JsonValue] = {"tag": tool, "reason": reason}
    if why.is_for_model:
        payload["for_model"] = True
    return ToolResult(False, "tool_error", payload, f"{tool}: {reason}", facts=(*facts, why))


def question_result(question: str, options: Iterable[str], echo: str) -> ToolResult:
    """It shows a card with buttons for `options`. The turn waits for the person's answer."""
    payload: dict[str, JsonValue] = {"question": question, "options": list(options), "text": question}
    return ToolResult(True, "question", payload, echo, ends_turn=WAITING)


class GateRefusal(str):
    """Why a call may not run, as a sentence for models. `refused` says by whom it was not let in.

    `what` tells a person why, and `advice` what they can do. `asked` is the question that nobody was there to
    answer, in the person's language.
    """

    refused: NotAllowed
    what: Phrase
    advice: Phrase
    asked: str

    def __new__(
        cls, sentence: str, refused: NotAllowed, what: Phrase, advice: Phrase = NO_PHRASE, asked: str = ""
    ) -> GateRefusal:
        made = super().__new__(cls, sentence)
        made.refused, made.what, made.advice, made.asked = refused, what, advice, asked
        return made


ALLOWING = "allow"
"""The payload key for the rule that would allow a refused call."""


def not_run(tool: str, sentence: str) -> ToolResult:
    """Return the result of a call that the policy refused to run; `sentence` says why."""
    payload: dict[str, JsonValue] = {"tag": tool, "reason": str(sentence), "denied": True}
    facts: tuple[Fact, ...] = (NotAllowed(), Failed(Phrase(str(sentence))))
    if isinstance(sentence, GateRefusal):
        facts = (sentence.refused, Failed(sentence.what, advice=sentence.advice))
        told = ((ALLOWING, sentence.refused.rule), ("asked", sentence.asked))
        payload |= {name: text for name, text in told if text}
    return ToolResult(False, "tool_error", payload, f"{tool}: not run. {sentence}", facts=facts)


def barred(refusal: str, before: Phrase = NO_PHRASE) -> ToolFailed:
    """Return the error for a step of a call that may not run. `before` says which one it was."""
    why = refusal if isinstance(refusal, GateRefusal) else GateRefusal(refusal, NotAllowed(), Phrase(refusal))
    told = Phrase("{told!s}", {"told": f"{before.for_models} {why}".lstrip()})
    advice = Phrase("{step} {why} {advice}", {"step": before, "why": why.what, "advice": why.advice})
    return ToolFailed(told, advice=advice, facts=[why.refused])


@dataclass(frozen=True, slots=True)
class Child:
    """A sub-tag of a call that names an argument, with its text and attributes."""

    name: str
    text: str
    attrs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """One call exactly as the model wrote it, before any value is checked. `name` may be an alias of the tool's name.

    XML dialects fill `attrs`, `children` and `body`; JSON dialects fill `args`. `partial` means that the stream ended
    inside the call: such a block never runs. `span` is its place in the message, in characters. `notes` are sentences
    that tell the model what Wisp read leniently (such as an argument given twice).
    """

    call_id: str
    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    children: tuple[Child, ...] = ()
    body: str = ""
    args: Mapping[str, JsonValue] | None = None
    partial: bool = False
    span: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call with typed arguments, the same for every dialect.

    Arguments that the model did not give are absent. The accessors give handlers typed values without casts; a handler
    may use an accessor only for an argument that the tool's spec declares with that type. `notes` are sentences that
    Wisp adds to what the model reads.
    """

    id: str
    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    progress: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    def has(self, name: str) -> bool:
        return name in self.arguments

    def text(self, name: str, default: str = "") -> str:
        value = self.arguments.get(name, default)
        assert isinstance(value, str), name
        return value

    def integer(self, name: str, default: int = 0) -> int:
        value = self.arguments.get(name, default)
        assert isinstance(value, int), name
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        value = self.arguments.get(name, default)
        assert isinstance(value, (int, float)), name
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.arguments.get(name, False)
        assert isinstance(value, bool), name
        return value
