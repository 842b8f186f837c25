"""The presence's language. Qt translates by the same catalogue as the command line, so that Qt's own texts go along."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLocale, QTranslator

from app.base.phrases import ENGLISH, Translations
from app.base.translation import words_in

_CONTEXT = "Cards"
_LANGUAGE = "Language"
"""The context in which a translator says which language it is."""


class Translator(QTranslator):
    """A Qt translator that reads a catalogue. A text that is not in the catalogue stays English."""

    def __init__(self, words: Translations, parent: QCoreApplication) -> None:
        super().__init__(parent)
        self._words = words

    def isEmpty(self) -> bool:
        return False

    def translate(self, context: str, text: str, disambiguation: str | None = None, n: int = -1) -> str:
        if context == _LANGUAGE:
            return self._words.language
        if disambiguation and n >= 0:  # as `PresenceTranslations.plural` asks
            return self._words.plural(disambiguation, text, n)
        return self._words(text, context)


def install(application: QCoreApplication, language: str = "") -> Translator | None:
    """Install the translation for this language, or the system's; None for English or an unknown language."""
    found = words_in(language or QLocale.system().name()[:2])
    if found is ENGLISH:
        return None
    made = Translator(found, application)
    application.installTranslator(made)
    return made


class PresenceTranslations(Translations):
    """The words of the language that is installed."""

    @property
    def language(self) -> str:
        return QCoreApplication.translate(_LANGUAGE, ENGLISH.language)

    def __call__(self, text: str, context: str = "", /) -> str:
        return QCoreApplication.translate(context or _CONTEXT, text)

    def plural(self, one: str, many: str, count: int) -> str:
        # Without a translator Qt returns the source text, so that must be the English form already.
        return QCoreApplication.translate(_CONTEXT, one if count == 1 else many, one, count)


words = PresenceTranslations()


def counted(one: str, many: str, count: int) -> str:
    """Translated and filled in, given the English texts for 1 and for any other count."""
    return words.plural(one, many, count).format(count=count)
