"""Packing and unpacking: nothing overwritten, nothing outside, limits on what comes out, one undo. And the trash."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.agent.asking import question
from app.agent.policy import Decision, Mode, Policy, Trust
from app.agent.policy.call_analysis import NobodyKnows
from app.agent.policy.policy import PolicyDeps
from app.base.clock import SystemClock
from app.base.facts import Archived, Emptied, first
from app.protocol.call import ToolCall, ToolResult
from app.services.files import packing
from app.tools.archives import ARCHIVES
from tests.support.workbench import WORK, Bench

CONTENT = {"trip/a.txt": "alpha", "trip/deep/b.txt": "beta" * 1000, "trip/run.sh": "#!/bin/sh\n"}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def fill(bench: Bench) -> None:
    for name, text in CONTENT.items():
        (bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / name).write_text(text)
    (bench.root / "trip/run.sh").chmod(0o755)
    (bench.root / "trip/empty").mkdir()


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")
    }


def zip_of(path: Path, **entries: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def archived(result: ToolResult) -> Archived:
    fact = first(Archived, result.facts)
    assert result.ok and fact, result.llm_echo
    return fact


@pytest.mark.parametrize("name", ["", "trip.zip", "trip.tar", "trip.tar.gz", "trip.tgz", "trip.tar.bz2", "trip.tar.xz"])
async def test_what_is_packed_comes_out_again_and_one_undo_takes_each_back(name: str, bench: Bench) -> None:
    fill(bench)
    before = tree(bench.root)
    packed = archived(await bench.call("pack_files", source=["trip"], **({"destination": name} if name else {})))
    archive = bench.root / (name or "trip.zip")
    assert (packed.path, packed.files, packed.size_bytes) == (archive.name, 3, archive.stat().st_size)
    unpacked = archived(await bench.call("unpack_file", path=archive.name))
    assert (unpacked.path, unpacked.files) == ("trip 2", 3)
    assert tree(bench.root / "trip 2") == tree(bench.root / "trip")
    assert os.access(bench.root / "trip 2/run.sh", os.X_OK) and not os.access(bench.root / "trip 2/a.txt", os.X_OK)
    for _ in range(2):
        assert (await bench.call("undo_last_change")).ok
    assert tree(bench.root) == before


async def test_files_that_lie_bare_in_an_archive_get_a_folder_of_its_name(bench: Bench) -> None:
    zip_of(bench.root / "Photos.zip", **{"1.jpg": b"one", "2.jpg": b"two"})
    assert archived(await bench.call("unpack_file", path="Photos.zip")).path == "Photos"
    (bench.root / "there").mkdir()
    assert archived(await bench.call("unpack_file", path="Photos.zip", destination="there")).path == "there/Photos"
    assert archived(await bench.call("unpack_file", path="Photos.zip", destination="new")).path == "new"
    assert not (await bench.call("unpack_file", path="Photos.zip", destination="Photos.zip")).ok


async def test_nothing_is_overwritten_by_an_archive(bench: Bench) -> None:
    fill(bench)
    (bench.root / "trip.zip").write_text("mine")
    assert not (await bench.call("pack_files", source=["trip"])).ok
    assert (bench.root / "trip.zip").read_text() == "mine"


def slip(name: str) -> Callable[[Path], None]:
    return lambda path: zip_of(path, **{"good.txt": b"x", name: b"evil"})


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with tarfile.open(path, "w:gz") as archive:
            for member, content in members:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))

    return write


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a.txt", "one")
        archive.writestr("a.txt", "two")


def long_header(path: Path) -> None:
    """A header of a tar that claims a gigabyte of it for a name."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"a" * 10_000)


@pytest.mark.parametrize(
    "write",
    [
        slip("../evil.txt"),
        slip("/tmp/evil.txt"),
        slip("a/../../evil.txt"),
        slip("..\\evil.txt"),
        tar_of((tarfile.TarInfo("../evil.txt"), b"evil")),
        tar_of((tarfile.TarInfo("good.txt"), b"x"), (tarfile.TarInfo("/evil.txt"), b"evil")),
        twice,
        long_header,
        lambda path: path.write_bytes(b"PK\x03\x04 no archive"),
        lambda path: path.write_bytes(b"\x1f\x8b no archive"),
        lambda path: path.write_bytes(b"7z\xbc\xaf\x27\x1c no zip"),
        lambda path: path.write_text("words"),
    ],
)
async def test_a_hostile_or_damaged_archive_leaves_nothing(write: Callable[[Path], object], bench: Bench) -> None:
    write(bench.root / "bad.zip")
    result = await bench.call("unpack_file", path="bad.zip")
    assert not result.ok
    assert list(tree(bench.root)) == ["bad.zip"]
    assert not list(bench.root.parent.rglob("evil.txt"))


async def test_links_devices_and_what_starts_by_itself_are_left_out_and_counted(bench: Bench) -> None:
    link, device, hook = tarfile.TarInfo("link"), tarfile.TarInfo("device"), tarfile.TarInfo("x/.git/hooks/pre-commit")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    device.type = tarfile.CHRTYPE
    tar_of((link, b""), (tarfile.TarInfo("link/evil.txt"), b"x"), (device, b""), (hook, b"x"))(
        bench.root / "odd.tar.gz"
    )
    made = archived(await bench.call("unpack_file", path="odd.tar.gz"))
    assert (made.files, made.left_out) == (1, 3)
    assert not any(path.is_symlink() for path in bench.root.rglob("*"))


async def test_a_link_in_a_zip_is_no_file(bench: Bench) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(bench.root / "z.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
        archive.writestr("a.txt", "x")
    assert archived(await bench.call("unpack_file", path="z.zip")).left_out == 1


async def test_a_bomb_is_stopped_by_what_comes_out_of_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_BYTES", 1_000_000)
    zip_of(bench.root / "bomb.zip", **{f"{number}.bin": bytes(300_000) for number in range(10)})
    assert not (await bench.call("unpack_file", path="bomb.zip")).ok
    monkeypatch.setattr(packing, "MOST_ENTRIES", 5)
    zip_of(bench.root / "many.zip", **{f"{number}.txt": b"" for number in range(10)})
    assert not (await bench.call("unpack_file", path="many.zip")).ok
    assert sorted(tree(bench.root)) == ["bomb.zip", "many.zip"]


@pytest.mark.parametrize(
    ("tool", "argument"), [("pack_files", {"source": ["trip"]}), ("unpack_file", {"path": "t.zip"})]
)
async def test_a_stop_leaves_nothing(tool: str, argument: dict[str, list[str] | str], bench: Bench) -> None:
    fill(bench)
    zip_of(bench.root / "t.zip", **{"a.txt": b"x"})
    before = tree(bench.root).keys()
    bench.cancelled.set()
    assert not (await bench.call("pack_files", source=["trip"])).ok
    assert not (await bench.call("unpack_file", path="t.zip")).ok
    assert tree(bench.root).keys() == before


async def test_keys_are_never_packed(bench: Bench) -> None:
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id_ed25519").write_text("key")
    assert not (await bench.call("pack_files", source=[str(bench.home / ".ssh")], destination="k.zip")).ok
    assert not (bench.root / "k.zip").exists()


@pytest.fixture
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data/Trash/files/folder").mkdir(parents=True)
    (tmp_path / "data/Trash/info").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file.txt").touch()
    for name in ("a.txt", "folder/b.txt"):
        (tmp_path / "data/Trash/files" / name).touch()
    for name in ("a.txt", "folder"):
        (tmp_path / f"data/Trash/info/{name}.trashinfo").touch()
    (tmp_path / "data/Trash/files/link").symlink_to(tmp_path / "kept")
    return tmp_path / "data/Trash"


async def test_the_trash_is_emptied_and_nothing_else(bench: Bench, trash: Path) -> None:
    emptied = first(Emptied, (await bench.call("empty_trash")).facts)
    assert emptied and emptied.count == 3
    assert sorted(tree(trash)) == ["files", "info"]
    assert (trash.parents[1] / "kept/file.txt").exists()
    assert first(Emptied, (await bench.call("empty_trash")).facts) == Emptied(0)


async def test_a_trash_that_leads_elsewhere_is_left_alone(bench: Bench, trash: Path) -> None:
    trash.rename(trash.with_name("moved"))
    trash.symlink_to(trash.with_name("moved"))
    assert not (await bench.call("empty_trash")).ok
    assert (trash / "files/a.txt").exists()


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO, Mode.YOLO])
def test_emptying_the_trash_is_always_asked_with_what_it_would_delete(mode: Mode, bench: Bench, trash: Path) -> None:
    assert trash.exists()
    policy = Policy(bench.root, mode, surroundings=PolicyDeps(NobodyKnows(), SystemClock(), tools=WORK.specs))
    spec = next(spec for spec in ARCHIVES.tools if spec.name == "empty_trash")
    verdict = policy.decide(ToolCall("c1", "empty_trash", {}), spec, (), Trust(words="empty the trash"))
    assert verdict.decision is Decision.ASK
    assert verdict.act
    assert "3" in question(verdict.needs, verdict.act).text
