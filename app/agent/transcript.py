"""What the model said in one pass, as it goes into the history: its own characters up to where it was cut."""

from __future__ import annotations

from app.protocol.call import Block
from app.protocol.message import CallPart, Message, OpaquePart, Part, Role, TextPart


class Transcript:
    """Collects parts in the order they came. Positions count all characters said, as a reader counts them."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._pieces: list[str] = []
        self._before = 0

    @property
    def position(self) -> int:
        """How many characters were said."""
        return self._before + sum(map(len, self._pieces))

    @property
    def text(self) -> str:
        """The text since the last part of another kind."""
        return "".join(self._pieces)

    def say(self, text: str) -> None:
        self._pieces.append(text)

    def opaque(self, part: OpaquePart) -> None:
        self._flush()
        self._parts.append(part)

    def call(self, block: Block, toolset: str = "") -> None:
        """A native call, complete."""
        self._flush()
        self._parts.append(CallPart(block.call_id, block.name, block.args or {}, toolset))

    def cut(self, position: int) -> None:
        """Forget the text from this position on."""
        self._pieces = [self.text[: max(position - self._before, 0)]]

    def without(self, piece: str) -> None:
        """Blank the last appearance of something that shall not be remembered."""
        before, found, after = self.text.rpartition(piece)
        if piece and found:
            self._pieces = [before, " " * len(piece), after]

    def message(self) -> Message:
        """All of it; no parts where nothing was said."""
        text = self.text.strip()
        last: tuple[Part, ...] = (TextPart(text),) if text else ()
        return Message(Role.ASSISTANT, (*self._parts, *last))

    def _flush(self) -> None:
        self._before = self.position
        if text := self.text.strip():
            self._parts.append(TextPart(text))
        self._pieces = []
