"""Joins what a model writes after an interruption to what it had written before.

Asked for the exact next character, models mostly obey; some repeat the last words, some write the whole call again.
A join waits for enough text to tell these apart; what it hands on is never taken back.
"""

from __future__ import annotations

_LOOK = 240
"""Characters of the continuation that are looked at before deciding."""
_SHORTEST_REPEAT = 8
"""Shorter agreements are taken for chance: a payload may well repeat a bracket or a line break."""
_OPENING = 24
"""How much of a call's first characters must come again for it to count as written anew."""
_SHORTEST_OPENING = 5
"""What had been written of a call may be less, but not less than a short tag."""


class Seam:
    """`written` is the open call so far, or its end where it is long, or the end of the prose; `opening` is how the
    call began. `restarted` says that it began anew.
    """

    def __init__(self, written: str, opening: str = "") -> None:
        self._written = written
        self._opening = (opening or written)[:_OPENING]
        self._is_whole = written.startswith(self._opening)
        self._held = ""
        self._decided = False
        self.restarted = False

    def feed(self, chunk: str) -> str:
        """What of the continuation so far is new."""
        if self._decided:
            return chunk
        self._held += chunk
        return self._decide(final=False)

    def finish(self) -> str:
        """The stream is over: what was still held."""
        return "" if self._decided else self._decide(final=True)

    def _decide(self, *, final: bool) -> str:
        if self._begins_anew():
            is_short = len(self._held.lstrip()) < len(self._written)
            waits = self._is_whole and not final and is_short and self._is_copy_so_far()
            return "" if waits else self._copied()
        if not final and len(self._held) < _LOOK:
            return ""
        return self._settle(self._held[self._overlap() :])

    def _begins_anew(self) -> bool:
        opening = self._opening
        return opening.startswith("<") and len(opening) >= _SHORTEST_OPENING and self._held.lstrip().startswith(opening)

    def _is_copy_so_far(self) -> bool:
        return self._written.startswith(self._held.lstrip())

    def _copied(self) -> str:
        """The call came again: drop the copy where it is exact, otherwise the new one replaces the old."""
        text = self._held.lstrip()
        if self._is_whole and text.startswith(self._written):
            return self._settle(text[len(self._written) :])
        self.restarted = not (self._is_whole and self._is_copy_so_far())
        return self._settle(text if self.restarted else "")

    def _overlap(self) -> int:
        longest = min(len(self._held), len(self._written))
        for size in range(longest, _SHORTEST_REPEAT - 1, -1):
            if self._written.endswith(self._held[:size]):
                return size
        return 0

    def _settle(self, text: str) -> str:
        self._decided = True
        self._held = ""
        return text
