"""Long text made short, and folders that are nobody else's business."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.base import paths
from app.base.errors import NeedsPerson

from app.base.texts import clip_line, clip_middle, counted


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


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (
            "web_search: This needs the person's permission and nobody is there to give it. Go on without it, or say "
            "what is missing. You have not named a.example. To allow it: --allow a.example --allow 'Text Editor'",
            "It needs your permission. You have not named a.example. "
            "To allow it: --allow a.example --allow 'Text Editor'",
        ),
        (
            "In plan mode nothing that acts on the desktop may run. Say what you would do instead of doing it.",
            "In plan mode nothing that acts on the desktop may run. "
            "Choose another mode to let it run (`wisp do --mode ask`).",
        ),
        (
            "There is no fact #99. recall lists the facts with their numbers.",
            "There is no fact #99. `wisp memory` lists the facts with their numbers.",
        ),
        (
            "name: there is no skill 'nosuch' (none is like it). Without a name, use_skill lists them.",
            "There is no skill “nosuch” (none is like it). `wisp skills` lists them.",
        ),
        ("The person said no.", "You said no."),
        (
            "Nothing was forgotten yet. Say by id that this one is meant:\n#1 My train leaves at 7:42.",
            "Nothing was forgotten yet. Only this one fits in part. Name it in its own words, or remove it by its "
            "number with `wisp memory forget`: #1 My train leaves at 7:42.",
        ),
    ],
)
def test_what_is_written_for_a_model_has_a_sentence_for_people(told: str, read: str) -> None:
    assert for_people(told) == read


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
