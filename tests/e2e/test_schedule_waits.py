"""A scheduled task that uses the screen waits while the screen is locked, missing or in use, and says so at its end."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_method

from app.base import paths
from app.desktop.choose import why_occupied
from tests.e2e.conftest import Screen
from tests.support.sampling import first_of
from tests.support.waiting import eventually

IN_USE = "somebody typed or moved the mouse"


def _why(screen: Screen, **extra: str) -> str:
    return asyncio.run(why_occupied(screen.environment | extra))


@contextmanager
def _locked(screen: Screen) -> Iterator[None]:
    locker = subprocess.Popen(["i3lock", "--nofork"], env=screen.environment, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        locker.kill()
        locker.wait()


def _made_due(ago_s: float = 1.0) -> None:
    """Let the schedule be due, as if this much time had passed since then."""
    with closing(sqlite3.connect(paths.data_dir() / "agenda.db")) as db, db:
        db.execute("update jobs set next = ?", (time.time() - ago_s,))


@pytest.mark.long
def test_a_task_for_the_screen_waits_for_lock_and_hands_and_then_runs_once(screen: Screen) -> None:
    end = time.strftime("%H:%M", time.localtime(time.time() + 3_600 * 5))
    said = screen.wisp("schedule", "add", "daily 9:00", "list the windows", "--until", end, "--yes").stdout
    assert f"it waits for the screen until {end}" in said
    _made_due()
    with _locked(screen):
        assert eventually(lambda: _why(screen) == "the screen was locked (i3lock)")
        assert screen.wisp("run-due").stdout == ""
        assert f"waits until {end} while the screen was locked (i3lock)" in screen.wisp("schedule", "list").stdout
    assert eventually(lambda: _why(screen) != "the screen was locked (i3lock)")
    subprocess.run(["xdotool", "key", "shift"], env=screen.environment, check=True)
    assert _why(screen) == IN_USE
    assert (screen.wisp("run-due").stdout, IN_USE in screen.wisp("schedule", "list").stdout) == ("", True)
    assert eventually(lambda: _why(screen) == ""), "nobody has touched anything since"
    assert screen.wisp("run-due").stdout.startswith("list the windows: done")
    assert screen.wisp("run-due").stdout == ""


@pytest.mark.parametrize("display", first_of(["", ":987"]))
def test_after_its_hour_the_inbox_says_what_it_waited_for(screen: Screen, display: str) -> None:
    now = time.localtime()
    screen.wisp(
        "schedule", "add", "daily 9:00", "list the windows", "--until", f"{now.tm_hour}:{now.tm_min:02}", "--yes"
    )
    _made_due()
    gone = {"DISPLAY": display, "WAYLAND_DISPLAY": ""}
    first = screen.wisp("run-due", **gone).stdout
    _made_due(3_600.0)
    told = first + screen.wisp("run-due", **gone).stdout
    assert "list the windows: not begun\n" in told
    assert ("but there was no display. It was not begun: list the windows" in told, told.count("not begun\n")) == (
        True,
        1,
    )
    assert "list the windows: not begun" in screen.wisp("schedule", "inbox").stdout


class _Saver(ServiceInterface):
    """What a desktop that locks its screen itself answers on the session bus."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.is_active = True

    @dbus_method()
    def GetActive(self) -> "b":  # type: ignore[name-defined]  # noqa: F821, UP037 - D-Bus reads it
        return self.is_active


@pytest.mark.long
@pytest.mark.parametrize("name", ["org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver"])
def test_a_desktop_that_locks_itself_is_asked_on_the_session_bus(screen: Screen, name: str) -> None:
    address = screen.environment["DBUS_SESSION_BUS_ADDRESS"]

    async def asked() -> tuple[str, str]:
        bus, saver = await MessageBus(bus_address=address).connect(), _Saver(name)
        bus.export("/" + name.replace(".", "/"), saver)
        await bus.request_name(name)
        try:
            locked = await why_occupied(screen.environment)
            saver.is_active = False
            return locked, await why_occupied(screen.environment)
        finally:
            bus.disconnect()

    locked, free = asyncio.run(asked())
    assert (locked, free in ("", IN_USE)) == ("the screen was locked", True)


@pytest.mark.long
def test_a_session_that_logind_calls_locked_is_locked(screen: Screen, tmp_path: Path) -> None:
    program = tmp_path / "loginctl"
    program.write_text("#!/bin/sh\n[ \"$1 $2 $3 $4\" = 'show-session 7 --property=LockedHint --value' ] && echo yes\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{screen.environment['PATH']}"
    assert _why(screen, PATH=path, XDG_SESSION_ID="7") == "the screen was locked"
    assert _why(screen, PATH=path, XDG_SESSION_ID="8") in ("", IN_USE)
