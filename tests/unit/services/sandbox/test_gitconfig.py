"""Which configuration of a repository names no program that git would run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.services.sandbox.protection import is_plain

_MADE = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
    '[remote "origin"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = Ada\n\temail = ada@example.org\n'
)


def _is_plain(folder: Path, text: str) -> bool:
    (folder / "config").write_text(text, encoding="utf-8")
    return is_plain(folder, folder / "config")


def test_what_git_itself_writes_is_plain(tmp_path: Path) -> None:
    assert _is_plain(tmp_path, _MADE)
    assert _is_plain(tmp_path, "")


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tfsmonitor = evil\n",
        "[core]fsmonitor=evil\n",
        "[core]\n\tbare = false\r\tfsmonitor = evil\n",
        "[include]\n\tpath = evil\n",
        "[diff]\n\texternal = evil\n",
        '[remote "x"]\n\turl = ext::sh -c evil\n',
        "[core]\n\tbare = false\n" + "# long\n" * 20_000,
    ],
)
def test_anything_else_is_not(tmp_path: Path, text: str) -> None:
    assert not _is_plain(tmp_path, text)


def test_a_pipe_a_link_and_what_is_no_text_are_not_plain_and_none_is(tmp_path: Path) -> None:
    assert is_plain(tmp_path, tmp_path / "config")
    os.mkfifo(tmp_path / "config")
    assert not is_plain(tmp_path, tmp_path / "config")
    (tmp_path / "config").unlink()
    (tmp_path / "other").write_text(_MADE)
    (tmp_path / "config").symlink_to("other")
    assert not is_plain(tmp_path, tmp_path / "config")
    (tmp_path / "config").unlink()
    (tmp_path / "config").write_bytes(b"[core]\n\xff")
    assert not is_plain(tmp_path, tmp_path / "config")
