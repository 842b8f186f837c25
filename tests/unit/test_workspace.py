"""Which folder Wisp works in: one that a person chose, never a home."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from app.options import add_workspace_option
from app.services.files.workspace import why_moved, workspace_of
from app.settings.store import Settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "people" / "ada"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.parametrize("start", [".", "..", "/", "/usr/share", "/tmp", "/home"])
def test_a_start_in_the_home_folder_or_above_or_in_the_system_works_in_a_folder_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    if not (home / start).is_dir():
        pytest.skip(f"there is no {start} on this machine")
    monkeypatch.chdir(home / start)
    assert workspace_of(Settings()) == home / "Wisp"
    assert (home / "Wisp").is_dir()
    assert why_moved(Settings()) == ""


@pytest.mark.parametrize("name", ["~/Wisp", "~/./Wisp/"])
def test_the_usual_folder_may_be_named_before_it_is_there(home: Path, name: str) -> None:
    parser = argparse.ArgumentParser()
    add_workspace_option(parser)
    named = parser.parse_args(["--workspace", name]).workspace
    assert workspace_of(Settings().with_values(files__workspace=str(named))) == home / "Wisp"
    assert (home / "Wisp").is_dir()
    with pytest.raises(SystemExit):
        parser.parse_args(["--workspace", "~/Wsip"])


@pytest.mark.parametrize("marks", [[".ssh"], [".config", ".profile"], [".local/share/keyrings"]])
def test_another_persons_home_or_a_copy_of_one_is_no_workspace(
    home: Path, monkeypatch: pytest.MonkeyPatch, marks: list[str]
) -> None:
    other = home / "backup"
    for name in marks:
        (other / name).mkdir(parents=True)
    monkeypatch.chdir(other)
    assert workspace_of(Settings()) == home / "Wisp"


def test_a_project_is_the_workspace_and_the_settings_choose_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("proj/.config", "other"):
        (home / name).mkdir(parents=True)
    monkeypatch.chdir(home / "proj")
    assert (workspace_of(Settings()), why_moved(Settings())) == (home / "proj", "")
    chosen = Settings().with_values(files__workspace=str(home / "other"))
    assert workspace_of(chosen) == home / "other"
    of_home = Settings().with_values(files__workspace="~")
    assert workspace_of(of_home) == home / "Wisp"
    assert all(named in why_moved(of_home) for named in (str(home / "Wisp"), "--workspace"))
    assert not (home / "proj" / "Wisp").exists()
