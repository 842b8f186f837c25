"""Sentences with values in them, which a language may translate: `Phrase`, and what translates it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.base.values import dataclass, field

_QUOTED = "“{name}”"
_GIVEN = re.compile(r"\{(\w+)!r\}")
_FOR_MODELS = re.compile(r"\{\w+!s\}")


class Translations:
    """The words of a language, here of English. Call it with an English text.

    A language that lacks the text gives it in English.
    """

    @property
    def language(self) -> str:
        """The language's two letters."""
        return "en"

    def __call__(self, text: str, _context: str = "", /) -> str:
        """A context tells apart two meanings of an English text, if there are two."""
        return text

    def plural(self, one: str, many: str, count: int) -> str:
        """`one` and `many` are the English texts for 1 and for any other count."""
        return one if count == 1 else many


ENGLISH = Translations()


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text for people that can be translated by a language's catalogue. `values` fill its braces, if there are any.

    `many` is the text for any other `count` among the values than 1. A tuple among the values is a list of texts that
    are translated, too; so is another phrase. A value written as `{name!r}` is a name that others gave: models read it
    as Python writes it, people between quotation marks. One written as `{name!s}` is for models alone, such as a list
    with refs.
    """

    text: str
    values: Mapping[str, PhraseValue] = field(default_factory=dict)
    many: str = ""

    def __hash__(self) -> int:
        return hash((self.text, frozenset(self.values.items())))  # because a mapping has no hash of its own

    def said(self, words: Translations = ENGLISH) -> str:
        """For people: translated by `words`, with the values filled in."""
        text = self.chosen(words)
        if not self.values:
            return text
        quoted = words(_QUOTED).replace("{name}", r"{\1}")
        return _GIVEN.sub(quoted, _FOR_MODELS.sub("", text)).format_map(self.spoken(words))

    @property
    def for_models(self) -> str:
        """The phrase in English, with names as models read them."""
        named = {
            name: one.for_models if isinstance(one, Phrase) else _spoken(one, ENGLISH)
            for name, one in self.values.items()
        }
        text = self.chosen(ENGLISH)
        return text.format_map(named) if named else text

    def chosen(self, words: Translations) -> str:
        """The form that fits the count, translated, with its braces still to fill."""
        return words.plural(self.text, self.many, int(str(self.values["count"]))) if self.many else words(self.text)

    def spoken(self, words: Translations = ENGLISH) -> dict[str, str]:
        """Return the values as texts, those that can be translated by `words`."""
        return {name: _spoken(value, words) for name, value in self.values.items()}


PhraseValue = str | int | tuple[str | Phrase, ...] | Phrase
NO_PHRASE = Phrase("")


def _spoken(value: PhraseValue, words: Translations) -> str:
    if isinstance(value, Phrase):
        return value.said(words)
    if isinstance(value, str | int):
        return str(value)
    return ", ".join(one.said(words) if isinstance(one, Phrase) else words(one) for one in value)
