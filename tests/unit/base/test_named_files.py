"""The person's files by their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.base.named_files import FileIndex, likeness


def test_names_are_found_by_all_words_the_nearest_and_then_the_newest_first(tmp_path: Path) -> None:
    made = [
        "letter.txt",
        "old/letter to Anna.txt",
        "new/love letter.txt",
        ".secret/letter.txt",
        "node_modules/letter.js",
    ]
    for number, name in enumerate(made):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        os.utime(path, (number, number))
    found = FileIndex(tmp_path).find(["letter"], 5)
    assert [Path(one.path).name for one in found] == ["letter.txt", "letter to Anna.txt", "love letter.txt"]
    assert [one.name for one in FileIndex(tmp_path).find(["anna", "letter"], 5)] == ["letter to Anna.txt"]


def test_a_folder_that_may_not_be_read_hides_nothing_else(tmp_path: Path) -> None:
    assert FileIndex(tmp_path / "gone").find(["letter"], 5) == []


@pytest.mark.parametrize(
    ("name", "words", "fits"),
    [("plan.md", "plan", 3), ("plan b.md", "plan", 2), ("the plan.md", "plan", 1), ("aeroplane.md", "plan", 0)],
)
def test_the_name_itself_comes_before_what_begins_with_it(name: str, words: str, fits: int) -> None:
    assert likeness(name, words.split()) == fits
