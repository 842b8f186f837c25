"""Past conversations in the journal: list, show, continue, export and delete them."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psutil

from app.agent.agent_events import (
    AgentEvent,
    ModeChanged,
    Notice,
    Outcome,
    ProgramsUsed,
    SaidMeanwhile,
    SayDelta,
    TagStart,
    ToolFinished,
    TurnEnded,
    TurnStarted,
    to_json,
)
from app.agent.context import BegunCall, Remains
from app.agent.prompt import cut_off, ending
from app.agent.recording import ExportFormat, PastConversation, PastLine, Spent, entry_of, event_of, message_of
from app.agent.session import Session
from app.base import paths
from app.base.clipping import clip_line
from app.base.clock import Clock
from app.base.errors import WispError
from app.base.values import dataclass
from app.base.withheld import cleaned, without_secrets
from app.history.recorder import JournalRecord, holder
from app.protocol.call import JsonValue, ToolCall
from app.services import fact_search
from app.services.journal import rows
from app.services.journal.audit import AuditEntry, append
from app.services.journal.database import Database, Work
from app.services.journal.rows import ConversationRow, Left, StoredEvent
from app.settings.catalog import HISTORY_DAYS, KEEP_HISTORY
from app.settings.store import Settings

_LINE_CHARS = 300


def as_markdown(past: PastConversation, shown: Sequence[AgentEvent]) -> str:
    """Return the title and each turn: the person's words quoted, speech unchanged, one line for each action."""
    began = datetime.datetime.fromtimestamp(past.began_at).astimezone()
    cost = "" if past.cost_usd is None else f" · ${past.cost_usd:.2f}"
    head = f"# {past.title}\n\n{began:%Y-%m-%d %H:%M}{cost}\n"
    return "\n".join([head, *_paragraphs(shown)]).rstrip() + "\n"


def _paragraphs(shown: Sequence[AgentEvent]) -> Iterator[str]:
    speech: list[str] = []
    voiced: set[str] = set()
    said = ""
    for event in shown:
        if isinstance(event, TagStart) and event.voiced:
            voiced.add(event.call_id)
        if isinstance(event, SayDelta):
            speech.append(event.text)
            continue
        if speech and (paragraph := "".join(speech).strip()):
            said += paragraph
            yield f"{paragraph}\n"
        speech = []
        if isinstance(event, TurnStarted):
            said = ""
        yield from _lines(event, voiced, said)


def _lines(event: AgentEvent, voiced: set[str], said: str) -> Iterator[str]:
    match event:
        case TurnStarted() | SaidMeanwhile():
            quoted = "\n".join(f"> {line}" for line in [*event.text.splitlines(), *event.attached] or [""])
            yield f"{quoted}\n"
        case ToolFinished() if not (event.ok and event.call_id in voiced):
            yield f"- {'✓' if event.ok else '✗'} `{event.tool}` {clip_line(event.echo, _LINE_CHARS)}\n"
        case Notice():
            yield f"*{event.sentence}*\n"
        case TurnEnded() if event.text.strip() and event.text.strip() not in said:
            yield f"**{event.outcome.value}**: {event.text}\n"


_TITLE_CHARS = 200


class JournalArchive:
    """The archive of this person. Raises WispError if the journal cannot be used."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.leaving: Callable[[str], None] = lambda _: None
        """Called before a conversation is deleted. A session that uses it leaves it or raises WispError."""

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        found = await self._db.run(partial(rows.conversations, search=search, limit=limit))
        return [_past(one) for one in found]

    async def events(self, conversation_id: str) -> list[AgentEvent]:
        past = await self._found(conversation_id)
        stored = await self._db.run(partial(rows.events, conversation_id=conversation_id))
        return _closed(stored, is_open=past.is_open and not is_held(past))

    async def rename(self, conversation_id: str, title: str) -> None:
        await self._found(conversation_id)
        line = clip_line(title, _TITLE_CHARS)
        if not line:
            raise WispError("A conversation needs a title of at least one character.")
        await self._db.run(partial(rows.rename, conversation=conversation_id, title=line))

    async def delete(self, conversation_id: str) -> None:
        past = await self._found(conversation_id)
        if is_held(past):
            raise WispError("This conversation is open in another Wisp. Close that one first.")
        self.leaving(conversation_id)
        await self._db.run(partial(rows.delete, conversation=conversation_id))

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        past = _past(await self._found(conversation_id))
        shown = await self.events(conversation_id)
        if form is ExportFormat.MARKDOWN:
            return without_secrets(as_markdown(past, shown))
        head = {"id": past.id, "title": past.title, "began_at": past.began_at, "changed_at": past.changed_at}
        tree = {**head, "cost_usd": past.cost_usd, "events": [to_json(event) for event in shown]}
        return json.dumps(cleaned(tree), ensure_ascii=False, indent=1) + "\n"

    async def spent(self, since: float) -> Spent:
        read, wrote, from_cache, to_cache, cost, turns = await self._db.run(partial(rows.used, since=since))
        return Spent(read, wrote, from_cache, to_cache, cost, turns)

    async def said(self, words: str, limit: int, but: str = "") -> list[PastLine]:
        """Search past conversations by words and their synonyms. Raises WispError."""
        stems = sorted(fact_search.read(words).stems)
        found = await self._db.run(partial(rows.said, stems=stems, limit=limit, but=but)) if stems else []
        return [PastLine(where, title, _day(at), " ".join(text.split())) for where, title, at, text in found]

    async def remains(self, conversation_id: str) -> Remains:
        """Load what a session needs to continue the conversation. Raises WispError if another process has it."""
        if is_held(await self._found(conversation_id)):
            raise WispError("This conversation is open in another Wisp. Close that one first.")
        left = await self._db.run(partial(rows.left, conversation_id=conversation_id))
        await self._db.run(partial(rows.end_open_turns, conversation=conversation_id, outcome="interrupted"))
        return _remains(left)

    async def interrupted(self) -> list[PastConversation]:
        """Conversations whose program ended in the middle of a turn, each only once."""
        found = await self._db.run(partial(rows.conversations, search="", limit=20))
        left = [one for one in found if one.is_open and one.holder != holder() and not is_held(one)]
        for one in left:
            if one.holder:
                await self._db.run(partial(rows.let_go, conversation=one.id, holder=one.holder))
        return [_past(one) for one in left if one.holder]

    async def _found(self, conversation_id: str) -> ConversationRow:
        found = await self._db.run(partial(rows.conversation, conversation_id=conversation_id))
        if found is None:
            raise WispError("There is no such conversation any more.")
        return found


class PastSaid:
    """Searches the words of past conversations; the current conversation is left out."""

    def __init__(self, archive: JournalArchive, record: JournalRecord) -> None:
        self._archive = archive
        self._record = record

    async def said(self, words: str, limit: int) -> list[PastLine]:
        """Return the best matches in past conversations. Raises WispError if the journal cannot be read."""
        return await self._archive.said(words, limit, self._record.conversation)


def _day(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d")


def _past(one: ConversationRow) -> PastConversation:
    return PastConversation(one.id, one.title, one.began_at, one.changed_at, one.turns, one.cost_usd)


def is_held(one: ConversationRow) -> bool:
    """True if another living process writes to the conversation."""
    pid, _, born = one.holder.partition(" ")
    if not pid or int(pid) == os.getpid():
        return False
    try:
        # The start time must match too, since a new process may get the same id.
        return abs(psutil.Process(int(pid)).create_time() - float(born)) < 2.0
    except (psutil.Error, ValueError):
        return False


def _remains(left: Left) -> Remains:
    calls = tuple(
        BegunCall(ToolCall(call.call_id, call.tool, json.loads(call.arguments)), call.outcome) for call in left.calls
    )
    return Remains(
        tuple(entry_of(entry.kind, entry.message) for entry in left.entries),
        message_of(left.draft.message) if left.draft else None,
        calls,
        left.meanwhile,
        left.is_open,
        any(entry.altered for entry in (*left.entries, *([left.draft] if left.draft else ()))),
    )


def _closed(stored: Sequence[StoredEvent], *, is_open: bool) -> list[AgentEvent]:
    """Every card is closed and every turn ended, even if the program ended first."""
    shown: list[AgentEvent] = []
    open_cards: dict[str, str] = {}
    turn = ""
    for one in stored:
        event = event_of(one.event)
        if event is None:
            continue
        if isinstance(event, TurnStarted) and turn:
            shown += _cut_off(turn, open_cards)
        shown.append(event)
        if isinstance(event, TurnStarted):
            turn = event.turn_id
        elif isinstance(event, TagStart):
            open_cards[event.call_id] = event.tool
        elif isinstance(event, ToolFinished):
            open_cards.pop(event.call_id, None)
        elif isinstance(event, TurnEnded):
            turn = ""
    return [*shown, *_cut_off(turn, open_cards)] if turn and is_open else shown


def _cut_off(turn: str, open_cards: dict[str, str]) -> list[AgentEvent]:
    why = cut_off()
    closed = [
        ToolFinished(call_id, tool, False, "tool_error", {"tag": tool, "reason": why.said}, why.said, facts=(why,))
        for call_id, tool in open_cards.items()
    ]
    open_cards.clear()
    return [*closed, TurnEnded(turn, Outcome.STOPPED, ending("interrupted"))]


_TYPED = ("text", "input", "content", "value", "goal")
"""Arguments whose text is counted, not copied, because typed or written text may contain secrets."""
_KEYS = "keys"
_LONGEST = 400
_DIGITS = 16


class AuditedConversation(Protocol):
    """The ids of the current conversation and turn, for audit entries."""

    @property
    def conversation(self) -> str: ...

    @property
    def turn(self) -> str: ...


class Trail:
    """Writes audit entries for tools and the gate. No entry waits for the disk; only the record of a call does."""

    def __init__(self, database: Database, clock: Clock, now: AuditedConversation) -> None:
        self._db = database
        self._clock = clock
        self._now = now

    async def __call__(self, kind: str, details: Mapping[str, JsonValue]) -> None:
        self.note(kind, details)

    def note(self, kind: str, details: Mapping[str, JsonValue]) -> None:
        """Add an audit entry. Returns at once."""
        told = dict(details)
        turn = str(told.pop("turn", "") or self._now.turn)
        text = json.dumps(cleaned(_shortened(told)), ensure_ascii=False, default=str)
        entry = AuditEntry(self._clock.wall(), kind, self._now.conversation, turn, text)
        self._db.soon(partial(append, entry=entry))


def _shortened(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _shortened(inner, key) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shortened(inner) for inner in value]
    if isinstance(value, str) and name in _TYPED:
        return f"[{len(value)} characters]"
    if isinstance(value, str) and name == _KEYS and any(len(key) == 1 for key in value.split()):
        return f"[{len(value.split())} keys]"
    if isinstance(value, str) and len(value) > _LONGEST:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        return f"{value[:_LONGEST]}… [{len(value)} characters, SHA-256 {digest}]"
    return value


T = TypeVar("T")
_DAY_S = 86_400.0


def journal_path() -> Path:
    return paths.data_dir() / "journal.db"


@dataclass(frozen=True, slots=True)
class Journal:
    """The person's journal. `record` saves what happens, `archive` reads the past, `audit` records permissions."""

    record: JournalRecord
    archive: JournalArchive
    audit: Trail

    def attach(self, session: Session) -> None:
        """Let the session leave a deleted conversation, and let the audit record its modes."""

        def leave(conversation_id: str) -> None:
            if conversation_id == self.record.conversation:
                session.begin_anew()

        def note_mode(event: AgentEvent) -> None:
            if isinstance(event, ModeChanged):
                self.audit.note("mode", {"mode": event.mode})

        self.archive.leaving = leave
        session.subscribe(note_mode)

    async def interrupted(self) -> list[PastConversation]:
        """Return the conversations that were interrupted when the program ended. Raises WispError."""
        return await self.archive.interrupted()

    async def reopen(self, conversation_id: str, session: Session) -> list[AgentEvent]:
        """Let the session continue that conversation. Returns its events. Raises WispError and then changes nothing."""
        shown = await self.archive.events(conversation_id)
        remains = await self.archive.remains(conversation_id)
        session.begin_anew()
        self.record.go_on(conversation_id, heard=len(remains.meanwhile))
        used = [event for event in shown if isinstance(event, ProgramsUsed)]
        session.reopen(remains, used[-1].granted if used else ())
        return shown


@asynccontextmanager
async def archive() -> AsyncIterator[JournalArchive]:
    """The person's past conversations, without a session."""
    database = Database(journal_path())
    try:
        yield JournalArchive(database)
    finally:
        await asyncio.to_thread(database.close)  # on a thread, because closing waits for the disk


def read_journal(work: Work[T]) -> T:
    """Run one job on the person's journal without a session. Raises WispError."""
    database = Database(journal_path())
    try:
        return asyncio.run(database.run(work))
    finally:
        database.close()


def journal_of(settings: Settings, clock: Clock, model: str, provider: str) -> Journal:
    """Return the person's journal. Conversations that are too old are deleted in the background."""
    database = Database(journal_path())
    record = JournalRecord(database, clock, model, provider, keeps_words=settings[KEEP_HISTORY])
    if settings[HISTORY_DAYS]:
        database.soon(partial(rows.prune, before=clock.wall() - settings[HISTORY_DAYS] * _DAY_S))
    return Journal(record, JournalArchive(database), Trail(database, clock, record))
