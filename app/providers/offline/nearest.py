"""The nearest thing that could be done instead of a refused wish."""

from __future__ import annotations

from app.providers.offline.clause import verbs
from app.providers.offline.lexicon import lexicon
from app.providers.offline.steps import Refusal

_LEAST_LIKENESS = 75
_SHORTEST = 3


def near(refusal: Refusal) -> str:
    """A corrected command where a verb was misspelled, a known replacement, or what can be done at all."""
    table = lexicon().table("phrases.near")
    if refusal.near:
        return str(table["hint"]).format(hint=refusal.near)
    if refusal.kind == "unreadable" and (guess := _respelled(refusal.part)):
        return str(table["guess"]).format(guess=guess)
    options: list[str] = table[refusal.kind]
    return options[len(refusal.part) % len(options)]


def _respelled(part: str) -> str:
    """`opn the calculator` with its first word put right; empty where no verb is near."""
    from rapidfuzz import process

    first, _, rest = part.partition(" ")
    known = verbs()
    if len(first) < _SHORTEST or first.lower() in known:
        return ""
    found = process.extractOne(first.lower(), sorted(known), score_cutoff=_LEAST_LIKENESS)
    return f"{found[0]} {rest}".strip() if found else ""
