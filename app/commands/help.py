"""`wisp help words`: what can be said without a model, read from the grammar itself."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator

from app.base.phrases import Phrase
from app.base.translation import words_in
from app.options import words_here

_TOPICS = ("words",)
_LANGUAGES = ("en", "de")
_HEAD = (
    "Wisp understands these sentences without a model. Of (this|that), say one. You may leave out [this]. In place of "
    "‹this›, say what you mean. You can say several at once: “… and …”, “…, then …”."
)
_COLUMNS = 80
_SHOWN = 2
"""How many sentences of each kind are shown."""
_SLOT = re.compile(r"\{(\w+?):\w+\}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", choices=_TOPICS, help="words: sentences that Wisp understands without a model")
    parser.add_argument(
        "--language",
        choices=_LANGUAGES,
        help="list English or German sentences; otherwise those of your language",
    )
    parser.add_argument("--all", action="store_true", help="list every sentence, not only some of each kind")


def run(options: argparse.Namespace) -> int:
    """Print the sentences, and return 0."""
    here = words_here().language
    language = options.language or (here if here in _LANGUAGES else _LANGUAGES[0])
    print("\n".join(_page(language, 1000 if options.all else _SHOWN)))
    return 0


def _page(language: str, most: int) -> Iterator[str]:
    """Yield the lines: each kind of thing, and sentences for it. What stands in ‹ › is yours to choose."""
    from app.providers.offline.grammar import grammar_of

    words = grammar_of(language).words
    yield textwrap.fill(Phrase(_HEAD).said(words_in(language)), _COLUMNS)
    for intent, told in words["intents"].items():
        yield f"\n{intent.replace('_', ' ')}"
        said = [sentence for block in told["data"] for sentence in block["sentences"]]
        yield from (f"  {_readable(sentence, words['expansion_rules'])}" for sentence in said[:most])


def _readable(sentence: str, rules: dict[str, str]) -> str:
    shown = re.sub(r"<(\w+)>", lambda rule: rules[rule[1]], sentence)
    return " ".join(_SLOT.sub(r"‹\1›", shown).split())
