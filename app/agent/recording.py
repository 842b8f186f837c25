"""Write-ahead log of a session, its form as JSON, and what an archive gives back of past conversations.

Record a call's intent before it runs and its result afterwards. Secrets and pictures are left out of the JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from enum import Enum, StrEnum
from typing import Any, Protocol

from app.agent import agent_events
from app.agent.agent_events import AgentEvent, Outcome, TurnEnded
from app.agent.prompt import told
from app.base.texts import cleaned
from app.base.values import dataclass
from app.protocol.call import Media, ToolCall, ToolResult
from app.protocol.message import CallPart, ImagePart, Message, OpaquePart, Part, ResultPart, Role, TextPart
from app.protocol.spec import HARMLESS, ToolSpec
from app.tools.executor import Gate


class EntryKind(Enum):
    """Who an entry comes from; it decides what may be shortened."""

    PERSON = "the person's own words"
    MODEL = "what the model said and called"
    RESULTS = "what calls brought"
    NOTE = "what Wisp told the model"
    SUMMARY = "what stands for entries that were taken out"


@dataclass(frozen=True, slots=True)
class Entry:
    kind: EntryKind
    message: Message


class Watcher(Protocol):
    """Who keeps the history elsewhere. What `rewrite` takes out does not concern it."""

    def entries_added(self, entries: Sequence[Entry], heard: int, whole: Sequence[Entry]) -> None: ...

    def entries_replaced(self, entries: Sequence[Entry]) -> None: ...


class History:
    """Entries in order. `messages` joins neighbours of one role, since some servers insist that roles alternate."""

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
        """Whether the model has read anything here that is neither the person's words nor its own."""
        return any(
            entry.kind in (EntryKind.RESULTS, EntryKind.SUMMARY)
            or any(isinstance(part, ImagePart) for part in entry.message.parts)
            for entry in self._entries
        )

    def add(self, kind: EntryKind, message: Message) -> None:
        self.extend(Entry(kind, message))

    def extend(self, *entries: Entry, heard: int = 0) -> None:
        """Add what belongs together. `heard`: how many of them are words the person said while a turn ran."""
        added = [entry for entry in entries if entry.message.parts]
        self._entries += added
        if added and self._watcher:
            self._watcher.entries_added(added, heard, self._entries)

    def clear(self) -> None:
        self.replace(())

    def replace(self, entries: tuple[Entry, ...]) -> None:
        """Put other entries in place of all; used to compact. They must begin with the user's role."""
        if entries and entries[0].message.role is not Role.USER:
            raise ValueError("A conversation begins with the user.")
        self._entries = list(entries)
        if self._watcher:
            self._watcher.entries_replaced(entries)

    def rewrite(self, part: Callable[[Part], Part | None]) -> None:
        """Replace each part by what `part` gives for it; None takes it out."""
        rewritten = []
        for entry in self._entries:
            parts = tuple(new for old in entry.message.parts if (new := part(old)) is not None)
            if parts:
                rewritten.append(Entry(entry.kind, Message(entry.message.role, parts)))
        self._entries = rewritten


class Recorder(Protocol):
    """Nothing here raises and only `settled` waits. Calls are kept in their order."""

    def take(self, event: AgentEvent) -> None:
        """What the presence was shown. A turn that starts makes the conversation, where there is none yet."""
        ...

    def entries_added(self, entries: Sequence[Entry], heard: int, whole: Sequence[Entry]) -> None:
        """The history grew. `heard`: how many of the words said meanwhile are among them; `whole`: all of it now."""
        ...

    def entries_replaced(self, entries: Sequence[Entry]) -> None:
        """The history is another one now."""
        ...

    def said_meanwhile(self, text: str) -> None: ...

    def call_begins(self, call: ToolCall, said: Message) -> None:
        """Record a call before it runs: it waits for `settled`. `said` is the model's text of this pass."""
        ...

    def call_ended(self, call_id: str, result: ToolResult) -> None: ...

    def begin_anew(self) -> None:
        """What follows is another conversation."""
        ...

    async def settled(self) -> str:
        """All so far is safe on the disk. Where it is not: the sentence for the person, once."""
        ...

    async def close(self) -> None: ...


class NoRecorder:
    """Keeps nothing."""

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

    async def close(self) -> None:
        return None


class WrittenAhead:
    """A gate that has what it lets through written down before it runs.

    `said` gives the words of the pass so far, `warn` tells the person that something cannot be kept.
    """

    def __init__(self, gate: Gate, record: Recorder) -> None:
        self._gate = gate
        self._record = record
        self.said: Callable[[], Message] = lambda: Message(Role.ASSISTANT, ())
        self.warn: Callable[[str], None] = lambda _: None

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        refusal = await self._gate.admit(call, spec)
        if not refusal:
            self._record.call_begins(call, self.said())
        # Wait for the disk only before a change, because a call that changes nothing can be repeated after a crash.
        changes = not spec.effects_of(call) <= HARMLESS
        if not refusal and changes and (problem := await self._record.settled()):
            self.warn(problem)
        return refusal


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class PastConversation:
    """`began_at` and `changed_at` are seconds since the epoch; `cost_usd` is None where a price is not known."""

    id: str
    title: str
    began_at: float
    changed_at: float
    turns: int
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money over some time; `cost_usd` is None where the price of a used model is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0
    turns: int = 0


class Archive(Protocol):
    """Raises WispError with a sentence for the person where the journal cannot be read or written."""

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        """The newest first; `search` finds words in titles and in what was said."""
        ...

    async def events(self, conversation_id: str) -> list[AgentEvent]:
        """What the presence showed, in order, to be shown again; pictures left out."""
        ...

    async def rename(self, conversation_id: str, title: str) -> None: ...

    async def delete(self, conversation_id: str) -> None:
        """Forget it for good."""
        ...

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        """The whole conversation as text, to save or to send."""
        ...

    async def spent(self, since: float) -> Spent:
        """Everything used since that moment (seconds since the epoch), in all conversations."""
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
        agent_events.Notice,
        agent_events.TurnEnded,
    )
}
"""What a conversation is shown again from. States and questions belong to the moment."""
_PARTS: dict[str, type[Any]] = {kind.__name__: kind for kind in (TextPart, OpaquePart, CallPart, ResultPart)}


def is_shown(event: AgentEvent) -> bool:
    """Whether the event is among those a conversation is shown again from."""
    return type(event).__name__ in _SHOWN


def event_to_text(event: AgentEvent) -> str:
    return _written(cleaned(_fields_of(event)))


def event_of(text: str) -> AgentEvent | None:
    """The event, or None where it is of a kind this program does not know."""
    tree = json.loads(text)
    kind = _SHOWN.get(tree.pop("is", ""))
    if kind is None:
        return None
    event: AgentEvent = kind(**_known(kind, tree))
    return replace(event, outcome=Outcome(event.outcome)) if isinstance(event, TurnEnded) else event


def message_to_text(message: Message) -> tuple[str, bool]:
    """Return the message as JSON text, and whether it lacks anything. A vendor's block is kept whole or left out."""
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
    """The part with words in place of its pictures."""
    if isinstance(part, ImagePart):
        return TextPart(_gone(part.media))
    if isinstance(part, ResultPart) and part.media:
        return replace(part, text="\n".join([part.text, *map(_gone, part.media)]).strip(), media=())
    return part


def _gone(media: Media) -> str:
    return told("picture_gone", label=media.label or "picture")


def entry_of(kind: str, text: str) -> Entry:
    return Entry(EntryKind[kind], message_of(text))


def message_of(text: str) -> Message:
    """Raises ValueError or KeyError where the text was not written by `message_to_text`."""
    tree = json.loads(text)
    parts = [_part(dict(part)) for part in tree["parts"]]
    return Message(Role(tree["role"]), tuple(part for part in parts if part))


def _part(tree: dict[str, Any]) -> Part | None:
    kind = _PARTS.get(tree.pop("is", ""))
    part: Part | None = kind(**_known(kind, tree)) if kind else None
    return part


def values_to_text(values: Mapping[str, Any]) -> str:
    """A call's arguments, secrets left out."""
    return _written(cleaned(_jsonable(values)))


def _fields_of(value: Any) -> dict[str, Any]:
    plain = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "media"}
    return {"is": type(value).__name__, **_jsonable(plain)}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _known(kind: type[Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in tree.items() if name in names}


def _written(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
