"""Moving, copying and making folders: all or nothing, nothing overwritten, the same walls, one undo."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import ToolFinished
from app.agent.policy import Decision, Mode, Policy, Trust
from app.agent.policy.call_analysis import NobodyKnows
from app.agent.policy.policy import PolicyDeps
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.facts import Made, first
from app.protocol.call import ToolCall
from app.protocol.spec import ToolSpec
from app.providers.scripted import native_call
from app.services.files.moving import Moves
from app.tools.executor import Executor
from app.tools.file import ARRANGEMENTS
from tests.support.stage import Stage
from tests.support.workbench import WORK, Bench


def _fill(bench: Bench) -> None:
    for name, text in {"a.txt": "alpha", "b.txt": "beta", "photos/1.jpg": "one", "photos/deep/2.jpg": "two"}.items():
        (bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / name).write_text(text)


def _tree(folder: Path) -> dict[str, str]:
    """Every entry below, with its content; folders with an empty one."""
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else "" for path in folder.rglob("*")
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "there", "gone"),
    [
        ("move_file", {"source": ["a.txt"], "destination": ["z.txt"]}, {"z.txt": "alpha"}, ["a.txt"]),
        ("move_file", {"source": ["a.txt"], "destination": ["photos"]}, {"photos/a.txt": "alpha"}, ["a.txt"]),
        (
            "move_file",
            {"source": ["a.txt", "photos"], "destination": ["new/place/"]},
            {"new/place/a.txt": "alpha", "new/place/photos/deep/2.jpg": "two"},
            ["a.txt", "photos"],
        ),
        (
            "move_file",
            {"source": ["a.txt", "b.txt"], "destination": ["2026-a.txt", "2026-b.txt"]},
            {"2026-a.txt": "alpha", "2026-b.txt": "beta"},
            ["a.txt", "b.txt"],
        ),
        (
            "copy_file",
            {"source": ["photos", "a.txt"], "destination": ["backup/"]},
            {"backup/photos/deep/2.jpg": "two", "backup/a.txt": "alpha", "photos/1.jpg": "one", "a.txt": "alpha"},
            [],
        ),
        ("make_folder", {"path": ["x/y/z", "photos"]}, {"x/y/z": ""}, []),
    ],
)
async def test_it_happens_and_one_undo_takes_all_of_it_back(
    bench: Bench, tool: str, arguments: dict[str, Any], there: dict[str, str], gone: list[str]
) -> None:
    _fill(bench)
    before = _tree(bench.root)
    result = await bench.call(tool, **arguments)
    assert result.ok, result.llm_echo
    after = _tree(bench.root)
    assert there.items() <= after.items()
    assert [name for name in gone if name in after] == []
    assert (await bench.call("undo_last_change")).ok
    assert _tree(bench.root) == before
    assert bench.checkpoints.changes() == []


async def test_a_turn_with_edits_between_is_taken_back_whole(bench: Bench) -> None:
    _fill(bench)
    before = _tree(bench.root)
    await bench.call("make_folder", path=["old"])
    await bench.call("move_file", source=["a.txt", "photos"], destination=["old/"])
    await bench.call("write_file", path="old/a.txt", content="changed")
    await bench.call("copy_file", source=["old"], destination=["older"])
    undone, problems = bench.changes.restore("t1")
    assert (len(undone) > 5, problems) == (True, [])
    assert _tree(bench.root) == before


async def test_a_preview_changes_nothing(bench: Bench) -> None:
    _fill(bench)
    before = _tree(bench.root)
    result = await bench.call("move_file", source=["a.txt", "photos"], destination=["old/"], preview=True)
    assert result.llm_echo == "Would move 2 with 3 entries in folders:\na.txt → old/a.txt\nphotos → old/photos"
    assert _tree(bench.root) == before
    assert bench.checkpoints.changes() == []


@pytest.mark.parametrize(
    ("source", "destination", "why"),
    [
        (["a.txt"], ["b.txt"], "'b.txt' is there already"),
        (["a.txt", "photos/1.jpg", "photos"], ["x/"], "lies in another source"),
        (["photos"], ["photos/deep/"], "lies in 'photos' itself"),
        (["link.txt"], ["x"], "is a link to 'a.txt'"),
        (["a.txt"], [".git/hooks/"], "is protected"),
        (["dotfiles"], ["device:/.config"], "is protected"),
        (["a.txt", "nowhere"], ["x/"], "there is no 'nowhere'"),
    ],
)
@pytest.mark.parametrize("tool", ["move_file", "copy_file"])
async def test_what_may_not_or_cannot_be_leaves_everything_as_it_is(
    bench: Bench, tool: str, source: list[str], destination: list[str], why: str
) -> None:
    _fill(bench)
    (bench.root / "link.txt").symlink_to("a.txt")
    (bench.root / "dotfiles/autostart").mkdir(parents=True)
    (bench.root / "dotfiles/autostart/x.desktop").write_text("x")
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id_rsa").write_text("x")
    before = _tree(bench.root)
    result = await bench.call(tool, source=list(source), destination=list(destination))
    assert (result.ok, why in result.llm_echo) == (False, True), result.llm_echo
    assert _tree(bench.root) == before
    assert bench.checkpoints.changes() == []


@pytest.mark.parametrize("tool", ["move_file", "copy_file"])
async def test_a_folder_takes_its_repository_along_and_one_undo_brings_it_back(bench: Bench, tool: str) -> None:
    (bench.root / "repository/.git/hooks").mkdir(parents=True)
    (bench.root / "repository/.git/hooks/pre-commit").write_text("#!/bin/sh\n")
    before = _tree(bench.root)
    result = await bench.call(tool, source=["repository"], destination=["elsewhere/"])
    assert (result.ok, (bench.root / "elsewhere/repository/.git/hooks/pre-commit").is_file()) == (True, True)
    await bench.call("undo_last_change")
    assert _tree(bench.root) == before


async def test_what_fails_on_the_way_undoes_what_was_done(bench: Bench) -> None:
    _fill(bench)
    before = _tree(bench.root)
    (bench.root / "b.txt").chmod(0)
    if os.access(bench.root / "b.txt", os.R_OK):  # root reads everything: a pipe fails for it too
        (bench.root / "b.txt").unlink()
        os.mkfifo(bench.root / "b.txt")
        before = {name: text for name, text in before.items() if name != "b.txt"}
    result = await bench.call("copy_file", source=["photos", "b.txt"], destination=["new/"])
    assert not result.ok
    assert {name: text for name, text in _tree_of_files(bench.root).items() if name != "b.txt"} == {
        name: text for name, text in before.items() if text and name != "b.txt"
    }
    assert bench.checkpoints.changes() == []


def _tree_of_files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def test_what_came_into_a_new_folder_since_stays_and_a_taken_name_is_told(bench: Bench) -> None:
    _fill(bench)
    await bench.call("move_file", source=["a.txt"], destination=["new/"])
    (bench.root / "new/other.txt").write_text("mine")
    (bench.root / "a.txt").write_text("another")
    undone = await bench.call("undo_last_change")
    assert "'a.txt' is there again, so 'new/a.txt' was not moved back." in undone.llm_echo
    assert _tree_of_files(bench.root / "new") == {"a.txt": "alpha", "other.txt": "mine"}


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("move_file", {"source": ["a.txt"], "destination": ["b/"]}, Decision.ALLOW),
        ("copy_file", {"source": ["/srv/a.txt"], "destination": ["b/"]}, Decision.ASK),
        ("move_file", {"source": [".wisp/policy.toml"], "destination": ["b/"]}, Decision.DENY),
        ("move_file", {"source": ["repository"], "destination": ["elsewhere/"]}, Decision.ASK),
        ("copy_file", {"source": ["repository"], "destination": ["elsewhere/"]}, Decision.ASK),
        ("move_file", {"source": ["repository/.git"], "destination": ["elsewhere/"]}, Decision.DENY),
        ("make_folder", {"path": ["b"]}, Decision.ALLOW),
    ],
)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
def test_every_path_of_the_call_is_judged(
    tmp_path: Path, tool: str, arguments: dict[str, Any], decision: Decision, mode: Mode
) -> None:
    (tmp_path / ".env").write_text("KEY=hunter2")
    (tmp_path / "plain/deep").mkdir(parents=True)
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/.git/config").write_text("x")
    policy = Policy(tmp_path, mode, surroundings=PolicyDeps(NobodyKnows()), persons=tmp_path / "none.toml")
    spec = next(spec for spec in ARRANGEMENTS.tools if spec.name == tool)
    assert policy.decide(ToolCall("c", tool, arguments), spec, (), Trust()).decision is decision


class _Swap:
    """Puts a link in the place of a file or folder right before the first call runs, when it is judged already."""

    def __init__(self, path: Path, link_to: Path) -> None:
        self._path = path
        self._link_to = link_to

    async def before(self, _spec: ToolSpec, _call: ToolCall) -> None:
        self.do()

    def do(self) -> None:
        self._path.rename(self._path.with_name("kept-aside"))
        self._path.symlink_to(self._link_to)

    def undo(self) -> None:
        if self._path.is_symlink():
            self._path.unlink()
        self._path.with_name("kept-aside").rename(self._path)


def _fill_with_private(bench: Bench) -> None:
    texts = {"inbox/a.txt": "open", "inbox/deep/b.txt": "open too", "out/there.txt": "here"}
    _fill(bench)
    for name, text in texts.items():
        (bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / name).write_text(text)
    for name in ("a.txt", "b.txt", "deep/b.txt"):
        (bench.home / "Diary" / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.home / "Diary" / name).write_text("PRIVATE")


_DIFF = "------- SEARCH\nPRIVATE\n=======\nmine\n+++++++ REPLACE"
_ENDS: list[tuple[str, str, dict[str, list[str]]]] = [
    ("inbox", "Diary", {"source": ["inbox/a.txt"], "destination": ["out/"]}),
    ("inbox", "Diary", {"source": ["inbox"], "destination": ["out/"]}),
    ("inbox/a.txt", "Diary/a.txt", {"source": ["inbox/a.txt"], "destination": ["out/"]}),
    ("inbox/deep", "Diary/deep", {"source": ["inbox/deep/b.txt"], "destination": ["new.txt"]}),
    ("out", "Diary", {"source": ["a.txt"], "destination": ["out/"]}),
    ("out", "Diary", {"source": ["photos"], "destination": ["out/pictures"]}),
    ("out", "Diary", {"source": ["b.txt", "a.txt"], "destination": ["out/new/b.txt", "out/new/a.txt"]}),
]
_SWAPPED: list[tuple[str, str, str, dict[str, Any]]] = [
    *((tool, *end) for tool in ("move_file", "copy_file") for end in _ENDS),
    ("make_folder", "out", "Diary", {"path": ["out/new/er"]}),
    ("write_file", "out", "Diary", {"path": "out/a.txt", "content": "mine"}),
    ("replace_in_file", "inbox", "Diary", {"path": "inbox/a.txt", "diff": _DIFF}),
    ("delete_file", "inbox", "Diary", {"path": "inbox/a.txt"}),
    ("read_file", "inbox", "Diary", {"path": "inbox/a.txt"}),
    ("read_file_in_chunks", "inbox/a.txt", "Diary/a.txt", {"path": "inbox/a.txt"}),
    ("read_batch", "inbox", "Diary", {"path": ["inbox/a.txt"]}),
    ("list_files", "inbox", "Diary", {"path": "inbox"}),
    ("search_files", "inbox", "Diary", {"path": "inbox", "regex": "PRIVATE"}),
    ("list_code_definition_names", "inbox", "Diary", {"path": "inbox"}),
]


@pytest.mark.parametrize(("tool", "swapped", "link_to", "arguments"), _SWAPPED)
async def test_a_call_acts_on_what_was_judged_or_on_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tool: str, swapped: str, link_to: str, arguments: dict[str, Any]
) -> None:
    monkeypatch.setenv("HOME", str(bench.home))
    _fill_with_private(bench)
    outside = _tree(bench.home)
    swap = _Swap(bench.root / swapped, bench.home / link_to)
    stage = Stage(
        bench.root,
        [*native_call("c1", tool, arguments)],
        "Done.",
        dialect="native",
        registry=WORK,
        executor=Executor(WORK, [*bench.handlers(), swap], SystemClock(), seed=1),
        policy=Policy(bench.root, Mode.YOLO),
    )
    await stage.send()
    [done] = [event for event in stage.events if isinstance(event, ToolFinished)]
    assert (done.ok, "leads to another place than a moment ago" in done.echo) == (False, True), done.echo
    assert (_tree(bench.home), "PRIVATE" in done.echo, bench.checkpoints.changes()) == (outside, False, [])


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize(("swapped", "link_to", "ends"), [*_ENDS, ("inbox/deep", "Diary/deep", _ENDS[1][2])])
def test_a_link_that_appears_after_the_check_leads_nowhere(
    bench: Bench, swapped: str, link_to: str, ends: dict[str, list[str]], *, copies: bool
) -> None:
    _fill_with_private(bench)
    before, outside = _tree(bench.root), _tree(bench.home)
    moves = Moves(bench.workspace, bench.checkpoints)
    steps = moves.plan(ends["source"], ends["destination"], copies=copies)
    swap = _Swap(bench.root / swapped, bench.home / link_to)
    swap.do()
    with suppress(WispError, OSError):  # a folder may be moved with a link in it, which still leads where it did
        moves.carry_out(steps, "t1", "move_file", copies=copies)
    copied = [path.read_text() for path in bench.root.rglob("*") if path.is_file() and not _is_by_link(path, bench)]
    assert ("PRIVATE" in copied, _tree(bench.home)) == (False, outside)
    bench.changes.restore("t1")
    swap.undo()
    bench.changes.restore("t1")
    assert (_tree(bench.root), _tree(bench.home)) == (before, outside)


def _is_by_link(path: Path, bench: Bench) -> bool:
    return not path.resolve().is_relative_to(bench.root)


async def test_a_copy_keeps_mode_time_and_where_it_came_from(bench: Bench) -> None:
    _fill(bench)
    original = bench.root / "a.txt"
    original.chmod(0o640)
    os.utime(original, (1_000_000_000, 1_000_000_000))
    os.setxattr(original, "user.xdg.origin.url", b"https://example.com/a.txt")
    assert (await bench.call("copy_file", source=["a.txt"], destination=["b/"])).ok
    copy = bench.root / "b/a.txt"
    known = copy.stat()
    assert (known.st_mode & 0o777, known.st_mtime) == (0o640, 1_000_000_000)
    assert os.getxattr(copy, "user.xdg.origin.url") == b"https://example.com/a.txt"


async def test_a_folder_that_was_missing_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    _fill(bench)
    made = await bench.call("copy_file", source=["a.txt"], destination=["usb stick/"])
    again = await bench.call("copy_file", source=["b.txt"], destination=["usb stick/"])
    assert (first(Made, made.facts), first(Made, again.facts)) == (Made("", "usb stick"), None)


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ("copy a.txt to my usb stick", Decision.ALLOW),
        ("kopiere a.txt auf den USB-Stick", Decision.ALLOW),
        ("copy a.txt to KINGSTON", Decision.ALLOW),
        ("copy a.txt somewhere", Decision.ASK),
    ],
)
async def test_a_drive_that_is_plugged_in_is_written_to_where_the_person_names_it(
    said: str, decision: Decision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = tmp_path / "media" / "KINGSTON"
    drive.mkdir(parents=True)
    bench = Bench(tmp_path)
    _fill(bench)
    monkeypatch.setenv("WISP_DRIVES", str(drive))
    monkeypatch.setenv("HOME", str(bench.root))
    policy = Policy(bench.root, Mode.ASK, surroundings=PolicyDeps(NobodyKnows(), SystemClock(), tools=WORK.specs))
    call = ToolCall("c1", "copy_file", {"source": ["a.txt"], "destination": [f"{drive}/"]})
    spec = next(spec for spec in ARRANGEMENTS.tools if spec.name == "copy_file")
    assert policy.decide(call, spec, (), Trust(words=said)).decision is decision
    assert (await bench.call("copy_file", source=["a.txt"], destination=[f"{drive}/"])).ok
    assert (drive / "a.txt").read_text() == "alpha"
    monkeypatch.delenv("WISP_DRIVES")
    assert not (await bench.call("copy_file", source=["b.txt"], destination=[f"{drive}/"])).ok
