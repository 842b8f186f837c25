"""The person comes first: the stop key, a hand on the mouse, one agent at a time. On a real X server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from Xlib import XK

from app.base import paths
from app.base.errors import Cancelled, ToolFailed
from scripts.device import PersonsDevices
from tests.e2e.conftest import Screen
from tests.support.desktop_tools import Tools
from tests.support.fixture_window import FixtureWindow
from tests.support.waiting import until


@contextmanager
def _another_process() -> Iterator[int]:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yield other.pid
    finally:
        other.communicate(b"\n", timeout=5)


def _press_elsewhere(screen: Screen, keys: str) -> None:
    subprocess.run(["xdotool", "key", keys], env=screen.environment, check=True)


async def test_the_stop_key_ends_long_typing_and_leaves_no_key_down(tools: Tools, screen: Screen) -> None:
    stopped: list[str] = []
    tools.desktop.on_stop(lambda: stopped.append("told"))
    with FixtureWindow("text", environment=screen.environment) as window:
        typing = asyncio.create_task(tools("computer_type", text="AAAAAAAAA\n" * 5_000))
        await asyncio.to_thread(window.wait, lambda event: event["event"] == "text")
        await asyncio.to_thread(_press_elsewhere, screen, "ctrl+alt+Escape")
        with pytest.raises(Cancelled):
            await typing
        assert stopped == ["told"]
        await asyncio.to_thread(window.quiet)
        arrived = max(len(event["text"]) for event in window.told if event["event"] == "text")
        assert 0 < arrived < 50_000
    person = PersonsDevices(screen.environment)
    assert not any(person.display.query_keymap())
    person.close()


@pytest.mark.long
def test_the_stop_key_works_while_every_processor_and_the_event_loop_are_busy() -> None:
    bench = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "stop.py"
    done = subprocess.run(
        [sys.executable, str(bench), "6", "--busy"], capture_output=True, text=True, timeout=110, check=False
    )
    told = "keys or buttons left held: 0; trials in which nothing was under way: 0"
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [told]), done.stdout + done.stderr


async def test_the_stop_key_reaches_no_program(tools: Tools, screen: Screen) -> None:
    with FixtureWindow("canvas", environment=screen.environment) as window:
        await asyncio.to_thread(_press_elsewhere, screen, "ctrl+alt+Escape")
        await until(lambda: tools.desktop.is_stopped)
        assert not [event for event in window.quiet() if event.get("key") == "Key_Escape"]


async def test_a_hand_on_the_mouse_makes_us_wait_until_it_is_taken_off(tools: Tools, screen: Screen) -> None:
    driving: list[bool] = []
    tools.desktop.on_driving(driving.append)
    person = PersonsDevices(screen.environment)
    try:
        with FixtureWindow("canvas", environment=screen.environment) as window:
            await tools("computer_click", x=300, y=250, space="screen")
            window.forget()
            person.click()
            window.wait(lambda event: event["event"] == "release")
            await tools("computer_click", x=400, y=250, space="screen")
            assert driving == [True, False]
    finally:
        person.close()


@pytest.mark.long
async def test_what_we_send_ourselves_is_not_taken_for_the_person(tools: Tools, screen: Screen) -> None:
    driving: list[bool] = []
    tools.desktop.on_driving(driving.append)
    with FixtureWindow("canvas", environment=screen.environment):
        for x in (300, 340, 380):
            await tools("computer_click", x=x, y=250, space="screen")
        await tools("computer_key", keys="a b c")
    assert driving == []


@pytest.mark.long
async def test_the_person_may_say_go_on(tools: Tools, screen: Screen) -> None:
    driving: list[bool] = []
    tools.desktop.on_driving(driving.append)
    person = PersonsDevices(screen.environment)
    try:
        with FixtureWindow("canvas", environment=screen.environment) as window:
            await tools("computer_click", x=300, y=250, space="screen")
            person.tap(XK.XK_a)
            window.wait(lambda event: event["event"] == "key")
            next_click = asyncio.create_task(tools("computer_click", x=400, y=250, space="screen"))
            await until(lambda: driving == [True])
            tools.desktop.resume()
            await next_click
    finally:
        person.close()


async def test_a_second_agent_on_the_same_desktop_is_refused(tools: Tools, screen: Screen) -> None:
    (lock,) = [paths.state_dir() / f"hands{tools.desktop.name}.lock".replace(":", "_")]
    with _another_process() as pid:
        lock.write_text(json.dumps({"pid": pid, "at": time.time()}), encoding="utf-8")
        with pytest.raises(ToolFailed, match=f"Another Wisp .process {pid}. .*within the last minute. Say it there"):
            await tools("computer_move", x=5, y=5, space="screen")
    await tools("computer_move", x=5, y=5, space="screen")
    assert json.loads(lock.read_text(encoding="utf-8"))["pid"] == os.getpid()
