"""What a check of `wisp doctor` finds."""

from __future__ import annotations

from enum import StrEnum

from app.base.phrases import ENGLISH, NO_PHRASE, Phrase, Translations
from app.base.values import dataclass


class CheckVerdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works without it; the fix says what it would add."""
    FAIL = "fail"
    """The main job cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A result of a check: what was `found`, and the `remedy`, which is the one thing to do about it; empty if nothing
    needs to be done. `opens` is where that is done: the key of a setting, `key.` and a provider, or the path of a file.
    """

    name: str
    verdict: CheckVerdict
    found: Phrase
    remedy: Phrase = NO_PHRASE
    opens: str = ""

    @property
    def detail(self) -> str:
        return self.found.said()

    @property
    def fix(self) -> str:
        return self.remedy.said()

    def spoken(self, words: Translations = ENGLISH) -> tuple[str, str, str]:
        """Return the name, what was found, and the remedy, translated."""
        return words(self.name), self.found.said(words), self.remedy.said(words)

    def as_json(self) -> dict[str, str]:
        """Return it for programs, in English."""
        told = {"name": self.name, "verdict": str(self.verdict), "detail": self.detail, "fix": self.fix}
        return told | {"opens": self.opens}


def ok(name: str, found: str | Phrase) -> Finding:
    return Finding(name, CheckVerdict.OK, _phrase(found))


def note(name: str, found: str | Phrase, remedy: str | Phrase, opens: str = "") -> Finding:
    return Finding(name, CheckVerdict.NOTE, _phrase(found), _phrase(remedy), opens)


def fail(name: str, found: str | Phrase, remedy: str | Phrase) -> Finding:
    return Finding(name, CheckVerdict.FAIL, _phrase(found), _phrase(remedy))


def _phrase(text: str | Phrase) -> Phrase:
    return text if isinstance(text, Phrase) else Phrase(text)
