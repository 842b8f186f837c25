"""One model pass: listen, run what was called, keep what was said.

Listening survives cuts: a stream that breaks, or an answer that ends inside a call, is continued from the exact next
character on the same reader. What was said stays said, and a call that ran is never run again.
"""

from __future__ import annotations

from collections.abc import Callable

from app.agent.calls import Calls, ending
from app.agent.cards import Cards
from app.agent.events import Notice
from app.agent.parts import Parts
from app.agent.seam import Seam
from app.agent.stream import Stream, is_passing, wait_before
from app.agent.transcript import Transcript
from app.agent.turn import Turn
from app.agent.words import told
from app.base.errors import ProviderError
from app.protocol.call import Block
from app.protocol.dialects.api import Answer, Pacing
from app.protocol.events import (
    BatchClosed,
    CallClosed,
    CallCut,
    CallDelta,
    CallOpened,
    Ended,
    Invented,
    Misread,
    ReaderEvent,
    Text,
    Thought,
)
from app.protocol.message import Message, OpaquePart, user
from app.providers.api import OpaqueBlock, Request, Said, Stopped, StreamEvent, Thinking, Usage
from app.settings.catalog import STREAM_ATTEMPTS, STREAM_IDLE_MS

CONTINUATIONS = 3
"""How often an answer that ended too early is continued."""
_TAIL = 400
"""Characters of the cut answer that the model is shown when it is asked to go on."""
_ALL = 1 << 30
_CHARS_A_TOKEN = 4

Ask = Callable[[tuple[Message, ...]], Request]


class ModelPass:
    """Listens once and acts on what it heard; `message` and the `answers` of its calls hold what came of it."""

    def __init__(self, parts: Parts, turn: Turn, cards: Cards, calls: Calls) -> None:
        self._parts = parts
        self._turn = turn
        self._cards = cards
        self._calls = calls
        self._transcript = Transcript()
        self._seam: Seam | None = None
        self._pending: list[Block] = []
        self._prose: list[str] = []
        self._spoken: list[str] = []
        self._is_cut = False
        self._is_over = False
        self._batch: tuple[str, ...] | None = None
        self.stop_reason = ""
        self.has_ended = False
        self.has_invented = False
        self._new_reader()

    @property
    def spoken(self) -> list[str]:
        """What the person heard, in order: plain speech and the words of voiced calls."""
        prose = "".join(self._prose).strip()
        return [*self._spoken, prose] if prose else list(self._spoken)

    def message(self) -> Message:
        return self._transcript.message()

    async def run(self, ask: Ask) -> None:
        """`ask(more)` builds the request, `more` being messages of this pass only.

        Raises the ProviderError that could not be overcome; what was said and done until then stays readable."""
        complete = False
        try:
            await self._listen(ask)
            await self._act()
            complete = True
        finally:
            if not complete:
                self._leave()
            self._cards.close_all(told("not_run") if complete else told("stopped_call"))

    async def _listen(self, ask: Ask) -> None:
        failures = continuations = 0
        more: tuple[Message, ...] = ()
        while True:
            broken: ProviderError | None = None
            try:
                await self._hear(ask(more))
            except ProviderError as error:
                broken = error
                failures += 1
            await self._read(self._seam.finish() if self._seam else "")
            if self._is_enough(broken):
                break
            if broken:
                await self._wait(broken, failures)
            elif continuations == CONTINUATIONS:
                break
            else:
                continuations += 1
            more = self._continuation()
        if not self._is_cut:
            self._is_over = True
            await self._handle_all(self._reader.flush())

    def _is_enough(self, broken: ProviderError | None) -> bool:
        if self._is_cut or (self._pending and self._parts.dialect.pacing is Pacing.WHOLE_MESSAGE):
            return True
        if broken:
            return False
        is_short = self.stop_reason == "max_tokens" and bool(self._transcript.text.strip())
        return not (self._reader.is_open or is_short)

    async def _wait(self, error: ProviderError, failures: int) -> None:
        if not is_passing(error) or failures >= self._parts.settings[STREAM_ATTEMPTS]:
            raise error
        seconds = wait_before(failures, error, self._parts.chance)
        self._turn.tell(Notice("warning", f"{error} Trying again in {seconds:.0f} s."))
        await self._parts.clock.sleep(seconds)

    def _continuation(self) -> tuple[Message, ...]:
        """What to add to the request so that the answer goes on; nothing where nothing was said yet."""
        said = self._transcript.text
        if not said.strip():
            self._seam = None
            return ()
        is_open = self._reader.is_open
        self._seam = Seam(self._reader.tail(_ALL) if is_open else said[-_TAIL:])
        tail = self._reader.tail(_TAIL) if is_open else said[-_TAIL:]
        request = told("continue_call" if is_open else "continue_text", tail=tail)
        return (self._transcript.message(), user(request))

    async def _hear(self, request: Request) -> None:
        self._turn.budget.begin_stream()
        self.stop_reason = ""
        heard = 0
        idle_s = self._parts.settings[STREAM_IDLE_MS] / 1000
        async with Stream(self._parts.provider.stream(request), idle_s) as stream:
            async for event in stream:
                heard += len(event.text) if isinstance(event, (Said, Thinking)) else 0
                await self._take(event)
                if self._is_cut:
                    break
        if self._is_cut:
            self._count_unseen(heard)

    def _count_unseen(self, characters: int) -> None:
        """A stream that we cut never tells its output; where tokens are counted, an estimate stands for it."""
        if self._turn.budget.prompt_tokens:
            self._turn.budget.add(Usage(output_tokens=characters // _CHARS_A_TOKEN))
            self._turn.tell(self._turn.budget.changed())

    async def _take(self, event: StreamEvent) -> None:
        match event:
            case Said():
                await self._read(self._seam.feed(event.text) if self._seam else event.text)
            case Thinking():
                self._cards.thought(event.text)
            case OpaqueBlock():
                self._transcript.opaque(OpaquePart(event.vendor, event.value))
            case Usage():
                self._turn.budget.add(event)
                self._turn.tell(self._turn.budget.changed())
            case Stopped():
                self.stop_reason = event.reason

    async def _read(self, text: str) -> None:
        if self._seam and self._seam.restarted:
            self._begin_again()
        if text and not self._is_cut:
            self._transcript.say(text)
            await self._handle_all(self._reader.feed(text))

    def _begin_again(self) -> None:
        """The model wrote the open call anew: the old one is forgotten, its card closed."""
        self._seam = None
        self._forget_open_call()
        self._cards.close_all(told("not_run"))
        self._new_reader()

    def _new_reader(self) -> None:
        self._origin = self._transcript.position
        self._reader = self._parts.dialect.reader(self._parts.registry.specs)

    async def _handle_all(self, events: list[ReaderEvent]) -> None:
        for event in events:
            if not self._show(event):
                await self._note(event)
            if self._is_cut:
                return

    def _show(self, event: ReaderEvent) -> bool:
        """Pass on what only the person sees."""
        match event:
            case Text():
                self._prose.append(event.text)
                self._cards.prose(event.text)
            case Thought():
                self._cards.thought(event.text)
            case CallOpened():
                self._cards.opened(event.call_id, event.name, dict(event.attrs))
            case CallDelta():
                self._cards.delta(event.call_id, event.param, event.text)
            case _:
                return False
        return True

    async def _note(self, event: ReaderEvent) -> None:
        """Act on what counts."""
        match event:
            case CallClosed():
                await self._closed(event.block)
            case CallCut():
                self._cut_off(event.block)
            case BatchClosed():
                self._batch = event.call_ids
                self._cut(self._pending[-1].span[1] if self._pending else None)
            case Invented():
                self.has_invented = True
                self._transcript.hide(event.text)
            case Misread():
                self._calls.complain(event.code, event.detail)
            case Ended():
                self.has_ended = True
                self._cut(None)

    async def _closed(self, block: Block) -> None:
        if self._parts.dialect.pacing is not Pacing.ONE_FEEDBACK_CALL:
            self._pending.append(block)
            return
        spec = self._parts.registry.find(block.name)
        if spec is None or spec.feeds_back:
            self._pending.append(block)
            self._cut(block.span[1])
            return
        answer = await self._calls.run(block)
        self._heard(answer)
        if ending((answer,)):
            self._cut(block.span[1])

    def _heard(self, answer: Answer) -> None:
        spec = self._parts.registry.find(answer.tool)
        if spec and spec.voiced and answer.result.ok:
            self._spoken = [*self.spoken, str(answer.result.payload.get("text", ""))]
            self._prose = []

    def _cut(self, end: int | None) -> None:
        """Whatever comes after this place of the message does not count."""
        self._is_cut = True
        if end is not None:
            self._transcript.cut(self._origin + end)

    def _cut_off(self, block: Block) -> None:
        """The answer ended inside a call. In the middle of an answer a misreading follows, and tells the model why."""
        self._cards.closed(block)
        if not self._is_over:
            return
        reason = told("cut_call")
        self._calls.complain(block.name, reason, block.call_id)
        self._cards.finished(block.call_id, self._calls.answers[-1].result)

    async def _act(self) -> None:
        pending = self._pending
        if self._parts.dialect.pacing is Pacing.ONE_BATCH:
            pending = [block for block in pending if block.call_id in (self._batch or ())]
        if len(pending) == 1:
            await self._calls.run(pending[0])
        elif pending:
            await self._calls.run_together(pending)
        if self._parts.dialect.pacing is not Pacing.ONE_FEEDBACK_CALL:
            for answer in self._calls.answers:
                self._heard(answer)

    def _leave(self) -> None:
        """The pass breaks off: forget the open call, answer the calls that will not run."""
        if not self._is_cut and self._reader.is_open:
            self._forget_open_call()
        answered = {answer.call_id for answer in self._calls.answers}
        for block in self._pending:
            if block.call_id not in answered:
                self._calls.complain(block.name, told("stopped_call"), block.call_id)

    def _forget_open_call(self) -> None:
        written = len(self._reader.tail(_ALL))
        starts = [event.block.span[0] for event in self._reader.flush() if isinstance(event, CallCut)]
        self._transcript.cut(self._origin + starts[-1] if starts else self._transcript.position - written)
