"""What of an unfinished payload may already be shown: nothing that its end could still strip."""

from __future__ import annotations

import re

_PLAIN_END = re.compile(r"(?:\r?\n|\r)?\Z")
_MARKUP_END = re.compile(r"(?:\](?:\](?:>\s{0,64})?)?)?\Z")
_CDATA_END = re.compile(rf"(?:\r?\n|\r)?{_MARKUP_END.pattern}")
_NO_END = re.compile(r"\Z")
_LONGEST_END = 80
_MAY_END = frozenset("\r\n]> \t")


class Preview:
    """Lets text through, without the line break at its start and whatever may be part of its end."""

    def __init__(self, *, is_cdata: bool = False, keeps_end: bool = False) -> None:
        self.count = 0
        if keeps_end:
            self._ending = _MARKUP_END if is_cdata else _NO_END
        else:
            self._ending = _CDATA_END if is_cdata else _PLAIN_END
        self._held = ""
        self._has_begun = False

    def feed(self, text: str) -> str:
        """What may be shown now; `count` is how much has been in all."""
        if self._held:
            text = self._held + text
            self._held = ""
        elif self._has_begun and text[-1:] not in _MAY_END:
            self.count += len(text)
            return text
        if not self._has_begun:
            if text in ("", "\r"):
                self._held = text
                return ""
            self._has_begun = True
            text = text[2:] if text.startswith("\r\n") else text.removeprefix("\n")
        if text and text[-1] in _MAY_END:
            ending = self._ending.search(text, max(len(text) - _LONGEST_END, 0))
            assert ending is not None
            self._held = text[ending.start() :]
            text = text[: ending.start()]
        self.count += len(text)
        return text
