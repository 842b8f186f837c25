"""The real command on a fresh private desktop of its own for every test: programs left open end with it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.desktop.choose import open_desktop
from app.desktop.x11.virtual import VirtualDesktop
from tests.support.desktop_tools import Tools

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 90
_WINDOW_LIMIT_S = 60.0


@dataclass(frozen=True)
class Screen:
    """A private desktop with a home folder of its own."""

    environment: dict[str, str]
    home: Path

    def wisp(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            cwd=ROOT,
            env=self.environment | extra,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """Start the command with pipes at all three ends."""
        return subprocess.Popen(
            [sys.executable, "-m", "app", *arguments],
            cwd=ROOT,
            env=self.environment | extra,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with VirtualDesktop(1280, 800) as virtual:
        yield Screen(virtual.environment, home)


@pytest.fixture
def bare_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command where there is no display at all."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "app", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    return run


@pytest.fixture
async def tools(screen: Screen) -> AsyncIterator[Tools]:
    """The desktop's tools in this process, on the private desktop."""
    opened = open_desktop(environment=screen.environment)
    try:
        yield Tools(opened)
    finally:
        opened.close()


class Model:
    """Plays its replies without anybody there; what came of them is looked at from outside."""

    def __init__(self, screen: Screen, folder: Path) -> None:
        self.screen = screen
        self.folder = folder
        self._programs: list[subprocess.Popen[bytes]] = []

    def starts(self, *command: str, title: str, into: Path | None = None) -> None:
        """A program of the person, its window up. `into` takes what it writes."""
        with into.open("w") if into else nullcontext() as output:
            started = subprocess.Popen(command, env=self.screen.environment, cwd=self.folder, stdout=output)
        self._programs.append(started)
        limit = time.monotonic() + _WINDOW_LIMIT_S
        while title not in self.titles():
            assert time.monotonic() < limit, f"{command[0]} did not come up: {self.titles()}"
            time.sleep(0.1)

    def titles(self) -> str:
        listed = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", ".", "getwindowname", "%@"],
            env=self.screen.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return listed.stdout

    def says(self, *replies: str, mode: str = "ask", task: str = "go") -> str:
        """One task with these replies. What the task names is granted by it, nothing else in ask mode."""
        script = self.folder / "script.toml"
        end = "<attempt_completion><result>ok</result></attempt_completion>"
        script.write_text("".join(f"[[replies]]\ntext = '''{reply}'''\n" for reply in (*replies, end)))
        done = self.screen.wisp("do", task, "--provider", "scripted", WISP_SCRIPT=str(script), WISP_MODE=mode)
        return done.stdout + done.stderr

    def ends(self) -> None:
        for program in self._programs:
            program.terminate()
            program.wait(10)


@pytest.fixture
def model(screen: Screen, tmp_path: Path) -> Iterator[Model]:
    made = Model(screen, tmp_path)
    yield made
    made.ends()
