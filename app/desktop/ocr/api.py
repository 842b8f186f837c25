"""The seam of text recognition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.base.geometry import Rect
from app.desktop.api import Frame


@dataclass(frozen=True, slots=True)
class TextBox:
    """A line of text as it was recognised, in screen pixels; `score` from 0 to 1 is how sure the recognition is."""

    text: str
    box: Rect
    score: float


class Ocr(Protocol):
    """Recognises text."""

    async def read_text(self, frame: Frame) -> tuple[TextBox, ...]:
        """The lines in a picture, from the top. Never blocks the loop. ToolFailed when it cannot be done."""
        ...

    async def close(self) -> None:
        """Let go of models and memory, for good."""
        ...
