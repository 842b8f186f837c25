"""Long text made short, and folders that are nobody else's business."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.base import paths
from app.base.clipping import clip_line, clip_middle, counted
from app.base.errors import NeedsPerson, ToolFailed
from app.base.phrases import Phrase
from app.base.translation import words_in


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [("short", 10, "short"), ("a\n b\t c", 10, "a b c"), ("abcdef", 4, "abc…"), ("abcdef", 6, "abcdef"), ("", 5, "")],
)
def test_a_line_is_cut_with_an_ellipsis(text: str, limit: int, line: str) -> None:
    assert clip_line(text, limit) == line


def test_the_middle_is_left_out_and_counted() -> None:
    assert clip_middle("a" * 5 + "b" * 90 + "c" * 5, 5, 5) == "aaaaa\n[… 90 characters left out …]\nccccc"
    assert clip_middle("short", 5, 5) == "short"


def test_folders_belong_to_their_owner_alone() -> None:
    for folder in (paths.data_dir(), paths.config_dir(), paths.state_dir(), paths.runtime_dir(), paths.made_dir()):
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0, folder


@pytest.mark.parametrize("session", ["", "open"])
def test_a_session_without_a_folder_of_its_own_warns_about_nothing(tmp_path: Path, session: str) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    told = {"TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / session) if session else ""}
    environment = {name: value for name, value in os.environ.items() if name != "WISP_DATA_DIR"} | told
    code = "from app.base import paths; print(paths.runtime_dir())"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert (Path(done.stdout.strip()).name, done.stderr) == ("wisp", "")


def test_a_folder_that_cannot_be_made_says_how_to_name_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("WISP_DATA_DIR", str(file))
    with pytest.raises(NeedsPerson, match="WISP_DATA_DIR=/some/folder"):
        paths.data_dir()


def test_people_read_a_failure_without_what_is_for_models() -> None:
    what = Phrase("{name!r} is no control{where!s}.", {"name": "Save", "where": " at (3, 4)"})
    error = ToolFailed(what, "Give a ref.", argument="target", advice=Phrase("Move it."))
    assert str(error) == "target: 'Save' is no control at (3, 4). Give a ref."
    assert error.for_people() == "“Save” is no control. Move it."


def test_a_failure_is_said_in_another_language() -> None:
    words = words_in("de")
    error = ToolFailed(Phrase("there is no {shown!r}.", {"shown": "a.txt"}), argument="path")
    assert (str(error), error.for_people()) == ("path: there is no 'a.txt'.", "There is no “a.txt”.")
    assert error.for_people(words) == "„a.txt“ gibt es nicht."


@pytest.mark.parametrize(
    ("count", "thing", "said"),
    [
        (1, "file", "1 file"),
        (2, "tool", "2 tools"),
        (1, "reply", "1 reply"),
        (2, "reply", "2 replies"),
        (0, "fact", "no facts"),
    ],
)
def test_a_count_agrees_with_its_noun(count: int, thing: str, said: str) -> None:
    assert counted(count, thing) == said
