"""Translate what people read. A language is a folder of `resources/languages` with a catalogue of GNU gettext.

The English text in the code is the message's id, as gettext has it. The catalogue is read as translators write it, so
that neither a checkout nor a package has to compile one. English loads nothing.
"""

from __future__ import annotations

import functools
import io
from gettext import GNUTranslations

from app.base import resources
from app.base.phrases import ENGLISH, Translations

CATALOGUE = "messages.po"


class _Catalogue(Translations):
    def __init__(self, language: str, catalogue: bytes) -> None:
        self._language = language
        self._catalogue = GNUTranslations(io.BytesIO(catalogue))

    @property
    def language(self) -> str:
        return self._language

    def __call__(self, text: str, context: str = "", /) -> str:
        if not text:  # the id of a catalogue's header
            return text
        special = self._catalogue.pgettext(context, text) if context else text
        return self._catalogue.gettext(text) if special == text else special

    def plural(self, one: str, many: str, count: int) -> str:
        return self._catalogue.ngettext(one, many, count)


@functools.cache
def words_in(language: str) -> Translations:
    """Return the words of a language, given its two letters; English ones if there is no such language."""
    file = resources.path(f"languages/{language}/{CATALOGUE}")
    if not language or not file.is_file():
        return ENGLISH
    import polib  # here, because English needs none of it

    try:
        return _Catalogue(language, polib.pofile(str(file), encoding="utf-8").to_binary())
    except (OSError, ValueError, LookupError) as error:
        raise resources.DamagedResource(f"{file}: {error}") from error


@functools.cache
def languages() -> tuple[str, ...]:
    """English first."""
    folders = resources.path("languages").iterdir()
    return ("en", *sorted(folder.name for folder in folders if (folder / CATALOGUE).is_file()))
