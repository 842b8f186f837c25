"""When a program counts as hung, and what is to be done then. Words in, deeds out; no clock and no process."""

from __future__ import annotations

from enum import StrEnum

BEAT_S = 1.0
"""So often the program says that it lives."""
_UNHEARD_S = 1.5
"""A stop that the event loop has not noticed after this time is carried out from outside."""
_UNFINISHED_S = 10.0
"""So long a turn may take to wind up once the loop has noticed."""
_HUNG_S = 8.0


class Word(StrEnum):
    """What the program tells its watchdog, a line each."""

    BEAT = "beat"
    STOP = "stop"
    HEARD = "heard"
    STOPPED = "stopped"
    BYE = "bye"
    GONE = "gone"


class Deed(StrEnum):
    """What the watchdog does, and tells the program when it listens again."""

    END_ALL = "end all"
    LET_GO = "let go"
    TELL_HUNG = "tell hung"


class Vigil:
    """`now` is seconds on a clock that only goes forward."""

    def __init__(self, now: float) -> None:
        self._beat_at = now
        self._limit: float | None = None
        self._is_told = False
        self.is_over = False

    def heard(self, word: str, now: float) -> Deed | None:
        """What a word calls for at once. A program that is gone without a word may have left keys pressed."""
        self._beat_at = now
        match word:
            case Word.BEAT:
                self._is_told = False
            case Word.STOP:
                self._limit = now + _UNHEARD_S
            case Word.HEARD if self._limit is not None:
                self._limit = now + _UNFINISHED_S
            case Word.STOPPED:
                self._limit = None
            case Word.BYE:
                self.is_over = True
            case Word.GONE:
                self.is_over = True
                return Deed.LET_GO
        return None

    def due(self, now: float) -> Deed | None:
        """What has to be done because time has passed."""
        if self._limit is not None and now >= self._limit:
            self._limit = None
            return Deed.END_ALL
        if now - self._beat_at >= _HUNG_S and not self._is_told:
            self._is_told = True
            return Deed.TELL_HUNG
        return None
