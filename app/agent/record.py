"""What a session tells whoever keeps its conversation: before an action what is meant, after it what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from app.agent.events import AgentEvent
from app.agent.history import Entry
from app.protocol.call import ToolCall
from app.protocol.message import Message, Role
from app.protocol.result import ToolResult
from app.protocol.spec import HARMLESS, ToolSpec
from app.tools.executor import Gate


class Record(Protocol):
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
        """It will run as soon as this is `settled`; `said` is what the model has said in this pass."""
        ...

    def call_ended(self, call_id: str, result: ToolResult) -> None: ...

    def begin_anew(self) -> None:
        """What follows is another conversation."""
        ...

    async def settled(self) -> str:
        """All so far is safe on the disk. Where it is not: the sentence for the person, once."""
        ...

    async def close(self) -> None: ...


class Unrecorded:
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

    def __init__(self, gate: Gate, record: Record) -> None:
        self._gate = gate
        self._record = record
        self.said: Callable[[], Message] = lambda: Message(Role.ASSISTANT, ())
        self.warn: Callable[[str], None] = lambda _: None

    async def admit(self, call: ToolCall, spec: ToolSpec) -> str:
        refusal = await self._gate.admit(call, spec)
        if not refusal:
            self._record.call_begins(call, self.said())
        # What changes nothing may run before it is safe on the disk.
        changes = not spec.effects_of(call) <= HARMLESS
        if not refusal and changes and (problem := await self._record.settled()):
            self.warn(problem)
        return refusal
