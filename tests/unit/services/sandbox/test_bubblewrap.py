"""The wall where it cannot stand, and the filter for system calls."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from app.base.clock import SystemClock
from app.base.errors import ToolFailed
from app.protocol.call import ToolCall
from app.services.files.places import Workspace
from app.services.processes.commands import Processes
from app.services.sandbox import bubblewrap
from app.services.sandbox.layout import NoWall
from app.tools.exec import CommandJudge


def test_switched_off_says_so(tmp_path: Path) -> None:
    wall = bubblewrap.wall(tmp_path, wanted=False)
    assert wall.missing() == "You have switched off the sandbox for commands in the settings (trust.commands)."
    with pytest.raises(ToolFailed):
        wall.enclose(tmp_path, {}, tmp_path, network=False)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "There is no sandbox for commands here. To have one: sudo apt-get install bubblewrap"),
        (
            "echo bwrap: setting up uid map: Permission denied >&2; exit 1",
            "does not let Wisp start the sandbox for commands (bwrap: setting up uid",
        ),
        ("exit 7", "does not let Wisp start the sandbox for commands (7)."),
    ],
)
def test_a_wall_that_cannot_stand_says_why_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    program = tmp_path / "bwrap"
    if script:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))
    (tmp_path / "space").mkdir()
    wall = bubblewrap.wall(tmp_path / "space", wanted=True)
    assert words in wall.missing()
    assert "sudo" in wall.missing()
    with pytest.raises(ToolFailed, match="sandbox for commands"):
        wall.enclose(tmp_path / "space", {}, tmp_path, network=False)


_LEAVES_ONE_BEHIND = """#!/bin/sh
[ -e /proc/self/fd/8 ] || exit 0
sleep 60 >/dev/null 2>&1 &
printf '{\\n    "child-pid": %s,\\n    "pid-namespace": 1\\n}\\n' "$!" >&8
"""


def test_a_run_has_ended_when_the_first_process_inside_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, space = tmp_path / "bwrap", tmp_path / "space"
    program.write_text(_LEAVES_ONE_BEHIND)
    program.chmod(0o755)
    space.mkdir()
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))
    enclosed = bubblewrap.wall(space, wanted=True).enclose(space, {}, tmp_path, network=False)
    with subprocess.Popen([*enclosed.prefix, "true"]) as run:
        info = enclosed.info
        waited = psutil.Process(run.pid)
        until = time.monotonic() + 20
        while not (info.exists() and info.read_text().endswith("}\n") and not waited.children()):
            assert time.monotonic() < until, "the run did not come so far"
            time.sleep(0.01)
        (tmp_path / "still there").touch()
        os.kill(json.loads(info.read_text())["child-pid"], signal.SIGKILL)
        assert run.wait(20) == 0
    ended = info.with_name(f"{info.name}.ended")
    assert ended.stat().st_mtime_ns >= (tmp_path / "still there").stat().st_mtime_ns


def _judge(tmp_path: Path, why: str = "") -> CommandJudge:
    processes = Processes(tmp_path / "runs", SystemClock())
    return CommandJudge(Workspace(tmp_path), processes, NoWall(why).missing)


def test_the_judge_reads_what_arguments_come_to(tmp_path: Path) -> None:
    def judged(why: str = "", **arguments: str | bool) -> tuple[bool, bool, bool, bool]:
        found = _judge(tmp_path, why).classify(ToolCall("c", "execute_command", {"command": "ls", **arguments}))
        assert found is not None
        return found.read_only, found.sandboxed, found.wants_network, found.wants_outside

    assert judged() == (True, True, False, False)
    assert judged(network=True) == (True, True, True, False)
    assert judged(outside=True) == (True, False, False, True)
    assert judged(cwd="/etc") == (True, False, False, True)
    assert judged(cwd="a\0b") == (True, False, False, True)
    assert judged(why="None here.") == (True, False, False, False)


def test_the_judge_knows_other_calls_and_runs_that_are_none(tmp_path: Path) -> None:
    judge = _judge(tmp_path)
    assert judge.classify(ToolCall("c", "read_file", {"path": "x"})) is None
    typed = judge.classify(ToolCall("c", "send_command_input", {"run_id": "r0", "text": "x"}))
    assert typed is not None
    assert (typed.read_only, typed.sandboxed, typed.wants_outside) == (False, False, True)


def _verdict(program: bytes, number: int, *arguments: int, audit: int = 0xC000003E) -> int:
    """What the kernel would answer: the filter, interpreted."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *(*arguments, *[0] * (6 - len(arguments))))
    at, value = 0, 0
    while True:
        code, true, false, k = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, k)
        elif code == 0x06:
            return int(k)
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += true if holds else false


_ALLOWED, _DENIED, _OLD_KERNEL, _NO_FAMILY = 0x7FFF0000, 0x50001, 0x50026, 0x50061


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        ((0, 1, 2, 3), _ALLOWED),
        ((250, 0), _DENIED),
        ((56, 0x10000011), _DENIED),
        ((272, 0x80), _DENIED),
        ((16, 0, 0x1_0000_5412), _DENIED),
        ((41, 40), _NO_FAMILY),
        ((0x400000A5,), _OLD_KERNEL),
    ],
)
def test_the_filter_answers_system_calls(call: tuple[int, ...], verdict: int) -> None:
    assert _verdict(bubblewrap.filter_program(network=False, machine="x86_64"), *call) == verdict


def test_with_the_network_no_socket_of_the_session_is_reached() -> None:
    program = bubblewrap.filter_program(network=True, machine="x86_64")
    assert [_verdict(program, 41, family) for family in (1, 2, 10, 16)] == [_NO_FAMILY, _ALLOWED, _ALLOWED, _ALLOWED]


def test_another_kind_of_program_finds_no_kernel_and_another_machine_has_its_own_numbers() -> None:
    program = bubblewrap.filter_program(network=False, machine="aarch64")
    assert _verdict(program, 40, audit=0xC00000B7) == _DENIED
    assert _verdict(program, 165, audit=0xC00000B7) == _ALLOWED
    assert _verdict(program, 165, audit=0x40000003) == _OLD_KERNEL
    assert bubblewrap.filter_program(network=False, machine="vax") == b""
