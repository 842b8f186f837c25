"""Texts go to translators and come back: nothing is lost, and what is missing or wrong is named."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from scripts.translating import LANGUAGES, Unusable, exported, imported, sources

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LANGUAGES, tmp_path / "languages"))


def test_german_comes_back_from_a_translator_byte_for_byte(tables: Path) -> None:
    before = (tables / "de.toml").read_bytes()
    assert imported("de", exported("de", tables), tables) == []
    assert (tables / "de.toml").read_bytes() == before


def test_a_new_language_begins_with_every_text_and_names_those_that_are_missing(tables: Path) -> None:
    begun = exported("fr", tables)
    assert begun.count('type="unfinished"') == len(sources(tables))
    first, *rest = sources(tables)
    begun = begun.replace('<translation type="unfinished" />', "<translation>un fait</translation>", 1)
    assert imported("fr", begun, tables) == rest
    assert tomllib.loads((tables / "fr.toml").read_text(encoding="utf-8"))["texts"] == {first: "un fait"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("<source>{count} days</source><translation>Tage</translation>", "names in braces differ"),
        ("<source>No such text of Wisp</source><translation>Kein Text</translation>", "has no such text"),
        ("<source>", "no .ts file"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_written(tables: Path, message: str, why: str) -> None:
    table = tables / "de.toml"
    table.write_text(f'{table.read_text(encoding="utf-8")}"{{count}} days" = "{{count}} Tage"\n', encoding="utf-8")
    before = table.read_bytes()
    with pytest.raises(Unusable, match=why):
        imported("de", f"<TS><context><message>{message}</message></context></TS>", tables)
    assert table.read_bytes() == before


def test_the_script_writes_what_qt_linguist_opens(tmp_path: Path) -> None:
    file = tmp_path / "de.ts"
    subprocess.run([ROOT / "scripts" / "translations", "export", "de", file], check=True)
    assert file.read_text(encoding="utf-8").startswith('<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n<TS')
