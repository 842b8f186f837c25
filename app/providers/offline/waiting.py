"""Clauses about waiting: for a time, or until a text appears."""

from __future__ import annotations

from collections.abc import Sequence

from app.providers.offline import names
from app.providers.offline.lexicon import lexicon
from app.providers.offline.numbers import seconds
from app.providers.offline.steps import Refusal, Step, Steps
from app.providers.offline.words import Kind, Token


def wait(tokens: Sequence[Token]) -> Steps:
    if not tokens:
        return Refusal("which", "wait")
    if said := lexicon().phrases("numbers.waits").whole(tokens):
        return _waited(float(lexicon().table("numbers.waits")[said]))
    is_for = tokens[0].low == "for"
    duration = seconds(tokens[1:] if is_for else tokens)
    if duration is not None:
        return _waited(duration) if _is_allowed(duration) else Refusal("range", names.said(tokens))
    limit, rest = _limit(tokens)
    length, lead = lexicon().phrases("numbers.waiting.until").at(rest)
    if not length:
        return Refusal("unreadable", f"wait {names.said(tokens)}")
    if not _is_allowed(limit):
        return Refusal("range", names.said(tokens))
    return _appearing(rest[length:], limit, lead)


def _is_allowed(duration: float) -> bool:
    return 0 < duration <= lexicon().number("numbers.limits.wait_s")


def _waited(duration: float) -> Steps:
    value = int(duration) if duration == int(duration) else round(duration, 3)
    return (Step("wait", {"seconds": value}, "wait", f"{value} s"),)


def _limit(tokens: Sequence[Token]) -> tuple[float, Sequence[Token]]:
    """Seconds from `up to 20 seconds`, and what follows it."""
    length, _ = lexicon().phrases("numbers.waiting.up_to").at(tokens)
    for stop in range(length + 1, min(length + 6, len(tokens)) + 1) if length else ():
        duration = seconds(tokens[length:stop])
        if duration is not None:
            return duration, tokens[stop:]
    return lexicon().number("numbers.limits.appears_s"), tokens


def _appearing(tokens: Sequence[Token], limit: float, lead: str) -> Steps:
    rest = names.without_end(tokens, "numbers.waiting.appears")
    has_quotes = len(rest) == 1 and rest[0].kind is Kind.QUOTED
    is_told = len(rest) < len(tokens) or lead in lexicon().table("numbers.waiting.sees")
    if not (is_told or has_quotes):
        return Refusal("unreadable", f"wait {lead} {names.said(tokens)}".strip())
    text = rest[0].text.strip() if has_quotes else names.label(rest)
    if isinstance(text, Refusal):
        return text
    if not text:
        return Refusal("which", f"wait {lead}")
    limit_s = int(limit) if limit == int(limit) else limit
    return (Step("wait_for", {"text": text, "limit_s": limit_s}, "wait_for", f"“{text}”"),)
