"""Where a session is kept, and how an earlier one is gone on with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.agent.events import AgentEvent
from app.agent.record import Record, Unrecorded
from app.agent.session import Session
from app.base import paths
from app.base.clock import Clock
from app.services.journal import writing
from app.services.journal.database import Database
from app.settings.catalog import HISTORY_DAYS, KEEP_HISTORY
from app.settings.store import Settings
from app.wiring.archive import JournalArchive
from app.wiring.recording import JournalRecord

_DAY_S = 86_400.0


def journal_path() -> Path:
    return paths.data_dir() / "journal.db"


@dataclass(frozen=True, slots=True)
class Journal:
    """`record` takes what happens now, `archive` gives what was; both use one database."""

    record: Record
    archive: JournalArchive

    async def reopen(self, conversation_id: str, session: Session) -> list[AgentEvent]:
        """The session goes on with that conversation; what was shown of it. Raises WispError, and changes nothing."""
        shown = await self.archive.events(conversation_id)
        remains = await self.archive.remains(conversation_id)
        session.begin_anew()
        if isinstance(self.record, JournalRecord):
            self.record.go_on(conversation_id, heard=len(remains.meanwhile))
        session.reopen(remains)
        return shown


def journal_of(settings: Settings, clock: Clock, model: str) -> Journal:
    """The person's journal. What is older than they want is deleted at the start, in the background."""
    database = Database(journal_path())
    record = JournalRecord(database, clock, model) if settings[KEEP_HISTORY] else Unrecorded()
    if settings[HISTORY_DAYS]:
        database.soon(partial(writing.prune, before=clock.wall() - settings[HISTORY_DAYS] * _DAY_S))
    return Journal(record, JournalArchive(database))
