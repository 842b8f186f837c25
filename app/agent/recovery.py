"""Rebuild a history that can be continued from the records of a session that was interrupted.

Each call that had begun gets its known result. If the result is unknown, the answer asks the model to look before it
repeats the call. This module never runs a call.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.context import rule_of
from app.agent.deps import SessionDeps
from app.agent.prompt import told
from app.agent.recording import Entry, EntryKind
from app.base.values import dataclass
from app.protocol.call import ToolCall, ToolResult, tool_error
from app.protocol.dialects.api import Answer, Pacing
from app.protocol.message import CallPart, Message, OpaquePart, ResultPart, Role, TextPart, user


@dataclass(frozen=True, slots=True)
class BegunCall:
    """A call that was allowed to run; `outcome` is what the model was to read of it, None where it never came."""

    call: ToolCall
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Remains:
    """What is on the disk of a conversation. `altered` says that something was left out of an entry or the draft."""

    entries: tuple[Entry, ...]
    draft: Message | None = None
    calls: tuple[BegunCall, ...] = ()
    meanwhile: tuple[str, ...] = ()
    is_open: bool = False
    altered: bool = False


def continuable(remains: Remains, parts: SessionDeps) -> tuple[Entry, ...]:
    """The history to go on with: every call answered, every word of the person there, roles as servers want them."""
    entries = list(remains.entries)
    if remains.draft and remains.draft.parts:
        entries.append(Entry(EntryKind.MODEL, remains.draft))
        if answers := _answers(remains.calls, parts):
            entries.append(Entry(EntryKind.RESULTS, parts.dialect.answer(answers)))
    entries = _answered(entries)
    if remains.is_open:
        entries.append(Entry(EntryKind.NOTE, user(told("ended_turn"))))
    entries += [Entry(EntryKind.PERSON, user(told("said_meanwhile", text=text))) for text in remains.meanwhile if text]
    if remains.altered and rule_of(parts.model).drops_opaque:
        entries = _without_signed(entries)
    return tuple(entries)


def _answers(calls: Sequence[BegunCall], parts: SessionDeps) -> list[Answer]:
    """Build the answers as the loop would have. If calls run while they stream, only results that feed back count."""
    parts.dialect.reader(parts.registry.specs)  # from now on the dialect knows which tags its answers must not open
    if parts.dialect.pacing is Pacing.ONE_FEEDBACK_CALL:
        calls = [begun for begun in calls if begun.outcome is None or _feeds_back(begun.call, parts)]
    return [Answer(begun.call.id, begun.call.name, _result(begun), begun.call) for begun in calls]


def _feeds_back(call: ToolCall, parts: SessionDeps) -> bool:
    spec = parts.registry.find(call.name)
    return spec is None or spec.feeds_back


def _result(begun: BegunCall) -> ToolResult:
    if begun.outcome is None:
        return tool_error(begun.call.name, told("ended_call"))
    return ToolResult(True, begun.call.name, {}, begun.outcome)


def _answered(entries: Sequence[Entry]) -> list[Entry]:
    """A native call must be answered by its id in the very next message."""
    mended: list[Entry] = []
    for number, entry in enumerate(entries):
        mended.append(entry)
        asked = [part for part in entry.message.parts if isinstance(part, CallPart)]
        if entry.message.role is Role.USER or not asked:
            continue
        following = entries[number + 1].message if number + 1 < len(entries) else user("")
        known = {part.call_id for part in following.parts if isinstance(part, ResultPart)}
        missing = tuple(
            ResultPart(part.id, told("ended_call"), is_error=True, toolset=part.toolset)
            for part in asked
            if part.id not in known
        )
        if missing:
            mended.append(Entry(EntryKind.RESULTS, Message(Role.USER, missing)))
    return mended


def _without_signed(entries: Sequence[Entry]) -> list[Entry]:
    """Signed blocks count only for the very history they were signed over."""
    plain = []
    for entry in entries:
        parts = tuple(part for part in entry.message.parts if not isinstance(part, OpaquePart))
        if parts or entry.message.role is Role.USER:
            plain.append(Entry(entry.kind, Message(entry.message.role, parts or (TextPart(""),))))
    return plain
