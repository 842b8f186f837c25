"""A session over a script whose conversation is kept, as `wiring` puts them together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.agent.agent_events import AgentEvent
from app.agent.recording import PastConversation
from app.base import ids
from app.base.clock import SystemClock
from app.history.archive import Journal, JournalArchive, Trail
from app.history.recorder import JournalRecord
from app.providers.scripted import Reply
from app.services.journal.database import Database
from tests.support.stage import Stage


class Kept:
    """`stage` plays; `archive` reads what was kept of it."""

    def __init__(self, folder: Path, *replies: Reply, file: str = "journal.db", **parts: Any) -> None:
        self.path = folder / file
        limits = {name: parts.pop(name) for name in ("busy_s", "limit_s", "rest_s") if name in parts}
        self.database = Database(self.path, **limits)
        self.record = JournalRecord(self.database, SystemClock(), str(parts.get("model", "scripted")), "scripted")
        self.archive = JournalArchive(self.database)
        self.journal = Journal(self.record, self.archive, Trail(self.database, SystemClock(), self.record))
        turn_ids = ids.counter(f"turn-{ids.unique()}-")
        self.stage = Stage(folder, *replies, record=self.record, audit=self.journal.audit, turn_ids=turn_ids, **parts)

        self.journal.attach(self.stage.session)

    async def newest(self) -> PastConversation:
        return (await self.archive.conversations())[0]

    async def reopen_newest(self) -> list[AgentEvent]:
        return await self.journal.reopen((await self.newest()).id, self.stage.session)

    async def close(self) -> None:
        await self.stage.session.close()
