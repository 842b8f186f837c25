"""Search through a real SearXNG-like server: Debian's `searx` on loopback, with one engine that this script plays.

`python -m scripts.bench.search [--times 20]` prints the hits and the median in milliseconds. Needs `apt install searx`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from app.features.web.search import SearchWish, WebSearch
from app.settings.providers import searchers
from app.settings.store import Settings

HITS = {"items": [{"url": f"https://clock{n}.example/", "title": f"Clock {n}", "content": "Open."} for n in range(5)]}
SETTINGS = """
general: {{debug: false, instance_name: searx}}
search: {{safe_search: 0, autocomplete: "", default_lang: "", formats: [html, json]}}
server: {{port: {port}, bind_address: 127.0.0.1, secret_key: bench, base_url: false, image_proxy: false}}
ui:
  static_path: /usr/share/python3-searx/static
  templates_path: /usr/share/python3-searx/templates
  default_theme: oscar
  default_locale: ""
  theme_args: {{oscar_style: logicodev}}
outgoing: {{request_timeout: 3.0}}
engines:
  - name: played
    engine: json_engine
    shortcut: pl
    categories: general
    enable_http: true
    search_url: http://127.0.0.1:{engine}/?q={{query}}
    results_query: items
    url_query: url
    title_query: title
    content_query: content
locales: {{en: English}}
doi_resolvers: {{oadoi.org: "https://oadoi.org/"}}
default_doi_resolver: oadoi.org
"""


class PlayedEngine(BaseHTTPRequestHandler):
    """Answers every question with the same hits."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(HITS).encode())

    def log_message(self, *_: object) -> None:
        return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def searx() -> Iterator[str]:
    """The address of a running server."""
    engine = HTTPServer(("127.0.0.1", 0), PlayedEngine)
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.yml"
        path.write_text(SETTINGS.format(port=port, engine=engine.server_port), encoding="utf-8")
        environment = os.environ | {"SEARX_SETTINGS_PATH": str(path)}
        command = ["/usr/bin/python3", "-m", "searx.webapp"]
        with subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server:
            try:
                _wait(port)
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()
                engine.shutdown()


def _wait(port: int, limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    sys.exit("searx did not start")


async def measure(address: str, times: int) -> None:
    settings = Settings({}, {}).with_values(web__searxng=address)
    search = WebSearch(lambda: settings, lambda _name: "", rows={"searxng": searchers()["searxng"]})
    took = []
    for _ in range(times):
        began = time.perf_counter()
        found = await search.search(SearchWish("clock museum", 5))
        took.append((time.perf_counter() - began) * 1000)
    print(found.engine, *(f"{hit.title} {hit.url} ({hit.source})" for hit in found.hits), sep="\n  ")
    print(f"median {statistics.median(took):.0f} ms of {times}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    with searx() as address:
        asyncio.run(measure(address, times))


if __name__ == "__main__":
    main()
