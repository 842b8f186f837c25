"""Blanks secrets out of text, at once or as it streams.

The process that records a command's output starts with every command and loads nothing else of Wisp. So this module
imports nothing when it is loaded, and compiles a pattern when a text first looks like it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to load than all the rest of that process
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

_PIECE = 32_768
"""Characters looked at in one go: Python runs nothing else meanwhile, and a file of megabytes would stop everything."""
_LONGEST_KEY = 24_000
_BEGIN, _END, _PRIVATE = "-----BEGIN", "-----END", "PRIVATE KEY"
_BEGIN_CHARS = 80
_ROUNDS = 3
_FEWEST_DIGITS = 13
_DIGITS = str.maketrans("", "", "0123456789")


class Pattern:
    """One kind of secret, found by `expression` in texts that hold one of `needs` (in lower case).

    With the check `luhn` a match counts only where its digits have the check sum of payment cards.
    """

    __slots__ = ("_compiled", "check", "expression", "needs", "spans_lines")

    def __init__(self, needs: Sequence[str], expression: str, check: str = "", *, spans_lines: bool = False) -> None:
        self.needs = tuple(needs)
        self.expression = expression
        self.check = check
        self.spans_lines = spans_lines
        self._compiled: re.Pattern[str] | None = None

    def may_be_in(self, lowered: str) -> bool:
        if self.check and len(lowered) - len(lowered.translate(_DIGITS)) < _FEWEST_DIGITS:
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


def _has_check_sum(text: str) -> bool:
    """Luhn's sum, see ISO/IEC 7812-1, annex B."""
    digits = [int(sign) for sign in reversed(text) if sign.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


class Redaction:
    """All patterns, and the `mark` that stands in place of a secret."""

    def __init__(self, mark: str, patterns: Sequence[Pattern]) -> None:
        self.mark = mark
        self._whole = [pattern for pattern in patterns if pattern.spans_lines]
        self._within = [pattern for pattern in patterns if not pattern.spans_lines]

    def without(self, text: str) -> str:
        """The text with keys, tokens, passwords and card numbers blanked out."""
        text = self._searched(text, self._whole)
        return "".join(self._searched(piece, self._within) for piece in self._pieces(text))

    def cut(self, text: str, at: int) -> int:
        """The last place up to `at` that is within no secret; the end of the text where there is none."""
        lowered = text.lower()
        for _ in range(_ROUNDS):
            before = at
            for pattern in self._within:
                if pattern.may_be_in(lowered):
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

    def _pieces(self, text: str) -> Iterator[str]:
        """Pieces that end at the end of a line, or between secrets where a line is very long."""
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
    """Bytes as they come, without secrets: where they are cut into chunks changes nothing."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What is safe to keep by now: whole lines, and no private key that has not ended."""
        self._held += data
        text = self._held.decode("utf-8", "surrogateescape")
        stop = _before_open_key(text, text.rfind("\n") + 1)
        if not stop and len(text) > _PIECE + _LONGEST_KEY:
            stop = self._redaction.cut(text, _PIECE)
        if not stop:
            return b""
        self._held = _encoded(text[stop:])
        return self._blanked(text[:stop])

    def rest(self) -> bytes:
        """What was fed and not released yet, as it would be if nothing followed."""
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
