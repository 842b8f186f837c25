"""Write-ahead log of a session, its form as JSON, and what an archive gives back of past conversations.

Record a call's intent before it runs and its result afterwards. Secrets and pictures are left out of the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from enum import Enum, StrEnum
from typing import Any, Protocol

from app.agent import agent_events
from app.agent.agent_events import AgentEvent, Outcome, TurnEnded
from app.agent.prompt import told
from app.base.facts import Fact, as_json, of_json
from app.base.values import dataclass
from app.base.withheld import cleaned
from app.protocol.call import Media, ToolCall, ToolResult
from app.protocol.message import (
    Author,
    CallOutcome,
    CallPart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ResultPart,
    Role,
    TextPart,
    user,
)
from app.protocol.spec import HARMLESS, ToolSpec
from app.tools.executor import Gate


class EntryKind(Enum):
    """Where an entry comes from. This decides what may be shortened."""

    PERSON = "the person's own words"
    MODEL = "what the model said and called"
    RESULTS = "what calls brought"
    NOTE = "what Wisp told the model"
    SUMMARY = "what stands for entries that were taken out"


@dataclass(frozen=True, slots=True)
class Entry:
    kind: EntryKind
    message: Message


def note(name: str, **values: str) -> Message:
    """Return what Wisp itself tells the model about the run (`resources/prompts/loop.toml`)."""
    return user(told(name, **values), Author.WISP)


def _is_others(part: Part) -> bool:
    return isinstance(part, ImagePart) or (isinstance(part, TextPart) and part.holds_others)


class Watcher(Protocol):
    """Stores the history outside of this process. It does not learn what `rewrite` removes."""

    def entries_added(self, entries: Sequence[Entry], heard: int, whole: Sequence[Entry]) -> None: ...

    def entries_replaced(self, entries: Sequence[Entry]) -> None: ...


class History:
    """Entries in order. `messages` joins neighbours of one role, because some servers require alternating roles."""

    def __init__(self, watcher: Watcher | None = None) -> None:
        self._entries: list[Entry] = []
        self._watcher = watcher

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    @property
    def messages(self) -> tuple[Message, ...]:
        joined: list[Message] = []
        for entry in self._entries:
            if joined and joined[-1].role is entry.message.role:
                joined[-1] = Message(joined[-1].role, joined[-1].parts + entry.message.parts)
            else:
                joined.append(entry.message)
        return tuple(joined)

    @property
    def holds_others_words(self) -> bool:
        """True if it contains text that neither the person nor the model wrote."""
        return any(
            entry.kind in (EntryKind.RESULTS, EntryKind.SUMMARY) or any(map(_is_others, entry.message.parts))
            for entry in self._entries
        )

    def add(self, kind: EntryKind, message: Message) -> None:
        self.extend(Entry(kind, message))

    def extend(self, *entries: Entry, heard: int = 0) -> None:
        """Add entries that belong together. `heard` of them are what the person wrote while a turn ran."""
        added = [entry for entry in entries if entry.message.parts]
        self._entries += added
        if added and self._watcher:
            self._watcher.entries_added(added, heard, self._entries)

    def clear(self) -> None:
        self.replace(())

    def replace(self, entries: tuple[Entry, ...]) -> None:
        """Replace all entries, to shorten the history. They must begin with the user's role."""
        if entries and entries[0].message.role is not Role.USER:
            raise ValueError("A conversation begins with the user.")
        self._entries = list(entries)
        if self._watcher:
            self._watcher.entries_replaced(entries)

    def rewrite(self, part: Callable[[Part], Part | None]) -> None:
        """Replace each part by what `part` returns for it; None removes it."""
        rewritten = []
        for entry in self._entries:
            parts = tuple(new for old in entry.message.parts if (new := part(old)) is not None)
            if parts:
                rewritten.append(Entry(entry.kind, Message(entry.message.role, parts)))
        self._entries = rewritten


class Recorder(Protocol):
    """Records a session. No method raises, and only `settled` waits. Calls keep their order."""

    def take(self, event: AgentEvent) -> None:
        """Record an event that the person saw. A turn's start creates the conversation if there is none yet."""
        ...

    def entries_added(self, entries: Sequence[Entry], heard: int, whole: Sequence[Entry]) -> None:
        """Record new entries. `heard` counts those that the person wrote while a turn ran; `whole` is the history."""
        ...

    def entries_replaced(self, entries: Sequence[Entry]) -> None:
        """Record that the history was replaced."""
        ...

    def said_meanwhile(self, text: str) -> None: ...

    def call_begins(self, call: ToolCall, said: Message) -> None:
        """Record a call before it runs, without waiting for the disk; `settled` waits for it.

        `said` is what the model has written in this pass.
        """
        ...

    def call_ended(self, call_id: str, result: ToolResult) -> None: ...

    def begin_anew(self) -> None:
        """Begin another conversation."""
        ...

    async def settled(self) -> str:
        """Wait until everything is on disk. Returns a sentence for the person if it is not, once, else ""."""
        ...

    @property
    def is_held_up(self) -> bool:
        """Whether `settled` gave up, because another program keeps this one from writing."""
        ...

    async def close(self) -> None: ...


class NoRecorder:
    """Records nothing."""

    def take(self, _event: AgentEvent) -> None:
        return None

    def entries_added(self, _entries: Sequence[Entry], _heard: int, _whole: Sequence[Entry]) -> None:
        return None

    def entries_replaced(self, _entries: Sequence[Entry]) -> None:
        return None

    def said_meanwhile(self, _text: str) -> None:
        return None

    def call_begins(self, _call: ToolCall, _said: Message) -> None:
        return None

    def call_ended(self, _call_id: str, _result: ToolResult) -> None:
        return None

    def begin_anew(self) -> None:
        return None

    async def settled(self) -> str:
        return ""

    @property
    def is_held_up(self) -> bool:
        return False

    async def close(self) -> None:
        return None


class KeptFirst:
    """A gate that lets nothing change before all that was noted is on the disk.

    `warn` tells the person that something cannot be saved.
    """

    def __init__(self, gate: Gate, record: Recorder) -> None:
        self._gate = gate
        self._record = record
        self.warn: Callable[[str], None] = lambda _: None

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        refusal = await self._gate.admit(call, spec)
        # Wait for the disk only before a change, because a call that changes nothing can be repeated after a crash.
        if refusal or spec.effects_of(call) <= HARMLESS:
            return refusal
        if problem := await self._record.settled():
            self.warn(problem)
        return told("unrecorded") if self._record.is_held_up else ""


class WrittenAhead:
    """A gate that records each allowed call before it runs. `said` returns the words of the pass so far."""

    def __init__(self, gate: Gate, record: Recorder) -> None:
        self._gate = gate
        self._record = record
        self.said: Callable[[], Message] = lambda: Message(Role.ASSISTANT, ())

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        refusal = await self._gate.admit(call, spec)
        if not refusal:
            self._record.call_begins(call, self.said())
        return refusal


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A saved conversation. Times are in seconds since the epoch; `cost_usd` is None if a price is unknown."""

    id: str
    title: str
    began_at: float
    changed_at: float
    turns: int
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and cost over some time. `cost_usd` is None if the price of a used model is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    turns: int = 0


class Archive(Protocol):
    """Past conversations. Raises WispError with a sentence for the person if the journal cannot be used."""

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        """The newest first. `search` finds words in titles and messages."""
        ...

    async def events(self, conversation_id: str) -> list[AgentEvent]:
        """What the person saw, in order, without pictures."""
        ...

    async def rename(self, conversation_id: str, title: str) -> None: ...

    async def delete(self, conversation_id: str) -> None:
        """Delete the conversation for good."""
        ...

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        """Return the whole conversation as text, to save or to send."""
        ...

    async def spent(self, since: float) -> Spent:
        """Return what all conversations used since that moment (seconds since the epoch)."""
        ...


_SHOWN: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        agent_events.TurnStarted,
        agent_events.SaidMeanwhile,
        agent_events.PassStarted,
        agent_events.TagStart,
        agent_events.TagDelta,
        agent_events.SayDelta,
        agent_events.ThoughtDelta,
        agent_events.ToolRunning,
        agent_events.ToolProgress,
        agent_events.ToolFinished,
        agent_events.UsageChanged,
        agent_events.ProgramsUsed,
        agent_events.Notice,
        agent_events.TurnEnded,
    )
}
"""The events that are saved, to show a conversation again. States and questions are only of the moment."""
_PARTS: dict[str, type[Any]] = {kind.__name__: kind for kind in (TextPart, OpaquePart, CallPart, ResultPart)}


def is_shown(event: AgentEvent) -> bool:
    """True if the event is saved, to show the conversation again."""
    return type(event).__name__ in _SHOWN


def event_to_text(event: AgentEvent) -> str:
    return _written(cleaned(_fields_of(event)))


def event_of(text: str) -> AgentEvent | None:
    """None if this program does not know the event's kind."""
    tree = json.loads(text)
    kind = _SHOWN.get(tree.pop("is", ""))
    if kind is None:
        return None
    event: AgentEvent = kind(**_known(kind, tree))
    if isinstance(event, agent_events.ToolFinished):
        return replace(event, facts=facts_of(tree.get("facts", [])))
    if isinstance(event, (agent_events.TurnStarted, agent_events.SaidMeanwhile)):
        return replace(event, attached=tuple(event.attached))
    if isinstance(event, agent_events.ProgramsUsed):
        return agent_events.ProgramsUsed(tuple(event.names), tuple(event.granted))
    if isinstance(event, TurnEnded):
        return replace(event, outcome=Outcome(event.outcome), offers=tuple(event.offers))
    return event


def message_to_text(message: Message) -> tuple[str, bool]:
    """Return the message as JSON text, and True if a secret or a picture was taken out of it.

    A vendor's block is kept whole or left out.
    """
    parts: list[Any] = []
    altered = False
    for part in message.parts:
        plain = _plain(part)
        fields_ = _fields_of(plain)
        clean = cleaned(fields_)
        changed = plain is not part or clean != fields_
        altered = altered or changed
        if not (changed and isinstance(part, OpaquePart)):
            parts.append(clean)
    return _written({"role": message.role.value, "parts": parts}), altered


def _plain(part: Part) -> Part:
    if isinstance(part, ImagePart):
        return TextPart(_gone(part.media), Author.WISP)
    if isinstance(part, ResultPart) and part.media:
        return replace(part, text="\n".join([part.text, *map(_gone, part.media)]).strip(), media=())
    return part


def _gone(media: Media) -> str:
    return told("picture_gone", label=media.label or "picture")


def entry_of(kind: str, text: str) -> Entry:
    """Read an entry. What Wisp wrote is its own also in a journal that names no author."""
    entry = Entry(EntryKind[kind], message_of(text))
    if entry.kind in (EntryKind.PERSON, EntryKind.MODEL):
        return entry
    parts = (replace(one, author=Author.WISP) if isinstance(one, TextPart) else one for one in entry.message.parts)
    return replace(entry, message=Message(entry.message.role, tuple(parts)))


def message_of(text: str) -> Message:
    """Read a message. Raises ValueError or KeyError if `message_to_text` did not write the text."""
    tree = json.loads(text)
    parts = [_part(dict(part)) for part in tree["parts"]]
    return Message(Role(tree["role"]), tuple(part for part in parts if part))


def _part(tree: dict[str, Any]) -> Part | None:
    kind = _PARTS.get(tree.pop("is", ""))
    part: Part | None = kind(**_known(kind, tree)) if kind else None
    if isinstance(part, TextPart):
        outcomes = tuple(map(_outcome, tree.get("outcomes", ())))
        return replace(part, author=Author(part.author), outcomes=outcomes, attached=tuple(part.attached))
    return part


def _outcome(tree: Mapping[str, Any]) -> CallOutcome:
    return CallOutcome(tree["ok"], facts_of(tree["facts"]))


def facts_of(tree: Any) -> tuple[Fact, ...]:
    """Return the facts that were saved as JSON; () if this program does not know one of their kinds."""
    with suppress(ValueError, TypeError):
        told: tuple[Fact, ...] = of_json(tree)
        return told
    return ()


def values_to_text(values: Mapping[str, Any]) -> str:
    """As JSON, without secrets."""
    return _written(cleaned(_jsonable(values)))


def _fields_of(value: Any) -> dict[str, Any]:
    plain = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "media"}
    return {"is": type(value).__name__, **_jsonable(plain)}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(inner) for inner in value]
    if isinstance(value, Fact):
        return as_json(value)
    if isinstance(value, CallOutcome):
        return {"ok": value.ok, "facts": as_json(value.facts)}
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _known(kind: type[Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in tree.items() if name in names}


def _written(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class PastLine:
    """A line from a past conversation."""

    conversation: str
    title: str
    date: str
    text: str


class PastWords(Protocol):
    """Searches past conversations."""

    async def said(self, words: str, limit: int) -> Sequence[PastLine]:
        """The past lines that fit the words best. Raises WispError if the journal cannot be read."""
        ...
