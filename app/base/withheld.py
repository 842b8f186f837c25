"""Keep secrets out of every record: texts withheld by name, and whatever looks like a key, a password or a card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from app.base import resources
from app.base.redaction import Pattern, Redaction

_SHORTEST_WITHHELD = 4
"""A shorter text is too common: removing it everywhere would spoil all records."""


class WithheldTexts:
    """Texts that no record may contain, in all spellings in which they may be written."""

    def __init__(self) -> None:
        self._spellings: tuple[str, ...] = ()
        self._listeners: tuple[Callable[[tuple[str, ...]], None], ...] = ()

    def add(self, text: str) -> None:
        """Remove this text from all records from now on. Listeners remove what was already written."""
        if len(text) < _SHORTEST_WITHHELD:
            return
        import html  # here, because its table of entities costs every start

        spelled = {text, html.escape(text), html.escape(text, quote=False)}
        spelled |= {json.dumps(one, ensure_ascii=False)[1:-1] for one in spelled}
        new = spelled - set(self._spellings)
        self._spellings = tuple(sorted({*self._spellings, *new}, key=len, reverse=True))
        for listener in self._listeners:
            listener(tuple(sorted(spelled, key=len, reverse=True)))

    def listen(self, listener: Callable[[tuple[str, ...]], None]) -> Callable[[], None]:
        """Call `listener` with each text in all spellings, the longest first. Returns a function that ends that."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(one for one in self._listeners if one is not listener)

        return stop

    def without(self, text: str) -> str:
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, shown())
        return text

    def forget(self) -> None:
        """Empty the list, so that no text is withheld any more."""
        self._spellings = ()


WITHHELD = WithheldTexts()


@cache
def redaction_table() -> tuple[str, frozenset[str], tuple[tuple[tuple[str, ...], str, str, bool], ...]]:
    """The mark for a secret, names whose values are secret, and the patterns."""
    tree = resources.table("redaction.toml", resources.Table)
    patterns = tuple(
        (tuple(rule["needs"]), str(rule["expression"]), str(rule.get("check", "")), bool(rule.get("spans_lines")))
        for rule in tree["pattern"]
    )
    return str(tree["shown"]), frozenset(tree["names"]), patterns


@cache
def redaction() -> Redaction:
    """Return the patterns of the table, without the withheld texts."""
    mark, _, patterns = redaction_table()
    return Redaction(mark, [Pattern(*rule[:3], spans_lines=rule[3]) for rule in patterns])


def without_secrets(text: str) -> str:
    """Return the text without keys, tokens, passwords and card numbers."""
    return redaction().without(WITHHELD.without(text))


def cleaned(value: Any) -> Any:
    """Return the same tree of JSON values without secrets, in texts and under names that only contain secrets."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {key: shown() if _is_secret(key, inner) else cleaned(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [cleaned(inner) for inner in value]
    return value


def shown() -> str:
    """Return the mark that replaces a secret."""
    return redaction_table()[0]


def _is_secret(key: object, value: object) -> bool:
    named = str(key).lower().replace("-", "").replace("_", "") in redaction_table()[1]
    return named and isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
