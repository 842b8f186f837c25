"""Where in the Markdown of an answer a tag stands: in prose, in inline code, in a fenced block."""

from __future__ import annotations

import re

_HEAD = 24
"""Characters of a line that are remembered: enough for its indentation and list mark."""

_INDENT = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,3}[.)])[ \t]+)*[ \t]*")
_FENCE = 3
_NO_CODE = -1


class Markdown:
    """Follows the lines of prose. Inline code ends with its line; a line whose code is not closed has none."""

    def __init__(self) -> None:
        self.head = ""
        self._ticks = 0
        self._fence = ""
        self._fence_is_new = False
        self._is_behind_prose = False

    @property
    def in_fence(self) -> bool:
        return bool(self._fence)

    @property
    def open_ticks(self) -> int:
        """The length of the backtick run that may have opened inline code; 0 where none has."""
        return max(self._ticks, 0)

    @property
    def is_bare(self) -> bool:
        """Whether the line holds nothing yet but space (a call that ended on it does not count)."""
        return not self.head or self.head.isspace()

    @property
    def is_behind_prose(self) -> bool:
        """Whether words stand before on the line; a list mark is none."""
        return self._is_behind_prose or not _INDENT.fullmatch(self.head)

    @property
    def is_cited(self) -> bool:
        """Whether the line begins with `>`, the mark of a quotation."""
        return self.head.lstrip().startswith(">")

    def pass_over(self, data: str, start: int, stop: int) -> None:
        """Prose without backticks or tildes."""
        newline = data.rfind("\n", start, stop)
        if newline < 0:
            if len(self.head) < _HEAD:
                self.head += data[start : min(stop, start + _HEAD - len(self.head))]
        else:
            self.head = data[newline + 1 : min(stop, newline + 1 + _HEAD)]
            self._ticks = 0
            self._fence_is_new = False
            self._is_behind_prose = False

    def pass_run(self, run: str, *, alone: bool) -> None:
        """A run of backticks or tildes; `alone` says that nothing follows it on its line."""
        if self._fence_is_new and run[0] == "`":
            self._fence, self._fence_is_new = "", False
            self._ticks = 0 if len(run) == self._ticks else self._ticks
        elif self._fence:
            if run.startswith(self._fence) and alone and self.is_bare:
                self._fence = ""
        elif len(run) >= _FENCE and self._ticks == 0 and _INDENT.fullmatch(self.head):
            self._fence, self._fence_is_new = run, True
            self._ticks = len(run) if run[0] == "`" else 0
        elif run[0] == "`" and self._ticks != _NO_CODE:
            self._ticks = len(run) if self._ticks == 0 else 0 if self._ticks == len(run) else self._ticks
        self.head += run[: _HEAD - len(self.head)]

    def no_code_here(self) -> None:
        """The open run on this line was no inline code after all."""
        self._ticks = _NO_CODE

    def begin_afresh(self) -> None:
        """A tag has ended: what follows on its line stands as at the start of one, though not before any prose."""
        self._is_behind_prose = self.is_behind_prose
        self.head = ""
        self._ticks = 0
