"""What was sent before, for the arrow keys."""

from __future__ import annotations

_KEPT = 200


class Recall:
    """Goes back and forth through what was sent; what was being written is kept at the end."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._draft = ""
        self._place = 0

    def sent(self, text: str) -> None:
        if not self._sent or self._sent[-1] != text:
            self._sent = [*self._sent, text][-_KEPT:]
        self._draft = ""
        self._place = len(self._sent)

    def earlier(self, writing: str) -> str | None:
        """The text before; None where there is none."""
        if self._place == 0:
            return None
        if self._place == len(self._sent):
            self._draft = writing
        self._place -= 1
        return self._sent[self._place]

    def later(self) -> str | None:
        """The text after, at last the draft; None where there is none."""
        if self._place >= len(self._sent):
            return None
        self._place += 1
        return self._draft if self._place == len(self._sent) else self._sent[self._place]
