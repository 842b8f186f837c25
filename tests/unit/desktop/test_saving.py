"""A file that was written is found by what titles and dialogs call it, and an older one is none."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from app.desktop.saving import saved_file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    (tmp_path / "Notes here").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "*plan - b.txt - Mousepad",
        "plan - b.txt (~/) - gedit",
        "plan - b.txt — LibreOffice Calc",
        "plan - b.txt",
        "~/plan - b.txt",
    ],
)
def test_the_file_that_a_text_names_is_found_with_its_size_and_time(home: Path, text: str) -> None:
    since = time.time()
    (home / "plan - b.txt").write_text("seven..", encoding="utf-8")
    saved = saved_file([text], 0, since)
    assert saved is not None
    assert (saved.path, saved.size_bytes) == (str(home / "plan - b.txt"), 7)
    assert time.strftime("%H:%M:%S", time.localtime(saved.at)) in saved.said


def test_a_folder_that_only_the_list_of_recent_files_knows_is_looked_into(home: Path) -> None:
    place = home / "Notes here" / "a.ods"
    place.write_text("x", encoding="utf-8")
    data = home / ".local" / "share"
    data.mkdir(parents=True)
    href = place.as_uri()
    (data / "recently-used.xbel").write_text(f'<bookmark href="{href}" added="2020">', encoding="utf-8")
    saved = saved_file(["a.ods - LibreOffice Calc"], 0, time.time() - 5)
    assert saved is not None
    assert saved.path == str(place)


def test_an_older_file_a_folder_and_a_title_without_a_file_are_none(home: Path) -> None:
    old = home / "old.txt"
    old.touch()
    os.utime(old, (1, 1))
    assert (
        saved_file(["old.txt - Mousepad", "Notes here", "Untitled 1 - Mousepad", "~nobody - x", "\0"], 0, 2.0) is None
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_a_file_of_the_kernel_is_never_a_saved_one() -> None:
    assert saved_file(["*/proc/version - Mousepad"], 0, 0.0) is None
