"""`wisp do --apart`: a task on a desktop of its own, while the person has theirs."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.desktop.apart import those_in
from tests.support.compositors import composited, is_installed, programs_with
from tests.support.fixture_window import FixtureWindow
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(400)

_LIMIT_S = 150.0
_COPIED = b"what the person copied"
_TEXT = "Gr\u00fc\u00dfe 你好 😀"


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The session of a person, on another compositor."""
    if not is_installed("sway"):
        pytest.skip("sway is not installed; scripts/setup wayland brings it where the system has it")
    with composited("sway", tmp_path_factory.mktemp("person")) as environment:
        yield environment


@pytest.fixture
def folder() -> Iterator[Path]:
    """The folder in which desktops apart are: near the root, since the paths of sockets are short."""
    with tempfile.TemporaryDirectory(prefix="apart-") as name:
        yield Path(name)


@pytest.fixture(params=["x11", "sway", pytest.param("gnome", marks=pytest.mark.long)])
def beside(request: pytest.FixtureRequest, person: dict[str, str], folder: Path) -> dict[str, str]:
    """The environment of a person on whose machine one kind of desktop apart can run."""
    if request.param != "x11" and not is_installed(request.param):
        pytest.skip(f"{request.param} is not there; scripts/setup brings it")
    return {
        **person,
        "PATH": programs_with(folder / "bin", request.param),
        "TMPDIR": str(folder),
        "WISP_LANGUAGE": "en",
    }


def _wisp(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "app", "do", *arguments]


def _desktops(folder: Path) -> list[Path]:
    return list(folder.glob("wisp-desktop-*"))


def test_a_task_leaves_the_persons_desktop_alone(beside: dict[str, str], person: dict[str, str], folder: Path) -> None:
    def output(*command: str) -> bytes:
        return subprocess.run(command, env=person, capture_output=True, timeout=30, check=True).stdout

    def state() -> tuple[bytes, bytes, bytes]:
        """The screen with the pointer, the windows with the focus, and the clipboard."""
        return output("grim", "-c", "-"), output("swaymsg", "-t", "get_tree"), output("wl-paste", "--no-newline")

    with FixtureWindow("canvas", environment={**person, "QT_QPA_PLATFORM": "wayland"}) as window:
        subprocess.run(["wl-copy"], env=person, input=_COPIED, timeout=30, check=True)
        assert eventually(lambda: state()[2] == _COPIED)
        window.quiet()
        window.forget()
        before = state()
        for task, outcome in (("open the calculator and type 12*7=", "84"), (f"open mousepad and type {_TEXT}", _TEXT)):
            done = subprocess.run(
                _wisp("--apart", task), env=beside, capture_output=True, text=True, timeout=_LIMIT_S, check=False
            )
            assert (done.returncode, outcome in done.stdout) == (0, True), done.stdout + done.stderr
        assert "a desktop of its own" in done.stderr
        assert state() == before
        assert window.quiet() == []
    pictures = sorted(path.stem for path in Path(done.stderr.split()[-1]).iterdir())
    assert pictures == ["first", "last", "transcript"]
    assert _desktops(folder) == []


def test_nothing_is_left_of_a_task_that_is_killed(beside: dict[str, str], folder: Path) -> None:
    with subprocess.Popen(
        _wisp("--apart", "--json", "open mousepad and type hello and wait 60 seconds"), env=beside
    ) as task:
        assert eventually(lambda: any(those_in(desktop / "run") for desktop in _desktops(folder)), limit_s=30.0)
        sockets = _desktops(folder)[0] / "run"

        def has_opened() -> bool:
            return any(
                b"mousepad" in Path(f"/proc/{one}/cmdline").read_bytes() for one in those_in(sockets) if _is_there(one)
            )

        assert eventually(has_opened, limit_s=_LIMIT_S)
        task.send_signal(signal.SIGKILL)
    assert eventually(lambda: not those_in(sockets) and not _desktops(folder), limit_s=10.0)


def _is_there(process: int) -> bool:
    return Path(f"/proc/{process}/cmdline").exists()
