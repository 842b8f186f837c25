"""Remove secrets from text, at once or as it streams.

The process that records a command's output starts with every command and loads nothing else of Wisp. So this module
imports nothing when it is loaded, and compiles a pattern only when a text may match it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to load than all the rest of that process
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

_PIECE = 32_768
"""How much to search at once, because Python's regular expressions block all other threads meanwhile."""
_LONGEST_KEY = 24_000
_BEGIN, _END, _PRIVATE = "-----BEGIN", "-----END", "PRIVATE KEY"
_BEGIN_CHARS = 80
_ROUNDS = 3
_FEWEST_DIGITS = 13  # because card numbers have at least 13 digits: https://en.wikipedia.org/wiki/Payment_card_number
_SAME_DIGIT = {**dict.fromkeys(map(ord, "123456789"), "0"), ord(" "): None, ord("-"): None}
_DIGITS_IN_A_ROW = "0" * _FEWEST_DIGITS
_SHORT = 4_096
"""Below this length, loading `re` takes longer than searching for each word."""


class Pattern:
    """One kind of secret: `expression` is searched in texts with one of `needs` (in lower case).

    With the check `luhn`, a match counts only if its digits have the checksum of payment cards.
    """

    __slots__ = ("_compiled", "check", "expression", "needs", "spans_lines")

    def __init__(self, needs: Sequence[str], expression: str, check: str = "", *, spans_lines: bool = False) -> None:
        self.needs = tuple(needs)
        self.expression = expression
        self.check = check
        self.spans_lines = spans_lines
        self._compiled: re.Pattern[str] | None = None

    def may_be_in(self, lowered: str) -> bool:
        if self.check and _DIGITS_IN_A_ROW not in lowered.translate(_SAME_DIGIT):
            return False
        return any(need in lowered for need in self.needs)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        if self._compiled is None:
            import re

            self._compiled = re.compile(self.expression)
        for match in self._compiled.finditer(text):
            if self.check != "luhn" or _has_check_sum(match.group()):
                yield match

    def blanked(self, text: str, mark: str) -> str:
        parts, start = [], 0
        for match in self.matches(text):
            group: int | str = "secret" if "secret" in match.re.groupindex else 0
            parts += [text[start : match.start(group)], mark]
            start = match.end(group)
        return "".join([*parts, text[start:]]) if parts else text


def _any_of(words: set[str]) -> str:
    """The expression branches at each letter, which is faster than a list of words."""
    if "" in words:
        return ""
    endings: dict[str, set[str]] = {}
    for word in words:
        endings.setdefault(word[0], set()).add(word[1:])
    import re

    return f"(?:{'|'.join(re.escape(first) + _any_of(rest) for first, rest in sorted(endings.items()))})"


def _has_check_sum(text: str) -> bool:
    """True if Luhn's checksum is correct (ISO/IEC 7812-1, annex B)."""
    digits = [int(sign) for sign in reversed(text) if sign.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


class Redaction:
    """All patterns, and the `mark` that replaces a secret."""

    def __init__(self, mark: str, patterns: Sequence[Pattern]) -> None:
        self.mark = mark
        self._whole = [pattern for pattern in patterns if pattern.spans_lines]
        self._numbers = [pattern for pattern in patterns if pattern.check]
        self._worded = [pattern for pattern in patterns if not pattern.check and not pattern.spans_lines]
        self._words: re.Pattern[str] | None = None

    def without(self, text: str) -> str:
        """Return the text without keys, tokens, passwords and card numbers."""
        text = self._searched(text, self._whole)
        return "".join(self._lines_searched(piece) for piece in self._pieces(text))

    def cut(self, text: str, at: int) -> int:
        """Return the last place up to `at` that is inside no secret; the end of the text if there is none."""
        lowered = text.lower()
        likely = [pattern for pattern in (*self._numbers, *self._worded) if pattern.may_be_in(lowered)]
        for _ in range(_ROUNDS):
            before = at
            for pattern in likely:
                at = min((m.start() for m in pattern.matches(text) if m.start() < at < m.end()), default=at)
            if at == before:
                break
        return at or len(text)

    def _searched(self, text: str, patterns: Sequence[Pattern]) -> str:
        lowered = text.lower()
        for pattern in patterns:
            if pattern.may_be_in(lowered):
                text = pattern.blanked(text, self.mark)
        return text

    def _lines_searched(self, text: str) -> str:
        """The text without secrets. Searches only the lines that hold one of the words: ten times as fast."""
        text = self._searched(text, self._numbers)
        lowered = text.lower()
        if len(text) < _SHORT or len(lowered) != len(text):  # some letters are two in lower case
            return self._searched(text, self._worded)
        parts, start = [], 0
        while (found := self._word(lowered, start)) >= 0:
            line, end = max(text.rfind("\n", start, found) + 1, start), text.find("\n", found)
            end = len(text) if end < 0 else end
            parts += [text[start:line], self._searched(text[line:end], self._worded)]
            start = end
        return "".join([*parts, text[start:]])

    def _word(self, lowered: str, start: int) -> int:
        """Where the next word of a pattern begins; -1 if there is none."""
        if self._words is None:
            import re

            self._words = re.compile(_any_of({need for pattern in self._worded for need in pattern.needs}))
        found = self._words.search(lowered, start)
        return found.start() if found else -1

    def _pieces(self, text: str) -> Iterator[str]:
        """Yield pieces that end at a line end, or between secrets in a very long line."""
        start = 0
        while len(text) - start > _PIECE:
            end = start + _PIECE
            stop = text.rfind("\n", start, end) + 1
            if not stop:
                stop = start + self.cut(text[start : end + _PIECE], _PIECE)
            yield text[start:stop]
            start = stop
        yield text[start:]


class RedactedStream:
    """Removes secrets from a stream of bytes. Chunk borders do not matter."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what is safe by now: whole lines without an unfinished private key."""
        # so that bytes that are no UTF-8 come out unchanged
        text = (self._held + data).decode("utf-8", "surrogateescape")
        released = []
        stop = _before_open_key(text, text.rfind("\n") + 1)
        while stop or len(text) > _PIECE + _LONGEST_KEY:
            if not stop:
                stop = self._redaction.cut(text[: 2 * _PIECE], _PIECE)
                stop = _before_open_key(text, stop) or stop
            released.append(self._blanked(text[:stop]))
            text, stop = text[stop:], 0
        self._held = _encoded(text)
        return b"".join(released)

    def rest(self) -> bytes:
        """Return what is still held back, as if nothing followed."""
        return self._blanked(self._held.decode("utf-8", "surrogateescape"))

    def _blanked(self, text: str) -> bytes:
        return _encoded(self._redaction.without(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _before_open_key(text: str, stop: int) -> int:
    begin = text.rfind(_BEGIN, 0, stop)
    if begin < 0 or stop - begin > _LONGEST_KEY or _PRIVATE not in text[begin : begin + _BEGIN_CHARS]:
        return stop
    return stop if text.find(_END, begin, stop) >= 0 else begin
