"""From a wish to what is to be done about it."""

from __future__ import annotations

from app.base.clipping import clip_line
from app.providers.offline.chain import Chain
from app.providers.offline.clause import verbs, without_ending, without_fillers
from app.providers.offline.lexicon import lexicon
from app.providers.offline.steps import Plan, Reading, Refusal, Resume, Talk
from app.providers.offline.words import Kind, Token, tokens_of

_SHOWN = 60


def read_wish(wish: str) -> Reading:
    """Either the whole wish becomes a plan, or none of it does."""
    if len(wish) > lexicon().number("numbers.limits.characters"):
        return Refusal("too_long")
    tokens = tokens_of(wish, verbs())
    unclosed = next((token for token in tokens if token.kind is Kind.UNCLOSED), None)
    if unclosed:
        return Refusal("quote", clip_line(unclosed.text, _SHOWN))
    words = tuple(token for token in tokens if token.kind is not Kind.SEPARATOR)
    return _in_words(words) or _planned(wish, tokens)


def _in_words(words: tuple[Token, ...]) -> Reading | None:
    """Wishes that are a phrase of their own, with or without politeness around them."""
    rest, _ = without_fillers(words)
    for candidate in (words, rest, without_ending(words), without_ending(rest)):
        if topic := lexicon().phrases("commands.talk").whole(candidate):
            return Talk(topic)
        if lexicon().phrases("commands.resume").whole(candidate):
            return Resume()
    return None


def _planned(wish: str, tokens: tuple[Token, ...]) -> Reading:
    steps = Chain(wish, tokens).steps()
    if isinstance(steps, Refusal):
        return Refusal(steps.kind, clip_line(steps.part, _SHOWN), steps.near)
    if not steps:
        return Refusal("unreadable", clip_line(wish, _SHOWN)) if wish.strip() else Talk("no_wish")
    if len(steps) > lexicon().number("numbers.limits.steps"):
        return Refusal("too_many")
    return Plan(steps)
