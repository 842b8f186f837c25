"""Long text made short, and folders that are nobody else's business."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.base import paths
from app.base.errors import NeedsPerson
from app.base.texts import clip_line, clip_middle


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


def test_a_folder_that_cannot_be_made_says_how_to_name_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("WISP_DATA_DIR", str(file))
    with pytest.raises(NeedsPerson, match="WISP_DATA_DIR=/some/folder"):
        paths.data_dir()
