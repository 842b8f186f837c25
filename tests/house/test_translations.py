"""Every language has every text of Wisp, as the code and the tables have it now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polib
import pytest

from app.base import resources
from app.base.translation import CATALOGUE, languages, words_in
from scripts import translating
from scripts.translating import Texts, catalogue, lacking, names_in, unused, update

OTHERS = languages()[1:]


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts()


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_lacks_nothing_and_has_nothing_that_wisp_no_longer_says(language: str, texts: Texts) -> None:
    """`scripts/translations` adds what is new and takes out what is gone."""
    assert lacking(language, texts) == []
    assert unused(language, texts) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_the_names_in_braces(language: str) -> None:
    for entry in catalogue(language).translated_entries():
        several = set(names_in(entry.msgid_plural or entry.msgid))
        for form in entry.msgstr_plural.values() or [entry.msgstr]:
            named = set(names_in(form))  # a form for one thing may say it in a word, as in “every hour”
            assert named <= several <= named | ({"{count}"} if entry.msgid_plural else set()), entry.msgid


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: Texts) -> Callable[[str, dict[str, str]], None]:
    """Return a function that writes the catalogue of a new language, with some translations."""

    def made(language: str, known: dict[str, str]) -> None:
        update(language, texts)
        file = catalogue(language)
        for entry in file:
            if text := known.get(entry.msgid):
                entry.msgstr, entry.msgstr_plural = ("", {0: text, 1: f"{text}s"}) if entry.msgid_plural else (text, {})
        file.save(str(tmp_path / language / CATALOGUE))

    monkeypatch.setattr(translating, "LANGUAGES", tmp_path)
    monkeypatch.setattr(resources, "path", lambda name: tmp_path.parent / name.replace("languages", tmp_path.name))
    words_in.cache_clear()
    yield made
    words_in.cache_clear()


def test_a_language_is_begun_and_spoken_as_far_as_it_goes(begin: Callable[..., None], texts: Texts) -> None:
    begin("fr", {"Send": "Envoyer", "{count} step": "{count} étape"})
    words = words_in("fr")
    assert (words("Send"), words("Stop"), words("")) == ("Envoyer", "Stop", "")
    assert [words.plural("{count} step", "{count} steps", count) for count in (1, 2)] == [
        "{count} étape",
        "{count} étapes",
    ]
    assert "Send" not in lacking("fr", texts)
    assert "Stop" in lacking("fr", texts)


def test_a_text_that_changed_a_little_keeps_its_translation_until_somebody_confirms_it(
    begin: Callable[..., None], texts: Texts, tmp_path: Path
) -> None:
    begin("fr", {})
    file = catalogue("fr")
    file.append(polib.POEntry(msgid="Wisp is still starting. Try again in one moment.", msgstr="Wisp démarre encore."))
    file.remove(file.find("Wisp is still starting. Try again in a moment."))
    file.save()
    update("fr", texts)
    entry = catalogue("fr").find("Wisp is still starting. Try again in a moment.")
    assert (entry.msgstr, entry.fuzzy) == ("Wisp démarre encore.", True)
    assert words_in("fr")(entry.msgid) == entry.msgid
