"""Where a session is kept, and how an earlier one is gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from app.agent.archive import PastConversation
from app.agent.events import AgentEvent, ModeChanged
from app.agent.session import Session
from app.base import paths
from app.base.clock import Clock
from app.services.journal import writing
from app.services.journal.database import Database, Work
from app.settings.catalog import HISTORY_DAYS, KEEP_HISTORY
from app.settings.store import Settings
from app.wiring.archive import JournalArchive
from app.wiring.auditing import Trail
from app.wiring.recording import JournalRecord

T = TypeVar("T")
_DAY_S = 86_400.0


def journal_path() -> Path:
    return paths.data_dir() / "journal.db"


@dataclass(frozen=True, slots=True)
class Journal:
    """`record` takes what happens now, `archive` gives what was, `audit` who allowed what; all use one database."""

    record: JournalRecord
    archive: JournalArchive
    audit: Trail

    def attach(self, session: Session) -> None:
        """The session leaves a conversation that is deleted, and the audit hears of its modes."""

        def leave(conversation_id: str) -> None:
            if conversation_id == self.record.conversation:
                session.begin_anew()

        def note_mode(event: AgentEvent) -> None:
            if isinstance(event, ModeChanged):
                self.audit.note("mode", {"mode": event.mode})

        self.archive.leaving = leave
        session.subscribe(note_mode)

    async def interrupted(self) -> list[PastConversation]:
        """Those in whose middle the program was ended. Raises WispError."""
        return await self.archive.interrupted()

    async def reopen(self, conversation_id: str, session: Session) -> list[AgentEvent]:
        """The session goes on with that conversation; what was shown of it. Raises WispError, and changes nothing."""
        shown = await self.archive.events(conversation_id)
        remains = await self.archive.remains(conversation_id)
        session.begin_anew()
        self.record.go_on(conversation_id, heard=len(remains.meanwhile))
        session.reopen(remains)
        return shown


@asynccontextmanager
async def archive() -> AsyncIterator[JournalArchive]:
    """The person's past conversations, from outside of a session."""
    database = Database(journal_path())
    try:
        yield JournalArchive(database)
    finally:
        await asyncio.to_thread(database.close)


def read_journal(work: Work[T]) -> T:
    """One piece of work on the person's journal, from outside of a session. Raises WispError."""
    database = Database(journal_path())
    try:
        return asyncio.run(database.run(work))
    finally:
        database.close()


def journal_of(settings: Settings, clock: Clock, model: str) -> Journal:
    """The person's journal. What is older than they want is deleted at the start, in the background."""
    database = Database(journal_path())
    record = JournalRecord(database, clock, model, keeps_words=settings[KEEP_HISTORY])
    if settings[HISTORY_DAYS]:
        database.soon(partial(writing.prune, before=clock.wall() - settings[HISTORY_DAYS] * _DAY_S))
    return Journal(record, JournalArchive(database), Trail(database, clock, record))
