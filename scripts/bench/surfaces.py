"""What small apps cost in each engine that is installed, beside the bare engine in the same run. Prints medians.

    .venv/bin/python scripts/bench/surfaces.py [--runs N]

Bare is `chromium --app`, or a program that is nothing but a QWebEngineView, with the same page from loopback.

First card: from nothing (no worker, no browser, a profile that was used before) to a loaded page that hears Wisp.
Memory: the proportional set size (PSS) of the browser's processes, and of Wisp's worker for surfaces. Five: the same
with four more windows. Bridge: `wisp.getState()` from a page and back, measured in the page. Look: one picture of a
window for its card.

--hostile measures something else: the longest pauses of a Qt event loop that does what the presence does for small apps
(it answers what they ask, and takes a picture of each window once a second), first with none open, then with three
that flood the bridge, loop for ever and fill their page. Gap: from one tick of a 1 ms timer to the next, which holds
what other processes take of the processor, too. Own work: the processor time of that thread between two ticks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.base import paths, resources
from app.desktop.x11.virtual import VirtualDesktop
from app.features.apps.chromium import CONTROL, is_sandboxed, program, settings
from app.features.apps.client import SurfaceEngine
from app.features.apps.store import APP, SurfaceStore, Written, standard_folder
from app.features.apps.webengine import is_installed
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints

_LIMIT_S = 60.0
_ROUNDS, _LOOKS, _FIVE = 300, 20, 5
_BRIDGE = """<!doctype html><html lang="en"><head><title>Bridge</title></head><body><script>
(async () => { const took = []; for (let n = 0; n < %d; n++) { const began = performance.now(); await wisp.getState();
took.push(performance.now() - began); await new Promise((go) => setTimeout(go, 20)); }
await wisp.setState({ took }); })();
</script></body></html>"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args()
    if options.hostile:
        _pauses()
        return
    runs: int = options.runs
    for engine, bare in _engines().items():
        print(f"\n{engine}, beside {bare[0]}")
        _report(_measured(engine, bare, runs), bare[0])


def _engines() -> dict[str, tuple[str, list[str]]]:
    """Return the name and the command of the bare program beside each engine that is installed."""
    root = [] if is_sandboxed() else settings()["root_switches"]
    found = {}
    if program():
        found["chromium"] = (
            "chromium --app",
            [program(), "--user-data-dir=bare-engine", "--no-first-run", *root, "--app={address}"],
        )
    if is_installed():
        found["webengine"] = ("QWebEngineView", [sys.executable, "-c", _VIEW, "bare-engine", "{address}"])
    return found


_VIEW = """import sys
from PySide6.QtCore import QUrl
from PySide6.QtWebEngineWidgets import QWebEngineView
from PySide6.QtWidgets import QApplication
application = QApplication(sys.argv[:1])
view = QWebEngineView()
view.load(QUrl(sys.argv[-1]))
view.show()
application.exec()"""
_OWN = {"chromium": "surface-browser", "webengine": "app.features.apps.windows"}
"""A word in the command of the process that Wisp starts for each engine."""


def _measured(name: str, bare: tuple[str, list[str]], runs: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as data, VirtualDesktop() as desktop:
        os.environ.update(desktop.environment, WISP_DATA_DIR=data, XDG_CONFIG_HOME=f"{data}/config")
        if not is_sandboxed():
            os.environ["QTWEBENGINE_DISABLE_SANDBOX"] = "1"
        paths.config_dir().mkdir(parents=True, exist_ok=True)
        (paths.config_dir() / "settings.toml").write_text(f'[surfaces]\nengine = "{name}"\n')
        os.chdir(data)
        store = SurfaceStore(standard_folder(), Checkpoints(paths.data_dir() / "checkpoints"))
        engine, page = SurfaceEngine(store.folder), resources.text("surfaces/templates/timer.html")
        ids = [store.create(APP, f"Timer {n}", Written(page, "# Timer", None), _ORIGIN).id for n in range(_FIVE)]
        bridge = store.create(APP, "Bridge", Written(_BRIDGE % _ROUNDS, "# Bridge", None), _ORIGIN)
        _surfaces(engine, ids, _OWN[name], defaultdict(list))  # so that both profiles were used before
        _alone(page, bare, defaultdict(list))
        for _ in range(runs):
            _surfaces(engine, ids, _OWN[name], found)
            _alone(page, bare, found)
        asyncio.run(engine.open(bridge.id))
        _until(lambda: bool(store.state(bridge)))
        found["bridge round trip, ms"] = [float(took) for took in store.state(bridge)["took"]]
        _end(engine)
    return found


_ORIGIN = ChangeOrigin("bench", "bench")


def _surfaces(engine: SurfaceEngine, ids: list[str], own: str, found: dict[str, list[float]]) -> None:
    """Open one small app, then four more, look at them, and close everything."""
    began = time.monotonic()
    asyncio.run(engine.open(ids[0]))
    found["first card, ms"].append((time.monotonic() - began) * 1000)
    time.sleep(1)
    found["first card, MB"].append(_memory(own))
    found["worker, MB"].append(_pss(json.loads((paths.runtime_dir() / CONTROL).read_text())["pid"]) / 1024)
    began = time.monotonic()
    for one in ids[1:]:
        asyncio.run(engine.open(one))
    found["four more cards, ms"].append((time.monotonic() - began) * 1000)
    time.sleep(1)
    found["five cards, MB"].append(_memory(own))
    for turn in range(_LOOKS):
        began = time.monotonic()
        assert asyncio.run(engine.look(ids[turn % _FIVE]))
        found["look at a window, ms"].append((time.monotonic() - began) * 1000)
    _end(engine)


def _alone(page: str, bare: tuple[str, list[str]], found: dict[str, list[float]]) -> None:
    """Open the same page with the bare engine, from a bare server on loopback."""
    name, command = bare
    loaded = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            body = (page + "<script>fetch('/loaded')</script>").encode() if is_page else b""
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if self.path == "/loaded":
                loaded.set()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    began = time.monotonic()
    browser = subprocess.Popen(
        [word.replace("{address}", address) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert loaded.wait(_LIMIT_S)
    found[f"{name}, ms"].append((time.monotonic() - began) * 1000)
    time.sleep(1)
    found[f"{name}, MB"].append(_memory("bare-engine"))
    browser.terminate()
    browser.wait()
    server.shutdown()


_HOSTILE = {
    "Flood": """setInterval(() => { for (let n = 0; n < 200; n++) { wisp.getState().catch(() => {});
wisp.webSearch('x'.repeat(9000)).catch(() => {}); wisp.setState({ big: 'y'.repeat(90000) }).catch(() => {});
} }, 20);""",
    "Busy": "setTimeout(() => { for (;;) {} }, 300);",
    "Huge": """setInterval(() => { const all = document.createElement('div');
all.innerHTML = '<p>x</p>'.repeat(20000); document.body.append(all); }, 200);""",
}
_TICKING_S = 20.0


def _pauses() -> None:
    """Measure the pauses of a Qt event loop beside hostile small apps, and print them."""
    with tempfile.TemporaryDirectory() as data, VirtualDesktop() as desktop:
        os.environ.update(desktop.environment, WISP_DATA_DIR=data, QT_QPA_PLATFORM="offscreen")
        from PySide6.QtWidgets import QApplication

        from app.ui.eventloop import run_until

        run_until(QApplication([]), _ticked())


async def _ticked() -> int:
    from app.assistant import assembled
    from app.settings.store import Settings

    async with assembled(Settings({"model.provider": "offline"}, {}), without_screen=True) as assistant:
        assistant.present()
        store, engine = (
            SurfaceStore(standard_folder(), Checkpoints(paths.data_dir() / "checkpoints")),
            SurfaceEngine(standard_folder()),
        )
        await _tick("nothing open", engine, [])
        ids = []
        for name, code in _HOSTILE.items():
            page = f"<!doctype html><html lang=en><title>{name}</title><body><script>{code}</script></body></html>"
            ids.append(store.create(APP, name, Written(page, f"# {name}", None), _ORIGIN).id)
            await engine.open(ids[-1])
        await _tick("three hostile apps", engine, ids)
        await engine.stop()
    return 0


async def _tick(name: str, engine: SurfaceEngine, ids: list[str]) -> None:
    from PySide6.QtCore import Qt, QTimer

    gaps, work = [], []
    last, last_work = time.perf_counter(), time.thread_time()

    def tick() -> None:
        nonlocal last, last_work
        now, done = time.perf_counter(), time.thread_time()
        gaps.append((now - last) * 1000)
        work.append((done - last_work) * 1000)
        last, last_work = now, done

    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(tick)
    timer.start(1)
    end, looks = time.monotonic() + _TICKING_S, 0
    while time.monotonic() < end:
        for one in ids:
            looks += await engine.look(one) is not None
        await asyncio.sleep(1)
    timer.stop()
    shown = (
        f"{label} p50 {_of(found, 50):.1f} p99 {_of(found, 99):.1f} max {max(found):.1f} ms"
        for label, found in (("gap", gaps), ("own work", work))
    )
    print(f"{name} ({len(gaps)} ticks, {looks} pictures): {'; '.join(shown)}")


def _of(values: list[float], percent: int) -> float:
    return sorted(values)[len(values) * percent // 100]


def _memory(word: str) -> float:
    """Return the PSS of the processes below the one whose command has this word, in MB."""
    pids, parents = set[int](), dict[int, int]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if any(word in one for one in words):
                pids.add(int(folder.name))
    while more := {pid for pid, parent in parents.items() if parent in pids} - pids:
        pids |= more
    return sum(map(_pss, pids)) / 1024


def _pss(pid: int) -> int:
    """Return the proportional set size of a process in kB; 0 if it has ended."""
    try:
        rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in rolled.splitlines() if line.startswith("Pss:"))


def _end(engine: SurfaceEngine) -> None:
    asyncio.run(engine.stop())
    _until(lambda: not engine.is_running)
    time.sleep(1)


def _until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + _LIMIT_S
    while not is_so():
        if time.monotonic() > limit:
            sys.exit("What was waited for did not happen.")
        time.sleep(0.1)


def _report(found: Mapping[str, list[float]], bare: str) -> None:
    print(f"{'':<28}{'median':>10}{'p95':>10}")
    for name, values in found.items():
        ordered = sorted(values)
        print(f"{name:<28}{statistics.median(ordered):>10.1f}{ordered[round(0.95 * (len(ordered) - 1))]:>10.1f}")
    for unit in ("ms", "MB"):
        ratio = statistics.median(found[f"first card, {unit}"]) / statistics.median(found[f"{bare}, {unit}"])
        print(f"first card against {bare}, {unit}: {ratio:.2f}")


if __name__ == "__main__":
    main()
