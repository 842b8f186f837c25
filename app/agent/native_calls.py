"""Native tool calls while they stream: cards open early and fill; what is complete waits to be run."""

from __future__ import annotations

from app.agent.cards import Cards
from app.agent.transcript import Transcript
from app.agent.words import told
from app.protocol.call import Block
from app.protocol.dialects.native_calls import NativeCalls
from app.protocol.events import CallClosed, CallCut, CallDelta, CallOpened, Misread, ReaderEvent
from app.protocol.result import tool_error
from app.providers.api import NativeCallDelta, NativeCallEnded, NativeCallStarted, StreamEvent


class NativeHearing:
    """The calls of one message. `pending` are complete; `refused` are those whose arguments cannot be read."""

    def __init__(self, cards: Cards, transcript: Transcript) -> None:
        self._cards = cards
        self._transcript = transcript
        self._reading = NativeCalls()
        self._begun: dict[str, str] = {}
        self.pending: list[Block] = []
        self.refused: list[tuple[Block, str]] = []
        self.toolsets: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        """Whether a call has begun and not ended."""
        return self._reading.is_open

    def cut(self) -> list[Block]:
        """The calls that have begun and will never end."""
        return [event.block for event in self._reading.cut() if isinstance(event, CallCut)]

    def forget_open(self) -> None:
        """A stream that broke inside calls is asked again: what had begun is closed."""
        for block in self.cut():
            self._cards.finished(block.call_id, tool_error(block.name, told("not_run")))

    def take(self, event: StreamEvent) -> None:
        match event:
            case NativeCallStarted():
                if event.toolset:
                    self.toolsets[event.call_id] = event.toolset
                self._begun[event.call_id] = event.name
                self._show(self._reading.started(event.call_id, event.name))
            case NativeCallDelta():
                self._show(self._reading.delta(event.call_id, event.json))
            case NativeCallEnded() if event.call_id in self._begun:
                self._ended(event)

    def _ended(self, event: NativeCallEnded) -> None:
        block = Block(event.call_id, self._begun.pop(event.call_id), args=event.args)
        self._transcript.call(block, self.toolsets.get(event.call_id, ""))
        for told_event in self._reading.ended(event.call_id, event.args, event.unread):
            if isinstance(told_event, CallClosed):
                self.pending.append(told_event.block)
            elif isinstance(told_event, Misread):
                self.refused.append((block, told_event.detail))

    def _show(self, events: list[ReaderEvent]) -> None:
        for event in events:
            if isinstance(event, CallOpened):
                self._cards.opened(event.call_id, event.name, {})
            elif isinstance(event, CallDelta):
                self._cards.delta(event.call_id, event.param, event.text)
