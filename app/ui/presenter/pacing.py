"""The rhythm of speech: how much of what has arrived is shown by now."""

from __future__ import annotations

from collections import deque

_COMMAS = ",;:–—"
_STOPS = ".!?…\n"


class Pacer:
    """Shows text at a speaking pace with a breath at commas and stops, and never more than `behind_s` late.

    `chars_per_s` of 0 shows everything at once.
    """

    def __init__(self, chars_per_s: float, comma_s: float, stop_s: float, behind_s: float) -> None:
        self._per_char = 1 / chars_per_s if chars_per_s else 0.0
        self._breath = {**dict.fromkeys(_COMMAS, comma_s), **dict.fromkeys(_STOPS, stop_s)}
        self._behind = behind_s
        self._arrived: deque[tuple[float, int]] = deque()
        self._credit = 0.0
        self._now = 0.0
        self.shown = 0

    def arrive(self, length: int) -> None:
        """The text is `length` characters long now."""
        self._arrived.append((self._now, length))

    def advance(self, text: str, elapsed_s: float) -> int:
        """How many characters of `text` are shown after `elapsed_s` more seconds."""
        self._now += elapsed_s
        if not self._per_char:
            self.shown = len(text)
            return self.shown
        self._credit += elapsed_s
        while self.shown < len(text) and self._credit >= (cost := self._cost(text[self.shown])):
            self._credit -= cost
            self.shown += 1
        if self.shown == len(text):
            self._credit = 0.0
        self._catch_up(len(text))
        return self.shown

    def _cost(self, character: str) -> float:
        return self._per_char + self._breath.get(character, 0.0)

    def _catch_up(self, length: int) -> None:
        due = 0
        while self._arrived and self._arrived[0][0] <= self._now - self._behind:
            due = self._arrived.popleft()[1]
        if min(due, length) > self.shown:
            self.shown = min(due, length)
            self._credit = 0.0
