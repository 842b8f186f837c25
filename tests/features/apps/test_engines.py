"""Which engine shows a surface, where one does not start, and what is told then."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from app.base.errors import ToolFailed
from app.features.apps import engine, webengine
from app.features.apps.chromium import Chromium, last_words
from app.features.apps.store import APP, SurfaceStore, Written
from app.features.apps.webengine import WebEngine, why_unusable
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from tests.support.waiting import until

_LACKS = "ImportError: libQt6Quick.so.6: cannot open shared object file"
_PAGE = "<!doctype html><html><body>Hello</body></html>"


class _Browser(Chromium):
    """A browser that loads its page and draws nothing."""

    async def show(self, url: str, size: tuple[int, int]) -> None:
        self.ended.clear()
        _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET {url}events HTTP/1.1\r\nX-Wisp: 1\r\n\r\n".encode())

    async def end(self) -> None:
        self.ended.set()


@pytest.fixture(autouse=True)
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make QtWebEngine end as it does where one of its libraries is missing."""
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.exit('{_LACKS}')"]
    monkeypatch.setattr(webengine, "worker_command", lambda _: command)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("WAYLAND_DISPLAY", "none")


async def _opened(folder: Path, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> str:
    """Open a surface where these engines are installed. Returns what came of it."""
    monkeypatch.setattr(webengine, "installed_engines", lambda: names)
    monkeypatch.setattr(webengine, "Chromium", _Browser)
    store = SurfaceStore(folder / "surfaces", Checkpoints(folder / "checkpoints"))
    surface = store.create(APP, "Hello", Written(_PAGE, "", None), ChangeOrigin("t", "create_app"))
    worker = engine.SurfaceWorker(store, folder / "profile")
    running = asyncio.ensure_future(worker.run(folder / "control.json"))
    try:
        await until((folder / "control.json").exists)
        return str((await worker.open(surface.id))["window"])
    except ToolFailed as error:
        return str(error)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_where_one_engine_does_not_start_the_next_one_shows_the_surface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await _opened(tmp_path, ("webengine", "chromium"), monkeypatch) == "opened"


async def test_where_no_engine_starts_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = await _opened(tmp_path, ("webengine",), monkeypatch)
    assert (WebEngine.name in told, _LACKS in told) == (True, True), told


def test_an_engine_that_is_there_and_does_not_load_is_unusable() -> None:
    assert why_unusable() == _LACKS


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("", ""),
        ("noise\n\n", "noise"),
        (f"Traceback (most recent call last):\n  File x\n{_LACKS}.\nnoise", _LACKS),
        (
            "[7:7:1128/083917.8:ERROR:dbus/bus.cc:408] No bus.\n[7:7:1128/083917.9:FATAL:zygote_host.cc:127] No usable "
            "sandbox!\n#0 0x7f\n[8:8:0100/0.9:ERROR:zygote_linux.cc:662] Broken pipe (32)\n",
            "No usable sandbox!",
        ),
    ],
)
def test_the_last_words_are_the_line_that_names_the_error(said: str, last: str) -> None:
    assert last_words(said) == last
