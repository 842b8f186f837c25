"""Hostile surfaces in the real browser: whatever their pages try, nothing arrives anywhere and nothing happens."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import threading
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.base import paths
from app.desktop.x11.virtual import VirtualDesktop
from app.features.apps.chromium import CONTROL
from app.features.apps.client import SurfaceEngine
from app.features.apps.settings import SURFACE_ENGINE
from app.features.apps.store import APP, Surface, SurfaceStore, Written, standard_folder
from app.features.apps.webengine import is_installed
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from app.settings import store as settings_store
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

# Counts its starts, does its worst, and notes whether it was refused what it took.
TAKING = """<!doctype html><html lang="en"><head><title>Taking</title></head><body><script>
const taken = [];
const forever = (take) => setInterval(() => { try { take(); } catch { wisp.setState({ starts, refused: true }); } });
let starts = 0;
wisp.getState().then(async (state) => {
  starts = (state.starts || 0) + 1;
  await wisp.setState({ starts });
  %s
});
</script></body></html>"""
COUNTING = """<!doctype html><html lang="en"><head><title>Counting</title></head><body><script>
let count = 0;
setInterval(() => wisp.setState({ count: ++count }), 200);
</script></body></html>"""
LATE = "for (const end = Date.now() + 9000; Date.now() < end;); await wisp.setState({ starts, refused: true })"
MOST_BYTES = 3 << 30
"""What the largest process of the engine may fill: the browser's own, with all blobs."""


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
        self.environment = environment
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
@pytest.mark.parametrize("way", CASES["taking"])
async def test_what_a_page_takes_costs_that_page_alone_and_opening_it_starts_it_again(
    stage: Stage, tmp_path: Path, way: str
) -> None:
    calm, taking = stage.make("Calm", COUNTING), stage.make("Taking", TAKING % CASES["taking"][way])
    await stage.engine.open(calm.id)
    await stage.engine.open(taking.id)
    largest = 0
    while not _is_past(stage.store.state(taking)):
        await _counts_on(stage, calm, 1)
        await stage.engine.open(taking.id)
        largest = max(largest, *(_filled(one) for one in _processes()))
    assert largest < MOST_BYTES
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 100 << 20


def _is_past(state: Mapping[str, Any]) -> bool:
    return state.get("starts", 0) > 1 or "refused" in state


async def _counts_on(stage: Stage, calm: Surface, times: int, *, limit_s: float = 45) -> None:
    before = stage.store.state(calm).get("count", 0)
    await until(lambda: stage.store.state(calm).get("count", 0) >= before + times, limit_s)


async def test_a_page_that_fills_the_memory_ends_alone_and_does_not_start_by_itself(stage: Stage) -> None:
    calm, taking = stage.make("Calm", COUNTING), stage.make("Taking", TAKING % CASES["taking"]["arrays"])
    await stage.engine.open(calm.id)
    await stage.engine.open(taking.id)
    pages = [one for one in _processes() if _is_page(one)]
    await until(lambda: not all(one.is_running() for one in pages))
    await _counts_on(stage, calm, 5)
    assert stage.store.state(taking) == {"starts": 1}
    while stage.store.state(taking) == {"starts": 1}:
        await stage.engine.open(taking.id)
    assert stage.store.state(taking) == {"starts": 2}


@pytest.mark.long
async def test_a_page_that_is_covered_for_minutes_keeps_its_time(stage: Stage) -> None:
    calm, cover = stage.make("Calm", COUNTING), stage.make("Cover", "<!doctype html><title>Cover</title>")
    await stage.engine.open(calm.id)
    await stage.engine.open(cover.id)
    await _counts_on(stage, calm, 70, limit_s=100)


@pytest.mark.long
async def test_a_person_starts_a_page_again_that_does_not_answer(stage: Stage) -> None:
    busy = stage.make("Busy", TAKING % CASES["taking"]["loop"])
    await stage.engine.open(busy.id)
    press = "xdotool search --onlyvisible --name '^Busy —' windowactivate --sync %1 key Tab Return"

    def has_started_again() -> bool:
        subprocess.run(press, shell=True, env=stage.environment, check=False)
        return eventually(lambda: stage.store.state(busy) == {"starts": 2}, limit_s=3)

    assert eventually(has_started_again)


@pytest.mark.long
async def test_a_page_that_answers_again_goes_on_as_it_was(stage: Stage) -> None:
    late = stage.make("Late", TAKING % LATE)
    await stage.engine.open(late.id)
    await until(lambda: stage.store.state(late).get("refused"))
    assert "in front now" in await stage.engine.open(late.id)
    assert stage.store.state(late)["starts"] == 1


def _processes() -> list[psutil.Process]:
    told = json.loads((paths.runtime_dir() / CONTROL).read_text(encoding="utf-8"))
    return psutil.Process(told["pid"]).children(recursive=True)


def _is_page(process: psutil.Process) -> bool:
    try:
        return "--type=renderer" in process.cmdline()
    except psutil.Error:  # because one that is about to be reaped has no command
        return False


def _filled(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def test_the_listener_counts_what_does_arrive(stage: Stage) -> None:
    assert urllib.request.urlopen(stage.listener.at("http://{at}/x"), timeout=5).read() == b"ok"
    assert stage.listener.arrived == ["tcp", "GET /x HTTP/1.1"]
