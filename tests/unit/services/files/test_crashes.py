"""Writing under the worst: killed in the middle, no room, no permission, links that change meanwhile."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from app.base.errors import NeedsPerson, WispError
from app.services.files import safe_open
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.checkpoints import Checkpoints
from app.services.files.places import Workspace

_WRITER = Path(__file__).with_name("writer.py")
_FILES = 8


def _made(folder: Path) -> tuple[Workspace, Changes]:
    (folder / "project").mkdir(exist_ok=True)
    workspace = Workspace(folder / "project", home=folder / "home", temp=folder / "tmp")
    return workspace, Changes(workspace, Checkpoints(folder / "checkpoints"), lambda _folder, _name: False)


def content(seed: int) -> bytes:
    """A text of its own size that carries its own check."""
    body = b"".join(b"line %d of %d\n" % (number, seed) for number in range(seed % 4_000 + 1))
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def _is_whole(data: bytes) -> bool:
    body, check = data[:-65], data[-65:-1]
    return hashlib.sha256(body).hexdigest().encode() == check


@pytest.mark.long
def test_killed_in_the_middle_every_file_is_old_or_new_and_undo_still_works(tmp_path: Path) -> None:
    workspace, changes = _made(tmp_path)
    for number in range(_FILES):
        changes.write(workspace.locate(f"{number}.txt"), (content(number),), ChangeOrigin("start"))
    chance = random.Random(7)
    written = 0
    for _ in range(12):
        child = subprocess.Popen(
            [sys.executable, str(_WRITER), str(tmp_path), str(chance.randrange(10**6))], stdout=subprocess.PIPE
        )
        assert child.stdout
        for _ in range(chance.randrange(10, 30)):
            written += len(child.stdout.readline()) > 0
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert all(_is_whole(file.read_bytes()) for file in (tmp_path / "project").glob("*.txt"))
    assert written >= 120
    changes.sweep()
    assert {file.name for file in (tmp_path / "project").iterdir()} == {f"{number}.txt" for number in range(_FILES)}
    undone, problems = changes.restore("writer")
    assert (len(undone) > 0, problems) == (True, [])
    assert [(tmp_path / "project" / f"{number}.txt").read_bytes() for number in range(_FILES)] == [
        content(number) for number in range(_FILES)
    ]


@contextmanager
def _room_for(size_bytes: int) -> Iterator[None]:
    """No file may grow beyond that size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 100_000])
def test_without_room_nothing_changes_and_that_is_told(tmp_path: Path, room: int) -> None:
    workspace, changes = _made(tmp_path)
    file = tmp_path / "project" / "a.txt"
    file.write_bytes(b"old")
    with (
        _room_for(room),
        pytest.raises(NeedsPerson, match=r"path: there is no room left to write 'a.txt'; nothing was"),
    ):
        changes.write(workspace.locate("a.txt"), (b"x" * 50_000,) * 10, ChangeOrigin())
    assert ({path.name: path.read_bytes() for path in file.parent.iterdir()}) == {"a.txt": b"old"}


def test_without_room_a_file_with_two_names_keeps_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, changes = _made(tmp_path)
    names = [tmp_path / "project" / name for name in ("a.txt", "b.txt")]
    names[0].write_bytes(b"old")
    os.link(*names)
    fsync = os.fsync

    def fail_in_place(handle: int) -> None:
        if os.fstat(handle).st_nlink == 2 and os.fstat(handle).st_size > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", fail_in_place)
    with pytest.raises(NeedsPerson, match="no room left"):
        changes.write(workspace.locate("a.txt"), (b"x" * 50_000,), ChangeOrigin())
    assert ({path.name: path.read_bytes() for path in names[0].parent.iterdir()}) == {"a.txt": b"old", "b.txt": b"old"}
    assert changes.restore("")[0] == []


def test_without_room_for_the_copy_nothing_changes(tmp_path: Path) -> None:
    workspace, changes = _made(tmp_path)
    file = tmp_path / "project" / "a.txt"
    file.write_bytes(b"x" * 500_000)
    with _room_for(100_000), pytest.raises(WispError):
        changes.write(workspace.locate("a.txt"), (b"new",), ChangeOrigin())
    assert ([path.name for path in file.parent.iterdir()], file.stat().st_size) == (["a.txt"], 500_000)


def test_without_room_for_the_list_of_changes_nothing_changes(tmp_path: Path) -> None:
    workspace, changes = _made(tmp_path)
    file = tmp_path / "project" / "a.txt"
    file.write_bytes(b"old")
    with _room_for(1_000), pytest.raises(WispError):
        changes.write(workspace.locate("a.txt"), (b"new",), ChangeOrigin())
    assert ({path.name: path.read_bytes() for path in file.parent.iterdir()}) == {"a.txt": b"old"}


def test_folders_made_for_a_file_that_could_not_be_written_are_gone(tmp_path: Path) -> None:
    workspace, changes = _made(tmp_path)
    with _room_for(0), pytest.raises(NeedsPerson):
        changes.write(workspace.locate("a/b/c.txt"), (b"new",), ChangeOrigin())
    assert list((tmp_path / "project").iterdir()) == []


@contextmanager
def _as_somebody_else() -> Iterator[None]:
    """Without the rights of root, where the tests have them."""
    if os.geteuid():
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_without_permission_nothing_changes_and_that_is_told(what: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        workspace, changes = _made(folder)
        for writable in (folder / "checkpoints", *(folder / "checkpoints").rglob("*")):
            writable.chmod(0o777)
        file = folder / "project" / "a.txt"
        file.write_text("old")
        file.chmod(0o444 if what == "file" else 0o666)
        file.parent.chmod(0o777 if what == "file" else 0o555)
        with _as_somebody_else(), pytest.raises(NeedsPerson, match=r"path: there is no permission for 'a.txt'"):
            changes.write(workspace.locate("a.txt"), (b"new",), ChangeOrigin())
        assert (file.read_text(), list(file.parent.iterdir())) == ("old", [file])
        file.parent.chmod(0o755)


@pytest.mark.long
@pytest.mark.parametrize("with_openat2", [True, False])
def test_a_folder_that_keeps_turning_into_a_link_leads_no_write_outside(
    tmp_path: Path, with_openat2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_openat2:
        monkeypatch.setattr(safe_open, "_has_openat2", lambda: False)
    workspace, changes = _made(tmp_path)
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (project / "link").symlink_to(outside)
    (project / "sub").mkdir()
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            with suppress(OSError):
                (project / "sub").rename(project / "spare")
                (project / "link").rename(project / "sub")
                (project / "sub").rename(project / "link")
                (project / "spare").rename(project / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    done = 0
    for number in range(300):
        with suppress(WispError):
            changes.write(workspace.locate("sub/f.txt"), (b"%d" % number,), ChangeOrigin())
            done += 1
    over.set()
    swapper.join()
    assert (list(outside.iterdir()), done > 0) == ([], True)


def test_old_copies_are_dropped_and_new_ones_kept(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    workspace = Workspace(tmp_path / "project", home=tmp_path / "home")
    checkpoints = Checkpoints(tmp_path / "checkpoints", kept_bytes=25_000)
    changes = Changes(workspace, checkpoints)
    for number in range(10):
        changes.write(workspace.locate("a.txt"), (b"%d" % number * 10_000,), ChangeOrigin(f"t{number}"))
    for copy in (tmp_path / "checkpoints" / "objects").iterdir():
        os.utime(copy, (0, 0))
    checkpoints.prune()
    assert checkpoints.turns() == ["t8", "t9"]
    assert len(list((tmp_path / "checkpoints" / "objects").iterdir())) == 2
    changes.undo_last()
    changes.undo_last()
    assert (tmp_path / "project" / "a.txt").read_bytes() == b"7" * 10_000


def test_changes_that_an_earlier_wisp_kept_can_be_taken_back(tmp_path: Path) -> None:
    workspace, changes = _made(tmp_path)
    changes.write(workspace.locate("a.txt"), (b"old",), ChangeOrigin("t1"))
    with closing(sqlite3.connect(tmp_path / "checkpoints" / "changes.db")) as table:
        table.execute("alter table changes drop column undo_check")
    _, changes = _made(tmp_path)
    changes.write(workspace.locate("a.txt"), (b"new",), ChangeOrigin("t2"))
    assert [change.turn for change in (changes.undo_last(), changes.undo_last())] == ["t2", "t1"]
