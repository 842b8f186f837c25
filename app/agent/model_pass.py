"""One model pass: read the answer, run its calls, and keep its text.

A broken answer is continued at exactly the next character with the same reader: shown text stays, and a call that ran
never runs again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.agent.calls import Calls, ending
from app.agent.cards import Cards
from app.agent.continuation import Continuation, NativeHearing, ProseBuffer, Transcript
from app.agent.correction import how_to_write
from app.agent.deps import SessionDeps
from app.agent.prompt import told
from app.agent.recording import note
from app.agent.streaming import Ask, listen
from app.agent.turn import Turn
from app.protocol.call import Block, tool_error
from app.protocol.dialects.api import Answer, Pacing
from app.protocol.dialects.foreign import read_foreign, split_foreign
from app.protocol.dialects.tags import names_of
from app.protocol.dialects.unread import meant_by, unread_call
from app.protocol.message import (
    BatchClosed,
    CallClosed,
    CallCut,
    CallDelta,
    CallOpened,
    CallQuoted,
    DeclaredEnd,
    Invented,
    Message,
    Misread,
    OpaquePart,
    ReaderEvent,
    Text,
    Thought,
)
from app.protocol.spec import Effect
from app.providers.api import NativeCallDelta, OpaqueBlock, Stopped, StreamEvent, TextDelta, Thinking
from app.settings.catalog import FALLBACK_FORMATS

_TAIL = 400
"""How much of the cut answer the model is shown when it is asked to continue."""
_ALL = 1 << 30  # more characters than any message has, so that `tail` returns all of it
ENDLESS_CHARS = 1_500
"""This much of one repeated passage stops the pass, because small local models get stuck this way."""
_ENDLESS_IN_CALLS = 3_000
_ENDLESS_IN_FILES = 12_000
"""The same inside a call: a file may well hold one line many times."""
_ENDLESS_COUNTED = 4_000
"""The same for a passage in which only numbers change."""
_FEWEST_TIMES = 4
_FEWEST_TIMES_COUNTED = 8
_FEWEST_LETTERS = 40
"""A passage with numbers that change and fewer letters may be a row of a list or table."""
_LONGEST_PASSAGE = 1_200
_NEEDLE = 300
_LOOK_EVERY = 200
_NUMBER = re.compile(r"\d+")
_SPEAKS_OF_MARKUP = re.compile(r"[<>]|xml|html|svg|markup|\btags?\b|syntax|snippet|template|json|python", re.IGNORECASE)


class ModelPass:
    """One model pass: stream an answer and run its calls. `message` and the `answers` of its calls hold the result.

    If the model `has_read` text from others, calls that may be quoted from it do not run.
    """

    def __init__(self, parts: SessionDeps, turn: Turn, cards: Cards, calls: Calls, *, has_read: bool = False) -> None:
        self._parts = parts
        self._has_read = has_read
        self._specs = parts.registry.specs
        self._turn = turn
        self._cards = cards
        self._calls = calls
        self._transcript = Transcript()
        self._seam: Continuation | None = None
        self._native = NativeHearing(cards, self._transcript)
        self._pending = self._native.pending
        self._written: list[Block] = []
        self._batch: tuple[str, ...] = ()
        self._withheld = ProseBuffer(names_of(self._specs), is_on=parts.settings[FALLBACK_FORMATS])
        self._prose: list[str] = []
        self._spoken: list[str] = []
        self._is_over = False
        self._quoted_to = 0
        self.is_cut = False
        self.is_repeating = False
        self._loops = TextLoopDetector()
        self._open_name = ""
        self.stop_reason = ""
        self.has_ended = False
        self.has_invented = False
        self.unread_call = ""
        self.is_quoting = False
        self.hint = ""
        self.offers: tuple[str, ...] = ()
        self.is_told_by_card = False
        self._new_reader()

    @property
    def spoken(self) -> list[str]:
        """What the person has read or heard, in order: prose and the words of voiced calls."""
        prose = "".join(self._prose).strip()
        return [*self._spoken, prose] if prose else list(self._spoken)

    def message(self) -> Message:
        return self._transcript.message()

    async def run(self, ask: Ask) -> None:
        """Run the pass. If it raises a ProviderError, what was said and done before stays readable."""
        complete = False
        try:
            await listen(self._parts, self._turn, self, ask)
            if not self.is_cut:
                self._is_over = True
                await self._handle_all(self._reader.flush())
                await self._read_foreign_calls()
            await self._act()
            complete = True
        finally:
            if not complete:
                self._leave()
            self._cards.close_all(told("not_run") if complete else self._why_left())

    # what `listen` asks of an ear

    def begin_stream(self) -> None:
        self._native.forget_open()
        self.stop_reason = ""

    async def take(self, event: StreamEvent) -> None:
        if await self._notice_loop(event):
            return
        match event:
            case TextDelta():
                await self._read(self._seam.feed(event.text) if self._seam else event.text)
            case Thinking():
                self._cards.thought(event.text)
            case OpaqueBlock():
                self._transcript.opaque(OpaquePart(event.vendor, event.value))
            case Stopped():
                self.stop_reason = event.reason
            case _:
                self._native.take(event)

    async def _notice_loop(self, event: StreamEvent) -> bool:
        """Stop a model that repeats itself endlessly. An unfinished call does not run."""
        if not isinstance(event, (TextDelta, Thinking, NativeCallDelta)):
            return False
        name = self._native.name_of(event.call_id) if isinstance(event, NativeCallDelta) else self._open_name
        text = event.json if isinstance(event, NativeCallDelta) else event.text
        if not self._loops.take(text, ENDLESS_CHARS if isinstance(event, Thinking) else self._endless_in(name)):
            return False
        if self._open_name and not self._reader.is_open:  # the call is complete; only what follows it repeats itself
            await self._handle_all(self._reader.flush())
            return self.is_cut
        self.is_repeating = True
        if self._reader.is_open:
            self._forget_open_call()
        self._pending.clear()
        self._written.clear()
        self._cut(None)
        return True

    def _endless_in(self, name: str) -> int:
        """Return how much repetition is endless in the call with this name, or in what is said to the person."""
        spec = self._parts.registry.find(name)
        if spec is None or spec.voiced:
            return ENDLESS_CHARS
        return _ENDLESS_IN_FILES if spec.effect is Effect.WRITES else _ENDLESS_IN_CALLS

    async def end_stream(self) -> None:
        await self._read(self._seam.finish() if self._seam else "")

    def is_enough(self, *, is_broken: bool) -> bool:
        if self.is_cut or (self._pending and self._parts.dialect.pacing is Pacing.WHOLE_MESSAGE):
            return True
        if is_broken:
            return False
        if self._native.is_open or self._native.refused:
            return True
        is_short = self.stop_reason == "max_tokens" and bool(self._transcript.text.strip())
        return not (self._reader.is_open or is_short)

    def continuation(self) -> tuple[Message, ...]:
        said = self._transcript.text
        if not said.strip():
            self._seam = None
            return ()
        is_open = self._reader.is_open
        self._seam = (
            Continuation(self._reader.tail(_ALL), self._opening, self._others())
            if is_open
            else Continuation(said[-_TAIL:])
        )
        tail = self._reader.tail(_TAIL) if is_open else said[-_TAIL:]
        return (self.message(), note("continue_call" if is_open else "continue_text", tail=tail))

    # reading

    async def _read(self, text: str) -> None:
        if self._seam and self._seam.restarted:
            self._begin_again()
        elif self._seam and self._seam.is_left:
            await self._end_left_call()
        if text and not self.is_cut:
            self._transcript.say(text)
            await self._handle_all(self._reader.feed(text))

    def _begin_again(self) -> list[Block]:
        """Discard the open call and close its card, because the model writes something else in its place."""
        self._seam = None
        forgotten = self._forget_open_call()
        self._cards.close_all(told("not_run"))
        self._new_reader()
        return forgotten

    async def _end_left_call(self) -> None:
        """End the open call, because the model began another one. Speech ends with the words that the person has heard;
        any other call is incomplete, so it does not run.
        """
        self._seam = None
        spec = self._parts.registry.find(self._open_name)
        if spec and spec.is_speech:
            await self._read(f"</{self._open_name}>\n")
            return
        for block in self._begin_again():
            self._calls.complain(block.name, told("cut_call"))

    def _others(self) -> frozenset[str]:
        """The tags that begin another call and cannot be a part of the open one."""
        if self._parts.dialect.pacing is Pacing.ONE_BATCH:
            return frozenset()
        spec = self._parts.registry.find(self._open_name)
        return names_of(self._specs) - {param.name for param in (spec.params if spec else ())}

    def _new_reader(self) -> None:
        self._origin = self._transcript.position
        self._opening = self._open_name = ""
        self._reader = self._parts.dialect.reader(self._specs, has_read=self._has_read)

    def _forget_open_call(self) -> list[Block]:
        """Take the open call out of the message, and return it."""
        written = len(self._reader.tail(_ALL))
        forgotten = [event.block for event in self._reader.flush() if isinstance(event, CallCut)]
        start = self._origin + forgotten[-1].span[0] if forgotten else self._transcript.position - written
        self._transcript.cut(start)
        return forgotten

    async def _handle_all(self, events: list[ReaderEvent]) -> None:
        for event in events:
            if not self._show(event):
                await self._note(event)
            if self.is_cut:
                return

    def _show(self, event: ReaderEvent) -> bool:
        """Pass on what only the person sees."""
        match event:
            case Text():
                self._speak(self._withheld.take(event.text))
            case Thought():
                self._cards.thought(event.text)
            case CallOpened():
                self._speak(self._withheld.rest())
                self._opening, self._open_name = self._reader.tail(_ALL)[:_TAIL], event.name
                self._cards.opened(event.call_id, event.name, dict(event.attrs))
            case CallDelta():
                self._cards.delta(event.call_id, event.param, event.text)
            case _:
                return False
        return True

    def _speak(self, text: str) -> None:
        if text:
            self._prose.append(text)
            self._cards.prose(text)

    async def _note(self, event: ReaderEvent) -> None:
        """Handle events about calls."""
        if isinstance(event, (CallClosed, CallCut, CallQuoted)):
            self._opening = self._open_name = ""
        match event:
            case CallClosed():
                await self._closed(event.block)
                if self._parts.dialect.pacing is Pacing.WHOLE_MESSAGE and self._is_awaited(event.block):
                    self._cut(event.block.span[1])
            case CallCut():
                self._cut_off(event)
            case CallQuoted():
                self._quoted_in_a_sentence(event.block)
            case BatchClosed():
                self._batch = event.call_ids
                self._cut(self._pending[-1].span[1] if self._pending else None)
            case Invented():
                self.has_invented = self.has_invented or bool(event.text.strip())
                self._transcript.hide(event.text)
            case Misread():
                self._calls.complain(event.code, event.detail)
            case DeclaredEnd():
                self.has_ended = True
                self._cut(event.position)

    def _is_awaited(self, block: Block) -> bool:
        spec = self._parts.registry.find(block.name)
        return spec is None or spec.feeds_back

    async def _closed(self, block: Block) -> None:
        """Take a complete call that the model wrote as text."""
        pacing = self._parts.dialect.pacing
        if pacing is not Pacing.ONE_FEEDBACK_CALL:
            self._pending.append(block)
            self._written += [block] if pacing is Pacing.WHOLE_MESSAGE else []
            return
        if self._is_awaited(block):
            self._pending.append(block)
            self._cut(block.span[1])
            return
        answer = await self._calls.run(block)
        self._heard(answer)
        if ending((answer,)):
            self._cut(block.span[1])

    async def _read_foreign_calls(self) -> None:
        """Search a whole answer without own calls for calls in a foreign format, as a last resort."""
        held = self._withheld.rest()
        blocks = self._foreign_calls()
        said = self._around_calls(held) if blocks else held
        if self._has_read and not self._only_say(blocks):
            is_alone = not self._around_calls(self._transcript.text).strip()
            self._speak("" if is_alone else held)
            self._answer_quoted(blocks[0], is_alone=is_alone)
            return
        self._speak(said)
        if blocks:
            self._batch = tuple(block.call_id for block in blocks)
        for block in blocks:
            if not self.is_cut:
                await self._closed(block)
        if self._only_say(self._pending) and not any(map(self._calls.feeds_back, self._calls.answers)):
            self._note_unread_call()

    def _around_calls(self, text: str) -> str:
        return "".join(part for part in split_foreign(text, self._specs) if isinstance(part, str))

    def _only_say(self, blocks: Sequence[Block]) -> bool:
        """True if the calls only talk to the person, so that they do no harm and nothing is awaited."""
        specs = [self._parts.registry.find(block.name) for block in blocks]
        return all(spec is not None and spec.is_speech for spec in specs)

    def _note_unread_call(self) -> None:
        """Tell the model if its reply means a call that did not run, unless the person spoke of markup.

        What may also be an example is told once, and only before anything was done.
        """
        if _SPEAKS_OF_MARKUP.search("\n".join(self._turn.said)):
            return
        unread = unread_call(self._transcript.text, self._specs)
        if unread is None or not (unread.is_certain or self._may_nudge()):
            return
        self.unread_call = unread.name if unread.is_certain else ""
        if unread.is_certain and not unread.is_disguised:
            self.hint = told("unread_call", name=unread.name, how=self._how(unread.meant))
        else:  # A call that the model may have advised against is not written out for it.
            self.hint = told("quoted_call")

    def _may_nudge(self) -> bool:
        """True if the model may be told of what is perhaps no fault, which is done once a turn."""
        is_first = not (self._turn.nudged or self._turn.evidence.has_acted)
        self._turn.nudged = self._turn.nudged or is_first
        return is_first

    def _how(self, block: Block | None, *, is_shown: bool = True) -> str:
        """With the call's own arguments if they are to be shown."""
        return how_to_write(block, self._parts.dialect, self._specs, is_shown=is_shown) or told("use_instructions")

    def _foreign_calls(self) -> list[Block]:
        if self._pending or self._calls.answers or not self._parts.settings[FALLBACK_FORMATS]:
            return []
        return read_foreign(self._transcript.text, self._specs)

    def _note_written(self) -> None:
        """Add the calls that were written as text to the history, because native answers refer to calls by their id."""
        for block in self._written:
            spec = self._parts.registry.find(block.name)
            self._transcript.call(block, body=spec.body.name if spec and spec.body else "")
        self._written.clear()

    def _quoted_in_a_sentence(self, block: Block) -> None:
        """Show a quoted call as text, and tell the model why it did not run."""
        start, stop = block.span
        self._speak(self._transcript.between(self._origin + max(start, self._quoted_to), self._origin + stop))
        self._quoted_to = stop
        self._cards.finished(block.call_id, tool_error(block.name, told("quoted_call")))
        self._answer_quoted(block)

    def _answer_quoted(self, block: Block, *, is_alone: bool = False) -> None:
        """Tell the model once why the quoted call did not run. If it repeats the call in its next answer, the quotation
        is meant, unless the call `is_alone`.

        The model reads the tool's own example, because others may have written what stands in the call.
        """
        passes = self._turn.budget.passes
        self.is_quoting = True
        self.unread_call = block.name if is_alone else ""
        if is_alone or self._turn.quoted_in in (0, passes) or passes - self._turn.quoted_in > 1:
            self._turn.quoted_in = passes
            self._calls.complain(block.name, told("quoted_call"))
            self.hint = self._how(block, is_shown=False) if is_alone else ""

    def _heard(self, answer: Answer) -> None:
        spec = self._parts.registry.find(answer.tool)
        if spec and spec.voiced and answer.result.ok:
            self._spoken = [*self.spoken, str(answer.result.payload.get("text", ""))]
            self._prose = []
            offered = answer.result.payload.get("offers")
            self.offers = tuple(map(str, offered)) if isinstance(offered, (list, tuple)) else ()
            self.is_told_by_card = answer.result.payload.get("told_by_card") is True

    def _cut(self, end: int | None) -> None:
        """Ignore everything after this place of the message."""
        self.is_cut = True
        if end is not None:
            self._transcript.cut(self._origin + end)

    def _cut_off(self, cut: CallCut) -> None:
        """Handle a call whose end is missing. If the answer is over, the model is told so; else a `Misread` event
        explains it.
        """
        self._cards.closed(cut.block)
        if self._is_over and not cut.is_explained:
            self._refuse(cut.block, told("cut_call"))

    # acting

    async def _act(self) -> None:
        self._note_written()
        for block, why in self._native.refused:
            self._refuse(block, why, answers=block.call_id)
        for block in self._native.cut():
            self._refuse(block, told("cut_call"))
        pacing = self._parts.dialect.pacing
        together = [block for block in self._pending if pacing is not Pacing.ONE_BATCH or block.call_id in self._batch]
        if len(together) == 1:
            await self._calls.run(together[0])
        elif together:
            await self._calls.run_together(together, self._native.toolsets)
        unknown = [block for block in together if self._parts.registry.find(block.name) is None]
        if unknown:
            self.hint = self._how(meant_by(unknown[0], self._specs))
        await self._calls.end_toolset(self._native.toolsets)
        for at, answer in enumerate(self._calls.answers):
            self._calls.answers[at] = replace(answer, toolset=self._native.toolsets.get(answer.call_id, ""))
        self._calls.end_pass()
        if pacing is not Pacing.ONE_FEEDBACK_CALL:
            for answer in self._calls.answers:
                self._heard(answer)

    def _refuse(self, block: Block, reason: str, *, answers: str = "") -> None:
        """Tell the model about a call that cannot run. Only a complete native call is answered by its id."""
        self._calls.complain(block.name, reason, answers)
        self._cards.finished(block.call_id, self._calls.answers[-1].result)

    def _leave(self) -> None:
        """Break off the pass: drop the open call, and answer the calls that will not run."""
        self._speak(self._withheld.rest())
        if not self.is_cut and self._reader.is_open:
            self._forget_open_call()
        self._note_written()
        answered = {answer.call_id for answer in self._calls.answers}
        for block in self._pending:
            if block.call_id not in answered:
                self._calls.complain(block.name, self._why_left(), block.call_id)

    def _why_left(self) -> str:
        return told("stopped_call" if self._turn.cancelled.is_set() else "broken_off")


class TextLoopDetector:
    """Notices that a model repeats the same words. Chunk borders shift the moment a little."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0

    def take(self, text: str, endless: int = ENDLESS_CHARS) -> bool:
        """Return whether the text now ends in one passage repeated again and again, for `endless` characters or more.

        In a file, numbers that change make another passage.
        """
        self._tail = (self._tail + text)[-_ENDLESS_IN_FILES:]
        self._unseen += len(text)
        if self._unseen < _LOOK_EVERY:
            return False
        self._unseen = 0
        if _repeated(self._tail, endless, _FEWEST_TIMES):
            return True
        counted = _repeated(_NUMBER.sub("0", self._tail), _ENDLESS_COUNTED, _FEWEST_TIMES_COUNTED)
        return endless < _ENDLESS_IN_FILES and sum(map(str.isalpha, counted)) >= _FEWEST_LETTERS


def _repeated(text: str, endless: int, times: int) -> str:
    """The passage that the text ends with so many times, and for so many characters; "" if there is none."""
    before = text.rfind(text[-_NEEDLE:], 0, -1)
    period = len(text) - _NEEDLE - before
    length = max(endless, times * period)
    is_known = before >= 0 and period <= _LONGEST_PASSAGE and len(text) >= length
    is_repeated = is_known and text[-length + period :] == text[-length:-period]
    return text[-period:] if is_repeated else ""
