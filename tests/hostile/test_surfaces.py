"""Hostile surfaces in the real browser: whatever their pages try, nothing arrives anywhere and nothing happens."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.desktop.x11.virtual import VirtualDesktop
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from app.services.surfaces.client import SurfaceEngine
from app.services.surfaces.store import APP, Surface, SurfaceStore, Written, standard_folder
from app.services.surfaces.webengine import is_installed
from app.settings import store as settings_store
from app.settings.catalog import SURFACE_ENGINE
from tests.support.waiting import eventually, until

ENGINES = [
    pytest.param(
        "chromium",
        marks=pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium on this machine"),
    ),
    pytest.param(
        "webengine",
        marks=pytest.mark.skipif(not is_installed(), reason="QtWebEngine is an extra, and it is not installed"),
    ),
]
CASES = tomllib.loads((Path(__file__).parent / "surfaces.toml").read_text(encoding="utf-8"))

# Each way gets a moment of its own, and what it could do it does before the next one.
TRYING = """<!doctype html><html lang="en"><head><title>Hostile</title></head><body><script>
const tried = {};
const within = (work) => Promise.race([work, new Promise((done) => setTimeout(() => done('pause'), 1500))]);
(async () => {
  const ways = { %s };
  for (const [name, way] of Object.entries(ways)) {
    try { tried[name] = (await within(way())) === true; } catch (error) { tried[name] = false; }
  }
  await new Promise((done) => setTimeout(done, 1500));
  await wisp.setState({ tried });
})();
</script></body></html>"""
LEADING = """<!doctype html><html lang="en"><head><title>Hostile</title></head><body><script>
wisp.setState({ tried: true }).then(() => { %s });
</script></body></html>"""


class Listener:
    """Counts whatever arrives on a port of loopback, and answers it so that a page would know."""

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        for work in (self._accept, self._receive):
            threading.Thread(target=work, daemon=True).start()

    def at(self, text: str) -> str:
        tcp, udp = (f"127.0.0.1:{one.getsockname()[1]}" for one in (self._tcp, self._udp))
        return text.replace("{at}", tcp).replace("{udp}", udp)

    def close(self) -> None:
        self._tcp.close()
        self._udp.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._tcp.accept()
            except OSError:
                return
            self.arrived.append("tcp")
            with connection:
                connection.settimeout(2)
                try:
                    self.arrived.append(connection.recv(200).decode("latin-1").split("\r\n")[0])
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
                except OSError:
                    pass

    def _receive(self) -> None:
        while True:
            try:
                self._udp.recv(2000)
            except OSError:
                return
            self.arrived.append("udp")


class Stage:
    """A private desktop with an engine, and the listener that nothing may reach."""

    def __init__(self, folder: Path, environment: dict[str, str], listener: Listener) -> None:
        self.listener = listener
        self.store = SurfaceStore(standard_folder(), Checkpoints(folder / "checkpoints"))
        self.engine = SurfaceEngine(self.store.folder, environment=environment)

    def make(self, name: str, html: str) -> Surface:
        return self.store.create(APP, name, Written(html, "", None), ChangeOrigin("t", "create_app"))

    async def tried(self, surface: Surface) -> Any:
        """Open it and wait until its page has tried everything."""
        await self.engine.open(surface.id)
        await until(lambda: "tried" in self.store.state(surface))
        return self.store.state(surface)["tried"]


@pytest.fixture(params=ENGINES)
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A stage for each engine that is installed."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    (tmp_path / "home").mkdir()
    settings_store.save(SURFACE_ENGINE, request.param)
    listener = Listener()
    with VirtualDesktop(1280, 800) as desktop:
        own = {"HOME": str(tmp_path / "home"), "WISP_DATA_DIR": str(tmp_path / "wisp")}
        made = Stage(tmp_path, {**desktop.environment, **own}, listener)
        try:
            yield made
        finally:
            asyncio.run(made.engine.stop())
            assert eventually(lambda: not made.engine.is_running)
            listener.close()


async def test_no_way_out_of_a_page_has_an_effect_or_reaches_a_listener(stage: Stage) -> None:
    ways = ", ".join(f"{json.dumps(name)}: async () => {{ {code} }}" for name, code in CASES["ways"].items())
    tried = await stage.tried(stage.make("Hostile", stage.listener.at(TRYING % ways)))
    assert sorted(tried) == sorted(CASES["ways"])
    assert [name for name, had_effect in tried.items() if had_effect] == []
    assert stage.listener.arrived == []


@pytest.mark.long
async def test_no_page_leads_itself_or_the_window_away(stage: Stage, tmp_path: Path) -> None:
    for name, code in CASES["leading"].items():
        surface = stage.make(name.replace("_", " "), stage.listener.at(LEADING % code))
        assert await stage.tried(surface) is True
    calm = stage.make("Calm", TRYING % "quiet: async () => false")
    assert await stage.tried(calm) == {"quiet": False}, "the others had time, and a further surface works"
    assert "in front now" in await stage.engine.open(calm.id)
    assert stage.listener.arrived == []
    assert [path for path in (tmp_path / "home").rglob("evil*")] == []


@pytest.mark.long
async def test_a_busy_page_does_not_hold_up_another_one(stage: Stage) -> None:
    busy = stage.make("Busy", LEADING % "for (;;) {}")
    await stage.tried(busy)
    calm = stage.make("Calm", TRYING % "quiet: async () => false")
    assert await stage.tried(calm) == {"quiet": False}


def test_the_listener_counts_what_does_arrive(stage: Stage) -> None:
    assert urllib.request.urlopen(stage.listener.at("http://{at}/x"), timeout=5).read() == b"ok"
    assert stage.listener.arrived == ["tcp", "GET /x HTTP/1.1"]
