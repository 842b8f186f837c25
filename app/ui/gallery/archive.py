"""An archive in memory: past conversations to look at without a journal."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace

from app.agent.archive import ExportFormat, PastConversation, Spent
from app.agent.events import AgentEvent, to_json
from app.base.errors import WispError

_HOUR_S = 3600
_SAMPLES = (
    ("Send Anna the letter with her new address", 0.4, 3, 0.11),
    ("What is on the screen?", 3, 1, 0.004),
    ("Rename the holiday pictures by date, and put those with Karl in them into a folder of their own", 27, 8, 0.62),
    ("Open the calculator and type 12*7=", 52, 1, 0.0),
    ("Summarise the three reports in Downloads", 170, 4, 0.37),
)


class MemoryArchive:
    """Keeps conversations while it lives."""

    def __init__(self, kept: Mapping[PastConversation, list[AgentEvent]] | None = None) -> None:
        known = {} if kept is None else kept
        self._kept = {one.id: (one, events) for one, events in known.items()}

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        words = search.casefold().split()
        found = [one for one, _ in self._kept.values() if all(word in one.title.casefold() for word in words)]
        return sorted(found, key=lambda one: one.changed_at, reverse=True)[:limit]

    async def events(self, conversation_id: str) -> list[AgentEvent]:
        return list(self._found(conversation_id)[1])

    async def rename(self, conversation_id: str, title: str) -> None:
        one, events = self._found(conversation_id)
        self._kept[conversation_id] = (replace(one, title=title), events)

    async def delete(self, conversation_id: str) -> None:
        self._found(conversation_id)
        del self._kept[conversation_id]

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        one, events = self._found(conversation_id)
        if form is ExportFormat.JSON:
            return json.dumps({"title": one.title, "events": [to_json(event) for event in events]}, indent=2)
        return f"# {one.title}\n"

    async def spent(self, since: float) -> Spent:
        costs = [one.cost_usd for one, _ in self._kept.values() if one.changed_at >= since]
        known = [cost for cost in costs if cost is not None]
        return Spent(cost_usd=sum(known) if len(known) == len(costs) else None, turns=len(costs))

    def _found(self, conversation_id: str) -> tuple[PastConversation, list[AgentEvent]]:
        if conversation_id not in self._kept:
            raise WispError("This conversation is not kept any more.")
        return self._kept[conversation_id]


def past(now: float | None = None) -> list[PastConversation]:
    """Sample conversations, the newest first."""
    end = time.time() if now is None else now
    return [
        PastConversation(str(number), title, end - hours * _HOUR_S - 300, end - hours * _HOUR_S, turns, cost)
        for number, (title, hours, turns, cost) in enumerate(_SAMPLES)
    ]
