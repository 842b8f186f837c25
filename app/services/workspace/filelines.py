"""A text as lines, each with its own line end, and where each begins."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate


class File:
    """`lines` are without line ends; `starts` are their offsets in `text`, and one more for its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        pieces = text.split("\n")
        self.starts = list(accumulate(map((1).__add__, map(len, pieces)), initial=0))
        self.starts[-1] = len(text)
        if not pieces[-1]:
            pieces.pop()
            self.starts.pop()
        self._has_returns = "\r" in text
        self.lines = self._without_returns(pieces) if self._has_returns else pieces

    def end(self, number: int) -> str:
        """How the line of that number (from 0) ends: nothing, a newline, or a return and a newline."""
        stop = self.starts[number + 1]
        if not self.text.endswith("\n", 0, stop):
            return ""
        return "\r\n" if self._has_returns and self.text.endswith("\r\n", 0, stop) else "\n"

    def whole(self, first: int, stop: int) -> str:
        """The lines from `first` to before `stop`, with their ends."""
        return self.text[self.starts[first] : self.starts[stop]]

    @cached_property
    def style(self) -> str:
        """The line end that most lines have."""
        returns = self.text.count("\r\n") if self._has_returns else 0
        return "\r\n" if returns > self.text.count("\n") - returns else "\n"

    def _without_returns(self, pieces: list[str]) -> list[str]:
        last = len(pieces) if self.text.endswith("\n") else len(pieces) - 1
        return [piece.removesuffix("\r") for piece in pieces[:last]] + pieces[last:]
