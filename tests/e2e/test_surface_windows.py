"""The small window engine on a real desktop: own process, own windows, and a crash costs one of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.base import paths
from app.features.apps.chromium import CONTROL
from app.features.apps.client import SurfaceEngine
from app.features.apps.settings import SURFACE_ENGINE
from app.features.apps.store import APP, SurfaceStore, Written, standard_folder
from app.features.apps.webengine import is_installed
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from app.settings import store as settings_store
from tests.e2e.conftest import Screen
from tests.support.waiting import eventually, until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_installed(), reason="QtWebEngine is an extra, and it is not installed"),
]
_PAGE = '<!doctype html><html lang="en"><head><title>x</title></head><body><h1>%s</h1>%s</body></html>'
_APPS = {"One": "", "Two": "<script>setTimeout(() => { for (;;) {} }, 300)</script>"}


class Shown:
    """Two small apps on a private desktop; Two loops for ever."""

    def __init__(self, screen: Screen, folder: Path) -> None:
        self.screen = screen
        store = SurfaceStore(standard_folder(), Checkpoints(folder / "checkpoints"))
        origin = ChangeOrigin("t", "create_app")
        self.ids = [
            store.create(APP, name, Written(_PAGE % (name, script), "", None), origin).id
            for name, script in _APPS.items()
        ]
        self.engine = SurfaceEngine(store.folder, environment=screen.environment)

    def titles(self) -> set[str]:
        command = ["xdotool", "search", "--onlyvisible", "--name", ".", "getwindowname", "%@"]
        found = subprocess.run(command, env=self.screen.environment, capture_output=True, text=True, check=False)
        return set(_APPS) & {title.removesuffix(" — Wisp") for title in found.stdout.splitlines()}

    def window_class(self) -> str:
        command = "xprop -id $(xdotool search --onlyvisible --name '^One —') WM_CLASS"
        return subprocess.run(
            command, shell=True, env=self.screen.environment, capture_output=True, text=True, check=True
        ).stdout.strip()


@pytest.fixture
def shown(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    own = {"HOME": str(tmp_path / "home"), "WISP_DATA_DIR": str(tmp_path / "wisp")}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    screen.environment.update(own)
    settings_store.save(SURFACE_ENGINE, "webengine")
    made = Shown(screen, tmp_path)
    yield made
    asyncio.run(made.engine.stop())
    assert eventually(lambda: not made.engine.is_running)


def _worker() -> psutil.Process:
    return psutil.Process(json.loads((paths.runtime_dir() / CONTROL).read_text(encoding="utf-8"))["pid"])


def _busiest() -> psutil.Process:
    """The process of the page that loops for ever."""
    return max(_worker().children(recursive=True), key=_time_s)


def _time_s(process: psutil.Process) -> float:
    try:
        return float(process.cpu_times().user)
    except psutil.Error:
        return 0.0


async def test_a_page_that_crashes_costs_itself_and_starts_again_in_its_window(shown: Shown) -> None:
    for one in shown.ids:
        await shown.engine.open(one)
    await until(lambda: shown.titles() == {"One", "Two"})
    await until(lambda: _time_s(_busiest()) > 2)
    crashed = _busiest()
    crashed.send_signal(signal.SIGSEGV)
    await until(lambda: not crashed.is_running())
    assert shown.titles() == {"One", "Two"}
    while _time_s(_busiest()) < 2:
        await shown.engine.open(shown.ids[1])
    assert shown.titles() == {"One", "Two"}


async def test_the_windows_end_with_the_worker_that_answers_for_them(shown: Shown) -> None:
    await shown.engine.open(shown.ids[0])
    await until(lambda: shown.titles() == {"One"})
    worker = _worker()
    below = worker.children(recursive=True)
    os.kill(worker.pid, signal.SIGKILL)
    await until(lambda: not shown.titles() and not any(one.is_running() for one in below))
    assert "is open." in await shown.engine.open(shown.ids[0]), "the next one starts anew"


async def test_a_window_has_the_class_by_which_menus_and_the_pin_find_it_and_leaves_nothing_on_the_disk(
    shown: Shown, tmp_path: Path
) -> None:
    await shown.engine.open(shown.ids[0])
    await until(lambda: shown.titles() == {"One"})
    assert shown.window_class() == f'WM_CLASS(STRING) = "{shown.ids[0]}.localhost", "wisp-surface"'
    assert [path for path in (tmp_path / "home").rglob("*") if "WebEngine" in str(path)] == []
