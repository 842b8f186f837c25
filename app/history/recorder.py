"""Save a session in the journal: joined pieces of speech, no secrets, every action before it runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import psutil

from app.agent import agent_events
from app.agent.agent_events import AgentEvent
from app.agent.recording import Entry, EntryKind, event_to_text, is_shown, message_to_text, values_to_text
from app.base import ids
from app.base.clipping import clip_line, clip_middle
from app.base.clock import Clock
from app.base.withheld import WITHHELD, shown, without_secrets
from app.protocol.call import ToolCall, ToolResult
from app.protocol.message import Message
from app.services.journal import rows
from app.services.journal.database import Database
from app.services.journal.rows import Figures, StoredCall, StoredEntry, StoredEvent, StoredTurn

_TITLE_CHARS = 70
_TITLE_FROM = 2000  # Only the start is read, because a pasted text may be very long.
_PAYLOAD_CHARS = 20_000
"""How much of a streamed payload is kept at each end; the whole is in the file it was written to."""
_WORDLESS = "A picture"
_DONE = "Done."

_Piece = agent_events.SayDelta | agent_events.TagDelta | agent_events.ThoughtDelta


def holder() -> str:
    """Identify this process by pid and start time, because pids are reused."""
    return f"{os.getpid()} {psutil.Process().create_time():.0f}"


def _said(event: agent_events.TurnStarted | agent_events.SaidMeanwhile) -> str:
    """What the person said, else what they attached."""
    return event.text if event.text.strip() else ", ".join(event.attached)


class JournalRecord:
    """One session's record. All goes to the database's own thread; only `settled` and `close` wait for it.

    Without `keeps_words`, only the usage is saved.
    """

    def __init__(
        self, database: Database, clock: Clock, model: str, provider: str, *, keeps_words: bool = True
    ) -> None:
        self._db = database
        self._keeps_words = keeps_words
        self._clock = clock
        self._model = model
        self._provider = provider
        self._stop_withholding = WITHHELD.listen(self._blank_out)
        self._losses = 0
        self._is_begun = False
        self.begin_anew()

    @property
    def kept(self) -> str:
        """The id of the saved conversation; "" if nothing was said in it yet, or if words are not saved."""
        return self.conversation if self._is_begun and self._keeps_words else ""

    def begin_anew(self) -> None:
        self._let_go()
        self.go_on(ids.unique("talk-"))
        self._is_begun = False

    def go_on(self, conversation: str, heard: int = 0) -> None:
        """Continue a conversation that is already on disk.

        `heard` is how many messages of the person the model has not read. They are part of the history that replaces
        the saved one next.
        """
        self.conversation = conversation
        self._heard = heard
        self._is_begun = True
        self.turn = ""
        self._piece: _Piece | None = None
        self._texts: list[str] = []
        self._piece_at = 0.0
        self._used: tuple[agent_events.UsageChanged, float] | None = None

    # what is shown

    def take(self, event: AgentEvent) -> None:
        if isinstance(event, _Piece):
            self._gather(event)
            return
        self._write_piece()
        if isinstance(event, agent_events.TurnStarted):
            self._begin_turn(event)
        elif isinstance(event, agent_events.UsageChanged):
            self._use(event)
        elif is_shown(event) and not isinstance(event, agent_events.ToolProgress):
            self._write_usage()
            said = _said(event) if isinstance(event, agent_events.SaidMeanwhile) else ""
            self._show(event, event.text if isinstance(event, agent_events.TurnEnded) else said)
        if isinstance(event, agent_events.TurnEnded):
            self._soon(rows.end_turn, event.turn_id, event.outcome.value, self._clock.wall())

    def _gather(self, piece: _Piece) -> None:
        """Join a piece with the earlier pieces of its text. A piece of another text first writes the earlier one."""
        if self._piece is None or replace(piece, text="") != self._piece:
            self._write_piece()
            self._piece = replace(piece, text="")
        self._texts.append(piece.text)
        self._piece_at = self._clock.wall()

    def _write_piece(self) -> None:
        piece, text = self._piece, "".join(self._texts)
        self._piece, self._texts = None, []
        if piece is None:
            return
        if isinstance(piece, agent_events.TagDelta):
            text = clip_middle(text, _PAYLOAD_CHARS, _PAYLOAD_CHARS)
        said = text if isinstance(piece, agent_events.SayDelta) else ""
        self._show(replace(piece, text=text), said, self._piece_at)

    def _write_usage(self) -> None:
        """Write the newest figures with the time at which they came: near the end of a model's answer."""
        if self._used:
            event, at = self._used
            self._used = None
            self._show(event, at=at)

    def _show(self, event: AgentEvent, said: str = "", at: float | None = None) -> None:
        turn, at = self.turn, self._clock.wall() if at is None else at
        self._soon(
            rows.add_event,
            lambda: StoredEvent(turn, at, WITHHELD.without(event_to_text(event)), without_secrets(said)),
        )

    def _begin_turn(self, event: agent_events.TurnStarted) -> None:
        self.turn, self._used = event.turn_id, None
        title = clip_line(without_secrets(_said(event)[:_TITLE_FROM]), _TITLE_CHARS) or _WORDLESS
        now = self._clock.wall()
        self._soon(rows.begin_turn, StoredTurn(self.turn, title, now, self._model, holder(), self._provider))
        self._is_begun = True
        self._show(event, _said(event))

    def _use(self, event: agent_events.UsageChanged) -> None:
        self._used = event, self._clock.wall()
        is_free = not (event.input_tokens or event.output_tokens or event.cache_read_tokens or event.cache_write_tokens)
        figures = Figures(
            self.turn,
            self._clock.wall(),
            self._model,
            event.input_tokens,
            event.output_tokens,
            event.cache_read_tokens,
            event.cache_write_tokens,
            0.0 if is_free else event.cost_usd,
        )
        self._db.soon(partial(rows.use, figures=figures))

    # what the model reads

    def entries_added(self, entries: Sequence[Entry], heard: int, whole: Sequence[Entry]) -> None:
        """Write the whole history again, because parts were lost while the disk refused writes."""
        if self._losses != self._db.losses:
            self._losses = self._db.losses
            self.entries_replaced(whole)
        elif self._is_begun:
            added = tuple(entries)
            self._soon(rows.add_entries, lambda: [self._stored(entry) for entry in added], heard)

    def entries_replaced(self, entries: Sequence[Entry]) -> None:
        if self._is_begun:
            new = tuple(entries)
            self._soon(rows.replace_entries, lambda: [self._stored(entry) for entry in new], self._heard)
            self._heard = 0

    def said_meanwhile(self, text: str) -> None:
        self._soon(rows.say_meanwhile, lambda: without_secrets(text))

    def call_begins(self, call: ToolCall, said: Message) -> None:
        turn, at = self.turn, self._clock.wall()

        def begun() -> StoredCall:
            return StoredCall(turn, call.id, call.name, WITHHELD.without(values_to_text(call.arguments)), at)

        self._soon(rows.begin_call, lambda: self._stored(Entry(EntryKind.MODEL, said)), begun)

    def call_ended(self, call_id: str, result: ToolResult) -> None:
        echo = result.llm_echo
        self._soon(rows.end_call, call_id, lambda: without_secrets(echo) or _DONE)

    def _blank_out(self, spellings: tuple[str, ...]) -> None:
        """Remove a new secret from what was already written."""
        self._write_piece()
        self._soon(rows.blank_out, spellings, shown())

    def _stored(self, entry: Entry) -> StoredEntry:
        text, altered = message_to_text(entry.message)
        kept = WITHHELD.without(text)
        return StoredEntry(entry.kind.name, kept, altered or kept != text)

    async def settled(self) -> str:
        return await self._db.done()

    @property
    def is_held_up(self) -> bool:
        return self._db.is_held_up

    async def close(self) -> None:
        self._stop_withholding()
        self._write_piece()
        self._let_go()
        await asyncio.to_thread(self._db.close)  # on a thread, because closing waits for the disk

    def _let_go(self) -> None:
        """Release the conversation, so that other processes may continue it."""
        if self._is_begun:
            self._soon(rows.let_go, holder())

    def _soon(self, work: Callable[..., None], *values: object) -> None:
        """Queue a write for the database's thread. A function among `values` is called there, because redaction is
        slow.
        """
        conversation = self.conversation
        if self._keeps_words:
            self._db.soon(
                lambda db: work(db, conversation, *(value() if callable(value) else value for value in values))
            )
