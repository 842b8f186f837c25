"""What the model said in one pass, as it goes into the history: its own characters up to where it was cut."""

from __future__ import annotations

from app.protocol.call import Block
from app.protocol.message import CallPart, Message, OpaquePart, Part, Role, TextPart


class Transcript:
    """Collects parts in the order they came. Positions count all characters said, as a reader counts them."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._pieces: list[str] = []
        self._hidden: list[tuple[int, int]] = []
        self._before = 0
        self._length = 0

    @property
    def position(self) -> int:
        """How many characters were said."""
        return self._before + self._length

    @property
    def text(self) -> str:
        """The text since the last part of another kind, without what is hidden."""
        said, kept, at = "".join(self._pieces), [], 0
        for start, stop in self._hidden:
            kept.append(said[at:start])
            at = stop
        return "".join([*kept, said[at:]])

    def say(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def between(self, start: int, stop: int) -> str:
        """What was said between two positions, as far as no part of another kind has come since."""
        return "".join(self._pieces)[max(start - self._before, 0) : max(stop - self._before, 0)]

    def opaque(self, part: OpaquePart) -> None:
        self._flush()
        self._parts.append(part)

    def call(self, block: Block, toolset: str = "") -> None:
        """A complete call, to be answered by its id."""
        self._flush()
        written = {**block.attrs, **{child.name: child.text for child in block.children}}
        self._parts.append(CallPart(block.call_id, block.name, written if block.args is None else block.args, toolset))

    def cut(self, position: int) -> None:
        """Forget the text from this position on."""
        self._pieces = ["".join(self._pieces)[: max(position - self._before, 0)]]
        self._length = len(self._pieces[0])

    def hide(self, inner: str) -> None:
        """Keep the last appearance of a text, with the tags around it, out of the message; positions stay."""
        said = "".join(self._pieces)
        start = said.rfind(inner)
        if start < 0 or not inner:
            return
        stop = start + len(inner)
        if said[:start].rstrip().endswith(">"):
            start = max(said.rfind("<", 0, start), 0)
        if said[stop:].lstrip().startswith("</") and ">" in said[stop:]:
            stop = said.index(">", stop) + 1
        self._hidden.append((start, stop))

    def message(self) -> Message:
        """All of it; no parts where nothing was said."""
        text = self.text.strip()
        last: tuple[Part, ...] = (TextPart(text),) if text else ()
        return Message(Role.ASSISTANT, (*self._parts, *last))

    def _flush(self) -> None:
        self._before = self.position
        if text := self.text.strip():
            self._parts.append(TextPart(text))
        self._pieces, self._hidden, self._length = [], [], 0
