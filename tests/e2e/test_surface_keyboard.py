"""A small app that Wisp opens leaves the keyboard with the program that the person works in; one of theirs gets it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.features.apps.client import SurfaceEngine
from app.features.apps.store import APP, SurfaceStore, Written, standard_folder
from app.features.apps.webengine import installed_engines
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from tests.e2e.conftest import Screen
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(not installed_engines(), reason="nothing on this machine shows small apps")
_PAGE = '<!doctype html><html lang="en"><head><title>Meals</title></head><body><h1>Meals</h1></body></html>'


class Desk:
    """A private desktop on which the person writes a letter, and an app."""

    def __init__(self, screen: Screen, folder: Path) -> None:
        self._screen = screen
        self.letter = folder / "letter"
        command = ["xterm", "-title", "letter", "-e", "sh", "-c", f"stty -icanon; exec cat > '{self.letter}'"]
        self.program = subprocess.Popen(command, env=screen.environment, stderr=subprocess.DEVNULL)
        store = SurfaceStore(standard_folder(), Checkpoints(folder / "checkpoints"))
        self.app = store.create(APP, "Meals", Written(_PAGE, "", None), ChangeOrigin("t", "create_app"))
        self.engine = SurfaceEngine(store.folder, environment=screen.environment)

    def front(self) -> str:
        return self._asked("getactivewindow", "getwindowname")

    def top(self) -> str:
        """The window that covers the others, whoever has the keyboard."""
        stacked = subprocess.run(
            ["xprop", "-root", "_NET_CLIENT_LIST_STACKING"],
            env=self._screen.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return self._asked("getwindowname", stacked.stdout.split()[-1])

    def types(self, text: str) -> None:
        self._asked("type", text)

    def _asked(self, *words: str) -> str:
        command = ["xdotool", *words]
        done = subprocess.run(command, env=self._screen.environment, capture_output=True, text=True, check=False)
        return done.stdout.strip()


@pytest.fixture
def desk(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    screen.environment["WISP_DATA_DIR"] = str(tmp_path / "wisp")
    made = Desk(screen, tmp_path)
    try:
        assert eventually(lambda: made.letter.exists() and made.front() == "letter")
        yield made
        asyncio.run(made.engine.stop())
        assert eventually(lambda: not made.engine.is_running)
    finally:
        made.program.terminate()
        made.program.wait()


def test_an_app_that_wisp_opens_leaves_the_keyboard_and_one_that_the_person_opens_gets_it(desk: Desk) -> None:
    asyncio.run(desk.engine.open(desk.app.id))
    assert eventually(lambda: (desk.top(), desk.front()) == ("Meals — Wisp", "letter"))
    desk.types("one")
    assert eventually(lambda: desk.letter.read_text() == "one")
    asyncio.run(desk.engine.open(desk.app.id, takes_keyboard=True))
    assert eventually(lambda: desk.front() == "Meals — Wisp")
