"""Past conversations out of the journal: to list, to show again, to go on with, to hand out, to forget."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial

import psutil

from app.agent.archive import ExportFormat, PastConversation, Spent
from app.agent.events import AgentEvent, Outcome, TagStart, ToolFinished, TurnEnded, TurnStarted, to_json
from app.agent.recovery import BegunCall, Remains
from app.agent.stored import entry_of, event_of, message_of
from app.agent.words import ending, told
from app.base.clipping import clip_line
from app.base.errors import WispError
from app.protocol.call import ToolCall
from app.services.journal import reading, writing
from app.services.journal.database import Database
from app.services.journal.reading import Conversation, Left
from app.services.journal.writing import StoredEvent
from app.wiring.exporting import as_markdown

_TITLE_CHARS = 200


class JournalArchive:
    """The archive of this person. Raises WispError where the journal cannot be used."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.leaving: Callable[[str], None] = lambda _: None
        """Called before a conversation is deleted; whoever is in it leaves it, or raises WispError."""

    async def conversations(self, search: str = "", limit: int = 200) -> list[PastConversation]:
        found = await self._db.run(partial(reading.conversations, search=search, limit=limit))
        return [_past(one) for one in found]

    async def events(self, conversation_id: str) -> list[AgentEvent]:
        past = await self._found(conversation_id)
        stored = await self._db.run(partial(reading.events, conversation_id=conversation_id))
        return _closed(stored, is_open=past.is_open and not _is_held(past))

    async def rename(self, conversation_id: str, title: str) -> None:
        await self._found(conversation_id)
        line = clip_line(title, _TITLE_CHARS)
        if not line:
            raise WispError("A conversation needs a title of at least one character.")
        await self._db.run(partial(writing.rename, conversation=conversation_id, title=line))

    async def delete(self, conversation_id: str) -> None:
        past = await self._found(conversation_id)
        if _is_held(past):
            raise WispError("This conversation is open in another Wisp. Close that one first.")
        self.leaving(conversation_id)
        await self._db.run(partial(writing.delete, conversation=conversation_id))

    async def export(self, conversation_id: str, form: ExportFormat) -> str:
        past = _past(await self._found(conversation_id))
        shown = await self.events(conversation_id)
        if form is ExportFormat.MARKDOWN:
            return as_markdown(past, shown)
        head = {"id": past.id, "title": past.title, "began_at": past.began_at, "changed_at": past.changed_at}
        tree = {**head, "cost_usd": past.cost_usd, "events": [to_json(event) for event in shown]}
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"

    async def spent(self, since: float) -> Spent:
        read, wrote, from_cache, to_cache, cost, turns = await self._db.run(partial(reading.used, since=since))
        return Spent(read, wrote, from_cache, to_cache, cost, turns)

    async def remains(self, conversation_id: str) -> Remains:
        """Everything needed to go on with it. Raises WispError where another process is in the middle of it."""
        if _is_held(await self._found(conversation_id)):
            raise WispError("This conversation is open in another Wisp. Close that one first.")
        left = await self._db.run(partial(reading.left, conversation_id=conversation_id))
        await self._db.run(partial(writing.end_open_turns, conversation=conversation_id, outcome="interrupted"))
        return _remains(left)

    async def interrupted(self) -> list[PastConversation]:
        """Conversations whose last turn never ended, because their program did; each is told once."""
        found = await self._db.run(partial(reading.conversations, search="", limit=20))
        left = [one for one in found if one.is_open and not _is_held(one)]
        for one in left:
            if one.holder:
                await self._db.run(partial(writing.let_go, conversation=one.id, holder=one.holder))
        return [_past(one) for one in left if one.holder]

    async def _found(self, conversation_id: str) -> Conversation:
        found = await self._db.run(partial(reading.conversation, conversation_id=conversation_id))
        if found is None:
            raise WispError("There is no such conversation any more.")
        return found


def _past(one: Conversation) -> PastConversation:
    return PastConversation(one.id, one.title, one.began_at, one.changed_at, one.turns, one.cost_usd)


def _is_held(one: Conversation) -> bool:
    """Whether another living process writes to it."""
    pid, _, born = one.holder.partition(" ")
    if not pid or int(pid) == os.getpid():
        return False
    try:
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
    """The events with every card closed and every turn ended, also those that the program's own end cut off."""
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
    why = told("ended_call")
    closed = [
        ToolFinished(call_id, tool, False, "tool_error", {"tag": tool, "reason": why}, why)
        for call_id, tool in open_cards.items()
    ]
    open_cards.clear()
    return [*closed, TurnEnded(turn, Outcome.STOPPED, ending("interrupted"))]
