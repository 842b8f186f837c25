"""Broken and hostile clients of `wisp mcp serve`: each gets an answer, the next call works, and stdout stays clean."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from Xlib.display import Display

from app.desktop.x11.virtual import VirtualDesktop
from tests.support.fixture_window import FixtureWindow
from tests.support.mcp_client import LineClient
from tests.support.waiting import eventually

_ROOT = Path(__file__).resolve().parents[3]
_DATA = _ROOT / "tests" / "data" / "serve" / "hostile_lines.toml"
_CASES = tomllib.loads(_DATA.read_text(encoding="utf-8"))["case"]
_PRIVATE = ("--desktop", "private")
_MADE = {
    "@long": lambda: "a" * 1_000_000,
    "@huge": lambda: "a" * 20_000_000,
    "@deep": lambda: "[" * 5_000 + "]" * 5_000,
    "@many": lambda: ", ".join(f'"n{n}": {n}' for n in range(100_000)),
    "@keys": lambda: "b " * 5_000,
    "@points": lambda: "1,1 " * 100_000,
    "@digits": lambda: "9" * 4_200,
    "@steps": lambda: ", ".join(['{"do": "wait", "seconds": 60}'] * 1_000),
}
_LONGEST_CHARS = 100_000
"""What was sent must not come back whole; a picture may be in it."""
_CALLS = 200
_MANY_CALLS = 1_000
_MIB = 2**20
_GROWN_MIB = 8
_HELD_MS = 60_000
_DYING = f"""
import os, sys, time
from tests.support.mcp_client import LineClient
client = LineClient(os.environ, *sys.argv[1:])
client.initialize()
client.start("computer_key", keys="ctrl+q", hold_ms={_HELD_MS})
print(client.process.pid, flush=True)
time.sleep({_HELD_MS})
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LineClient]:
    with LineClient({**os.environ, "WISP_DATA_DIR": str(tmp_path_factory.mktemp("served"))}, *_PRIVATE) as client:
        client.initialize()
        yield client


def _still_serves(client: LineClient) -> None:
    assert not client.call("list_windows")["isError"]
    assert client.strays == []


def _line_of(case: dict[str, Any], number: int) -> bytes:
    if "bytes" in case:
        return base64.b64decode(case["bytes"]) + b"\n"
    call = '{"jsonrpc": "2.0", "id": @id, "method": "tools/call", "params": {"name":'
    line = case["line"].replace("@call", call).replace("@id", str(number))
    for mark, make in _MADE.items():
        if mark in line:
            line = line.replace(mark, make())
    return f"{line}\n".encode()


def _kind(answer: dict[str, Any]) -> str:
    if "error" in answer:
        assert answer["error"]["message"]
        return "error"
    result = answer["result"]
    if not result.get("isError"):
        return "done"
    assert result["content"][0]["text"].strip()
    return "refused"


@pytest.mark.parametrize("case", _CASES, ids=[case["id"] for case in _CASES])
def test_a_hostile_line_is_answered_and_the_next_call_works(client: LineClient, case: dict[str, Any]) -> None:
    number, before = 1 + _CASES.index(case), len(client.messages)
    client.write(_line_of(case, number))
    if case["answer"] == "nothing":
        _still_serves(client)
        assert len(client.messages) == before + 1
        return
    answer = client.answer(number) if "to" not in case else client.newest(None, before)
    wanted = ("error", "refused") if case["answer"] == "either" else (case["answer"],)
    assert _kind(answer) in wanted, answer
    assert answer.get("error", {}).get("code") == case.get("code", answer.get("error", {}).get("code"))
    assert len(json.dumps(answer)) < _LONGEST_CHARS
    _still_serves(client)


def test_each_call_of_a_flood_is_answered_once(client: LineClient) -> None:
    tools = ("list_windows", "computer_click", "nonsense", "read_clipboard")
    numbers = [client.start(tools[index % len(tools)]) for index in range(_CALLS)]
    for number in numbers:
        client.answer(number)
    _still_serves(client)
    assert [len(client.answers(number)) for number in numbers] == [1] * _CALLS


def test_two_calls_with_one_id_are_both_answered_or_refused(client: LineClient) -> None:
    call = b'{"jsonrpc": "2.0", "id": 777, "method": "tools/call", "params": {"name": "list_windows"}}\n'
    client.write(call * 2)
    client.answer(777)
    _still_serves(client)
    assert len(client.answers(777)) == 2


def test_a_cancelled_call_ends_and_the_next_one_works(client: LineClient) -> None:
    number = client.start("wait_for", text="never there", limit_s=300)
    client.write(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": %d}}\n' % number)
    _still_serves(client)
    assert all("error" in answer or answer["result"]["isError"] for answer in client.answers(number))


def test_a_call_before_the_handshake_is_refused_and_the_end_of_the_input_ends_the_server() -> None:
    with LineClient(os.environ, *_PRIVATE) as early:
        assert _kind(early.answer(early.start("computer_type", text="too early"))) == "error"
        early.initialize()
        _still_serves(early)
        children = psutil.Process(early.process.pid).children(recursive=True)
        early.start("wait_for", text="never there", limit_s=300)
        early.write(b'{"jsonrpc": "2.0", "id": 1, "meth')
    assert (early.process.returncode, early.strays) == (0, [])
    assert eventually(lambda: not any(child.is_running() for child in children))


def test_a_client_that_dies_in_a_call_leaves_no_server_and_no_key_pressed(desktop: VirtualDesktop) -> None:
    with FixtureWindow("canvas"):
        display = Display(desktop.environment["DISPLAY"])
        dying = subprocess.Popen(
            [sys.executable, "-c", _DYING, "--allow", "fixture_window.py"], cwd=_ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert dying.stdout
            server = psutil.Process(int(dying.stdout.readline()))
            assert eventually(lambda: any(display.query_keymap())), "The call held no key."
            dying.kill()
            assert eventually(lambda: not server.is_running())
            assert not any(display.query_keymap())
        finally:
            dying.kill()
            dying.communicate()
            display.close()


@pytest.mark.long
def test_a_thousand_calls_leave_nothing_behind() -> None:
    with LineClient(os.environ, *_PRIVATE) as client:
        client.initialize()
        process = psutil.Process(client.process.pid)
        held = {}
        for done in range(1, _MANY_CALLS + 1):
            tool = ("list_windows", "screen_capture", "read_screen", "computer_click", "write_clipboard")[done % 5]
            client.call(tool, **({"text": str(done)} if tool == "write_clipboard" else {}))
            client.messages.clear()
            if done in (_CALLS, _MANY_CALLS):
                held[done] = (process.memory_info().rss / _MIB, process.num_fds(), process.num_threads())
    (memory, files, threads), (memory_then, files_then, threads_then) = held.values()
    # What one call leaves would be there 800 times; one or two are what the last call still has open.
    assert (memory_then - memory < _GROWN_MIB, files_then - files <= 2, threads_then - threads <= 2) == (True,) * 3, (
        held
    )
