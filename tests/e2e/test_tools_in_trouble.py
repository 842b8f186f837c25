"""The tools, when the accessibility bus hangs or dies, a program is frozen, or nobody manages windows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from app.base.errors import ToolFailed
from app.desktop.backends import Window
from app.desktop.choose import open_desktop
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.tools.registry import TurnContext, admitted
from app.tools.screen import SCREEN, ScreenReading
from tests.support import observer
from tests.support.desktop_tools import Tools
from tests.support.repainting import SIDE_PX, repainting

pytestmark = pytest.mark.timeout(120)

LOST = "the accessibility bus does not answer"
TERMINAL = ("xterm", "-fa", "monospace", "-fs", "14", "-T", "Ops", "-e", "printf '\\n\\n   Roll back\\n'; sleep 90")


LATE_MANAGER = """#!/bin/sh
xprop -root -f _NET_SUPPORTING_WM_CHECK 32x -set _NET_SUPPORTING_WM_CHECK 0x1
sleep 1
touch "$0.started"
exec {openbox} "$@"
"""


class Room:
    """A desktop of its own, with all tools."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.desk: Desktop = open_desktop(environment=environment)
        self._tools = Tools(self.desk)
        self._reading = ScreenReading(self.desk)

    async def __call__(self, tool: str, **arguments: JsonValue) -> ToolResult:
        spec = next((spec for spec in SCREEN.tools if spec.name == tool), None)
        if spec is None:
            return await self._tools(tool, arguments)
        result: ToolResult = await spec.execute(self._reading, ToolCall("1", tool, arguments), TurnContext(admitted))
        return result

    async def window(self, title: str) -> Window:
        async def find(controller: DesktopController) -> Window:
            return controller.find_window(title)

        return await self.desk.run(find)

    def bus(self) -> psutil.Process:
        """The accessibility bus of this desktop."""
        launchers = [child for child in psutil.Process().children() if child.name().startswith("at-spi-bus")]
        folder = self.environment["XDG_RUNTIME_DIR"]
        (launcher,) = [child for child in launchers if child.environ()["XDG_RUNTIME_DIR"] == folder]
        (bus,) = launcher.children()
        return bus


@pytest.fixture
def room() -> Iterator[Room]:
    with VirtualDesktop(1000, 700) as desktop:
        room = Room(desktop.environment)
        yield room
        room.desk.close()


@pytest.fixture
def unmanaged() -> Iterator[Room]:
    with VirtualDesktop(1000, 700, window_manager=False) as desktop:
        room = Room(desktop.environment)
        yield room
        room.desk.close()


@contextmanager
def frozen(process: psutil.Process) -> Iterator[None]:
    process.suspend()
    try:
        yield
    finally:
        process.resume()


@pytest.mark.long
async def test_with_a_bus_that_hangs_the_writing_is_read_found_and_clicked(room: Room) -> None:
    with observer.started(*TERMINAL, title="Ops", environment=room.environment):
        with frozen(room.bus()):
            read = await room("read_screen")
            assert 'writing "Roll back"' in read.llm_echo
            assert LOST in read.llm_echo
            assert (await room("locate_screen_element", target="Roll back")).payload["how"] == "ocr"
            assert (await room("computer_click", target="Roll back")).payload["route"] == "ocr"
            missing = await room("computer_click", target="Trash")
            assert (missing.ok, len(missing.llm_media)) == (False, 1)
            assert LOST in missing.llm_echo
            assert (await room("screen_capture")).ok
            assert (await room("wait_for", text="Roll back")).ok
            assert (await room("computer_type", text="ls")).ok
        assert LOST not in (await room("read_screen")).llm_echo


@pytest.mark.long
async def test_after_a_bus_died_everything_but_its_refs_goes_on(room: Room) -> None:
    with observer.started("galculator", app="galculator", environment=room.environment):
        found = await room("locate_screen_element", target="7")
        os.kill(room.bus().pid, signal.SIGKILL)
        with pytest.raises(ToolFailed):
            await room("press", ref=found.payload["ref"])
        clicked = await room("computer_click", x=found.payload["x"], y=found.payload["y"], space="screen")
        assert clicked.payload["verdict"] == "changed"
        assert (await room("screen_capture")).ok
        assert (await room("read_screen")).ok


@pytest.mark.long
async def test_without_anything_to_read_a_bus_that_hangs_is_an_error(room: Room) -> None:
    with frozen(room.bus()):
        with pytest.raises(ToolFailed, match=LOST):
            await room("read_screen")
        with pytest.raises(ToolFailed, match=LOST):
            await room("wait_for", element="Save", limit_s=1)
        assert (await room("screen_capture")).ok
        assert (await room("computer_click", x=5, y=690)).ok
    assert (await room("read_screen")).ok


@pytest.mark.long
async def test_a_frozen_program_is_named_and_holds_nobody_up(room: Room) -> None:
    with observer.started("galculator", app="galculator", environment=room.environment) as program:
        with frozen(psutil.Process(program.pid)):
            read = await room("read_screen")
            assert '"galculator" does not answer' in read.llm_echo
            clicked = await room("computer_click", x=200, y=200, space="screen")
            assert clicked.payload["proof"] in ("unverifiable", "suspected no-op")
            middle = (await room.window("galculator")).area.center
            clicked = await room("computer_click", x=middle.x, y=middle.y, space="screen")
            assert "'galculator' has not answered yet: it is busy or frozen." in clicked.llm_echo
        assert '"galculator" does not answer' not in (await room("read_screen")).llm_echo


@pytest.mark.long
def test_a_desktop_is_up_only_when_its_window_manager_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = tmp_path / "openbox"
    late.write_text(LATE_MANAGER.format(openbox=shutil.which("openbox")), encoding="utf-8")
    late.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with VirtualDesktop(300, 200):
        assert (tmp_path / "openbox.started").exists()


@pytest.mark.long
async def test_without_a_window_manager_windows_are_seen_read_and_clicked(unmanaged: Room) -> None:
    with repainting("--after", "20", environment=unmanaged.environment):
        assert (await unmanaged.window("Repainting")).area.width == SIDE_PX
        assert (await unmanaged("focus_window", title="Repainting")).ok
        assert (await unmanaged("screen_capture", window="Repainting")).payload["width"] == 300
        clicked = await unmanaged("computer_click", x=150, y=150)
        assert clicked.payload["verdict"] == "changed"
        with pytest.raises(ToolFailed, match="No window manager is running"):
            await unmanaged("minimise_window", title="Repainting")


def test_the_command_answers_with_one_line_where_the_bus_hangs(room: Room) -> None:
    with frozen(room.bus()):
        done = subprocess.run(
            [sys.executable, "-m", "app", "tool", "<read_screen/>"],
            env=dict(room.environment),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert LOST in done.stdout
    assert len(done.stdout.splitlines()) == 1
