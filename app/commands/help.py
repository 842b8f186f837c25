"""`wisp help words`: what can be said without a model, read from the grammar itself."""

from __future__ import annotations

import argparse
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from hassil.expression import Alternative, ListReference, RuleReference, TextChunk

from app.base import resources
from app.base.phrases import Phrase
from app.base.translation import words_in
from app.options import words_here

_LANGUAGES = ("en", "de")
_HEAD = (
    "Wisp understands sentences like these without a model. In place of ‹this›, say what you mean. You can say several "
    "at once: “… and …”, “…, then …”. There are more ways to say each; slips of spelling do not matter."
)
_COLUMNS = 80
_SHOWN = 2
"""How many sentences of each kind are shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "topic",
        choices=("words",),
        metavar="TOPIC",
        help=(
            "COMMAND: explain this command; commands: say what each command does; words: list sentences that "
            "Wisp understands without a model"
        ),
    )
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
    """Yield the lines: sentences of each kind, and an empty line between the kinds."""
    from app.providers.offline.grammar import grammar_of

    words = grammar_of(language).words
    said = resources.table("offline/examples.toml", dict[str, dict[str, str]])[language]
    yield textwrap.fill(Phrase(_HEAD).said(words_in(language)), _COLUMNS)
    for told in words["intents"].values():
        templates = (sentence for block in told["data"] for sentence in block["sentences"])
        samples = dict.fromkeys(_Sampler(words["expansion_rules"], said).sample(one) for one in templates)
        yield from ("", *itertools.islice((f"  {one}" for one in samples if one), most))


class _Sampler:
    """Writes the shortest sentence of a template of hassil: the first of several words, and none that may be left out.

    `said` is what stands at each kind of slot. https://github.com/home-assistant/hassil#template-syntax
    """

    def __init__(self, rules: Mapping[str, str], said: Mapping[str, str]) -> None:
        self._rules = rules
        self._said = said

    def sample(self, template: str) -> str:
        from hassil import parse_sentence

        return " ".join(self._written(parse_sentence(template).expression).split())

    def _written(self, part: Any) -> str:
        match part:
            case TextChunk():
                return str(part.original_text)
            case ListReference():
                return f"‹{self._said.get(part.list_name, part.list_name.replace('_', ' '))}›"
            case RuleReference():
                return self.sample(self._rules[part.rule_name])
            case Alternative():
                return "" if part.is_optional else self._written(part.items[0])
        return "".join(map(self._written, part.items))
