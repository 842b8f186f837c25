"""Small windows of every toolkit with the same controls; each writes down what really happened to it."""

from __future__ import annotations

import http.server
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from app.desktop.x11.apps import describing

_HERE = Path(__file__).parent
_SYSTEMS = "/usr/bin/python3"
_FLOOD_S = 2.0
"""A window that never stops writing is read no longer than this beyond the limit."""
_READY_S = 120.0
_CHROMIUM = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")
_IN_A_TERMINAL = "WORLD_TELLS=/proc/$$/fd/1 exec {} 'World terminal' -e \"$@\""
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "gtk3": (_SYSTEMS, str(_HERE / "gtk_window.py"), "3"),
    "gtk4": (_SYSTEMS, str(_HERE / "gtk_window.py"), "4"),
    "qt5": (_SYSTEMS, str(_HERE / "qt_window.py"), "5"),
    "qt6": (sys.executable, str(_HERE / "qt_window.py"), "6"),
    "calc": (_SYSTEMS, str(_HERE / "calc_window.py")),
    "foot": ("sh", "-c", _IN_A_TERMINAL.format("foot -T"), "sh", _SYSTEMS, str(_HERE / "terminal_window.py")),
    "xterm": ("sh", "-c", _IN_A_TERMINAL.format("xterm -title"), "sh", _SYSTEMS, str(_HERE / "terminal_window.py")),
    "tk": (_SYSTEMS, str(_HERE / "tk_window.py")),
    "tk canvas": (_SYSTEMS, str(_HERE / "tk_canvas.py")),
    "gtk3 rows": (_SYSTEMS, str(_HERE / "rows_window.py"), "gtk3"),
    "qt5 rows": (_SYSTEMS, str(_HERE / "rows_window.py"), "qt5"),
    "qt6 rows": (sys.executable, str(_HERE / "rows_window.py"), "qt6"),
    "gtk3 tabs": (_SYSTEMS, str(_HERE / "tabbed_window.py"), "gtk3"),
    "qt5 tabs": (_SYSTEMS, str(_HERE / "tabbed_window.py"), "qt5"),
    "qt6 tabs": (sys.executable, str(_HERE / "tabbed_window.py"), "qt6"),
    "painted": (_SYSTEMS, str(_HERE / "painted_window.py")),
    "qt5 menu": (_SYSTEMS, str(_HERE / "menu_window.py")),
}

_PAGES: Mapping[str, str] = {"chromium": "page.html", "chromium rows": "rows.html", "chromium list": "list.html"}


class World:
    """`lines` is what the window wrote down so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._news: queue.Queue[str] = queue.Queue()

    def tell(self, line: str) -> None:
        self._news.put(line)

    def happened(self, is_it: Callable[[str], bool], limit_s: float = 2.0) -> bool:
        """Whether such a line is there, or comes before the limit."""
        limit = time.monotonic() + limit_s
        while not any(map(is_it, self.lines)):
            if time.monotonic() > limit + _FLOOD_S:
                return False
            try:
                self.lines.append(self._news.get(timeout=max(limit - time.monotonic(), 0.01)))
            except queue.Empty:
                return False
        return True

    def since(self, limit_s: float = 0.4) -> list[str]:
        """What was written down since the last time this was asked."""
        self.happened(lambda _: False, limit_s)
        found, self.lines = self.lines, []
        return found


@contextmanager
def world(kind: str, environment: Mapping[str, str]) -> Iterator[World]:
    """A window by its key in `_COMMANDS`, or a page in Chromium, on that desktop, once it shows."""
    told = World()
    page = _PAGES.get(kind)
    opened = _page(told, page, environment) if page else _window(told, kind, environment)
    with opened:
        assert told.happened(lambda line: line == "ready", _READY_S), f"the {kind} window did not come up"
        told.since(0.0)
        yield told


@contextmanager
def _window(told: World, kind: str, environment: Mapping[str, str]) -> Iterator[None]:
    program = subprocess.Popen(
        _COMMANDS[kind], env=describing(environment), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert program.stdout
    lines = program.stdout
    reader = threading.Thread(target=lambda: [told.tell(line.strip()) for line in lines], daemon=True)
    reader.start()
    try:
        yield
    finally:
        program.kill()
        program.wait()
        reader.join(timeout=5)
        lines.close()


class _Pages(http.server.SimpleHTTPRequestHandler):
    def __init__(self, told: World, *given: object) -> None:
        self._told = told
        super().__init__(*given, directory=str(_HERE))  # type: ignore[arg-type]  # what the server gives

    def do_GET(self) -> None:
        path, _, words = self.path.partition("?")
        if path != "/tell":
            return super().do_GET()
        self._told.tell(unquote(words))
        self.send_response(204)
        self.end_headers()
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def _page(told: World, page: str, environment: Mapping[str, str]) -> Iterator[None]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Pages, told))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = f"--user-data-dir={environment['HOME']}/chromium"
    address = f"http://127.0.0.1:{server.server_address[1]}/{page}"
    program = subprocess.Popen(
        [*_CHROMIUM, profile, f"--app={address}"], env=describing(environment), stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        program.terminate()
        program.wait()
        server.shutdown()
        server.server_close()
