"""Write-ahead log of a session: record a call's intent before it runs and its result afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from app.agent.agent_events import AgentEvent
from app.base.values import dataclass
from app.protocol.call import ToolCall, ToolResult
from app.protocol.message import ImagePart, Message, Part, Role
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
