"""`wisp help words`: what can be said without a model, read from the grammar itself."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

_TOPICS = ("words",)
_SHOWN = 2
"""How many sentences of each kind are shown."""
_SLOT = re.compile(r"\{(\w+?):\w+\}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", choices=_TOPICS, help="words: the sentences that are understood without a model")
    parser.add_argument("--language", choices=("en", "de"), default="en", help="of the sentences")
    parser.add_argument("--all", action="store_true", help="every sentence, not only some of each kind")


def run(options: argparse.Namespace) -> int:
    """Print the sentences, and return 0."""
    print("\n".join(_page(options.language, 1000 if options.all else _SHOWN)))
    return 0


def _page(language: str, most: int) -> Iterator[str]:
    """Yield the lines: each kind of thing, and sentences for it. What stands in ‹ › is yours to choose."""
    from app.providers.offline.grammar import grammar_of

    words = grammar_of(language).words
    yield "(one|of these)  [may be left out]  ‹yours to choose›  several at once: … and …, then …"
    for intent, told in words["intents"].items():
        yield f"\n{intent.replace('_', ' ')}"
        said = [sentence for block in told["data"] for sentence in block["sentences"]]
        yield from (f"  {_readable(sentence, words['expansion_rules'])}" for sentence in said[:most])


def _readable(sentence: str, rules: dict[str, str]) -> str:
    shown = re.sub(r"<(\w+)>", lambda rule: rules[rule[1]], sentence)
    return " ".join(_SLOT.sub(r"‹\1›", shown).split())
