"""The presence's words in the person's language, through Qt's own translation; the tables are in
`resources/languages`."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication, QLocale, QTranslator

from app.base import resources

_CONTEXT = "Cards"


class Translator(QTranslator):
    """Answers from one table; what it does not hold stays English."""

    def __init__(self, texts: Mapping[str, str], parent: QCoreApplication) -> None:
        super().__init__(parent)
        self._texts = texts

    def isEmpty(self) -> bool:
        return not self._texts

    def translate(self, context: str, text: str, disambiguation: str | None = None, n: int = -1) -> str:
        return self._texts.get(text, text)


def texts_of(language: str) -> dict[str, str]:
    """The table of a language by its two letters; empty where there is none."""
    name = f"languages/{language}.toml"
    return resources.table(name, dict[str, dict[str, str]])["texts"] if resources.path(name).is_file() else {}


def install(application: QCoreApplication, language: str = "") -> Translator | None:
    """Speak this language, or else the system's; None where it is English or has no table."""
    chosen = language or QLocale.system().name()[:2]
    texts = texts_of(chosen)
    if not texts:
        return None
    made = Translator(texts, application)
    application.installTranslator(made)
    return made


def words(text: str) -> str:
    """One text of the cards' table, translated."""
    return QCoreApplication.translate(_CONTEXT, text)
