"""What a command deletes can be put back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from app.services.files.changes import Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace
from app.services.processes import deletions
from app.services.processes.deletions import Deleted, Deletions


class _Room:
    def __init__(self, folder: Path) -> None:
        self.space, self.run = folder / "space", folder / "run"
        for name in ("a/one.txt", "a/b/two.txt", "top.txt", "node_modules/x/index.js", ".git/objects/aa/bb"):
            (self.space / name).parent.mkdir(parents=True, exist_ok=True)
            (self.space / name).write_text(name)
        (self.space / "link").symlink_to("top.txt")
        (self.space / "a/one.txt").chmod(0o640)
        self.run.mkdir()
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.deletions = Deletions(self.space, self.checkpoints)
        self.changes = Changes(Workspace(self.space, home=folder / "home", temp=folder / "tmp"), self.checkpoints)

    def gone(self, *names: str) -> tuple[str, ...]:
        return tuple(str(self.space / name) for name in names)


@pytest.fixture
def room(tmp_path: Path) -> _Room:
    return _Room(tmp_path)


def test_what_was_deleted_is_put_back_as_it_was_by_one_press(room: _Room) -> None:
    room.deletions.keep(room.run)
    for name in ("a", "node_modules", ".git"):
        shutil.rmtree(room.space / name)
    (room.space / "new.txt").write_text("made by the command")
    assert room.deletions.settle(room.run, "t1") == Deleted(room.gone("a/one.txt", "a/b/two.txt", ".git/objects/aa/bb"))
    undone, problems = room.changes.restore("t1")
    assert (len(undone), problems) == (3, [])
    assert (room.space / "a/b/two.txt").read_text() == "a/b/two.txt"
    assert (room.space / "a/one.txt").stat().st_mode & 0o777 == 0o640
    assert (room.space / ".git/objects/aa/bb").read_text() == ".git/objects/aa/bb"
    assert list(room.run.iterdir()) == []


def test_what_was_moved_or_changed_is_not_deleted(room: _Room) -> None:
    room.deletions.keep(room.run)
    (room.space / "top.txt").rename(room.space / "a/moved.txt")
    (room.space / "a/one.txt").unlink()
    (room.space / "a/one.txt").write_text("replaced")
    assert room.deletions.settle(room.run, "t1") == Deleted()
    assert room.checkpoints.changes() == []


def test_what_one_of_several_runs_deleted_is_kept_though_the_others_go_on(room: _Room, tmp_path: Path) -> None:
    runs = [tmp_path / "earlier", room.run, tmp_path / "later"]
    for run in runs:
        run.mkdir(exist_ok=True)
        room.deletions.keep(run)
    (room.space / "a/one.txt").unlink()
    (room.space / "top.txt").rename(room.space / "a/moved.txt")
    assert room.deletions.settle(room.run, "t1") == Deleted(room.gone("a/one.txt"))


def test_what_was_moved_while_others_ended_is_not_deleted(room: _Room, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    room.deletions.keep(tmp_path / "other")
    room.deletions.keep(room.run)
    room.deletions.settle(tmp_path / "other", "t1")
    (room.space / "top.txt").rename(room.space / "a/moved.txt")
    assert room.deletions.settle(room.run, "t1") == Deleted()


def test_on_another_disk_small_files_are_copied_and_the_rest_is_counted(
    room: _Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "_link", lambda *_: "")
    monkeypatch.setattr(deletions, "COPIED_FILE_BYTES", 7)
    room.deletions.keep(room.run)
    shutil.rmtree(room.space / "a")
    (room.space / "top.txt").unlink()
    assert room.deletions.settle(room.run, "t1") == Deleted(room.gone("top.txt"), lost=2)
    assert len(room.changes.restore("t1")[0]) == 1


def test_over_the_limit_it_says_that_not_all_is_kept(room: _Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "MOST_FILES", 1)
    room.deletions.keep(room.run)
    shutil.rmtree(room.space / "a")
    (room.space / "top.txt").unlink()
    assert room.deletions.settle(room.run, "t1") == Deleted(room.gone("top.txt"), is_complete=False)


def test_a_run_without_a_list_has_deleted_nothing(room: _Room) -> None:
    assert room.deletions.settle(room.run, "t1") == Deleted()


@pytest.mark.parametrize(("command", "may"), [("ls -l", False), ("git status --short", False), ("rm -r a", True)])
def test_only_commands_that_may_do_more_than_look_cost_something(room: _Room, command: str, may: bool) -> None:
    assert room.deletions.may_come_of(command, room.space) is may


def test_names_that_are_no_text_are_counted(room: _Room) -> None:
    name = os.fsencode(str(room.space)) + b"/\xff\n.txt"
    Path(os.fsdecode(name)).write_text("x")
    room.deletions.keep(room.run)
    Path(os.fsdecode(name)).unlink()
    assert room.deletions.settle(room.run, "t1") == Deleted(lost=1)
