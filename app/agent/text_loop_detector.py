"""Notices a model that writes the same words over and over, while it still streams."""

from __future__ import annotations

ENDLESS_CHARS = 1_500
"""This much of one repeated passage is no answer. Small local models get stuck this way."""
_LONGEST_PASSAGE = 300
_LOOK_EVERY = 200


class TextLoopDetector:
    """Takes what the model says as it comes. How it is cut into chunks shifts the moment a little.

    It is not for the contents of files and commands: a file may well hold the same line many times.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0

    def take(self, text: str) -> bool:
        """Whether the text now ends in one passage repeated again and again."""
        self._tail = (self._tail + text)[-ENDLESS_CHARS:]
        self._unseen += len(text)
        if self._unseen < _LOOK_EVERY:
            return False
        self._unseen = 0
        return _is_periodic(self._tail)


def _is_periodic(text: str) -> bool:
    if len(text) < ENDLESS_CHARS:
        return False
    end = text[-_LONGEST_PASSAGE:]
    before = text.rfind(end, 0, -1)
    period = len(text) - _LONGEST_PASSAGE - before
    return before >= 0 and period <= _LONGEST_PASSAGE and text[period:] == text[:-period]
