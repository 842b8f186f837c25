"""Waiting for something: met, not met, stopped, refused."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from app.base.clock import SystemClock
from app.desktop.choose import open_desktop
from app.services.files.places import Workspace
from app.services.processes.commands import Processes
from app.tools.conversation import SAY, Speech
from app.tools.exec import WAITS, Waits
from app.tools.executor import Executor
from app.tools.pictures import ModelSight
from app.tools.registry import Registry
from app.tools.watching import WATCHING, Watching
from tests.support.stage import Stage
from tests.support.workbench import Bench


async def test_time_passes_with_a_countdown(bench: Bench) -> None:
    result = await bench.xml('<wait_until seconds="0.4"/>')
    assert result.llm_echo.endswith("seconds have passed.")
    assert bench.told[0] == ("wait_until", {"for": "0.4 seconds", "left_s": 0.4, "limit_s": 0.4})


async def test_words_in_the_output_end_the_waiting(bench: Bench) -> None:
    command = "sleep 0.5; echo 'Listening on 1234'; sleep 30"
    started = await bench.call("execute_command", command=command, background=True)
    run = str(started.payload["run_id"])
    result = await bench.call("wait_until", run_id=run, pattern=r"Listening on \d+")
    assert (result.payload["met"], f"run {run} printed 'Listening on 1234'" in result.llm_echo) == (True, True)


async def test_words_that_never_come_are_told_when_the_command_ends(bench: Bench) -> None:
    started = await bench.call("execute_command", command="echo something")
    run = str(started.payload["run_id"])
    result = await bench.call("wait_until", run_id=run, pattern="else")
    assert f"run {run} has ended without printing that" in result.llm_echo


async def test_a_pattern_that_would_explode_elsewhere_is_harmless(bench: Bench) -> None:
    started = await bench.call("execute_command", command=f"echo {'a' * 5_000}!")
    result = await bench.call("wait_until", run_id=started.payload["run_id"], pattern="(a+)+$")
    assert "has ended without printing that" in result.llm_echo


async def test_a_file_ends_the_waiting(bench: Bench) -> None:
    asyncio.get_running_loop().call_later(0.3, (bench.root / "done.txt").touch)
    result = await bench.call("wait_until", file="done.txt")
    assert (result.payload["met"], "'done.txt' is there" in result.llm_echo) == (True, True)


async def test_a_port_nobody_opens_is_given_up(bench: Bench) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        result = await bench.call("wait_until", port=port, timeout_seconds=0.3)
    assert (result.ok, result.payload["met"]) == (True, False)
    assert result.llm_echo.startswith("Not yet: waited ")


async def test_stopping_the_turn_ends_the_waiting(bench: Bench) -> None:
    asyncio.get_running_loop().call_later(0.1, bench.cancelled.set)
    result = await bench.call("wait_until", seconds=3000)
    assert (result.llm_echo, result.payload["interrupted"]) == ("wait_until: The waiting was stopped.", True)


@pytest.mark.parametrize("call", ['<wait_until seconds="3000"/>', '<wait seconds="30"/>'])
async def test_what_the_person_says_ends_the_waiting_and_the_turn_goes_on(tmp_path: Path, call: str) -> None:
    workspace, clock = Workspace(tmp_path), SystemClock()
    waits = Waits(workspace, Processes(tmp_path / "runs", clock), clock)
    tools = Registry(SAY, WAITS, WATCHING)
    stage = Stage(
        tmp_path,
        call,
        "I go on.",
        registry=tools,
        executor=Executor(tools, [Speech(), waits, Watching(open_desktop(dry_run=True), ModelSight())], clock),
    )
    turn = asyncio.ensure_future(stage.send("Wait an hour."))
    asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(stage.session.send("That is enough.")))
    ended = await asyncio.wait_for(turn, 20)
    assert ended.text == "I go on."
    assert "the person has said something, which you read next." in stage.asked(1)
    assert "That is enough." in stage.asked(1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "Give exactly one of seconds, run_id, port, file; there were 0."),
        ({"seconds": 1, "port": 80}, "Give exactly one of seconds, run_id, port, file; there were 2."),
        ({"port": 80, "pattern": "x"}, "pattern goes with run_id"),
        ({"run_id": "r0"}, "run_id: there is no run 'r0'"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": 1e9}, "seconds"),
        ({"port": 0}, "port"),
        ({"file": ""}, "file is empty"),
        ({"file": "a\0"}, "file contains a NUL character"),
    ],
)
async def test_what_cannot_be_waited_for_names_the_argument(
    bench: Bench, arguments: dict[str, float | str], words: str
) -> None:
    result = await bench.call("wait_until", **arguments)
    assert (result.ok, words in result.llm_echo) == (False, True)


async def test_a_broken_pattern_names_the_argument(bench: Bench) -> None:
    started = await bench.call("execute_command", command="true")
    result = await bench.call("wait_until", run_id=started.payload["run_id"], pattern="(")
    assert "pattern: this is no pattern in Rust's syntax" in result.llm_echo
