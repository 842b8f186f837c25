"""A small web server on loopback that answers what a test tells it, and counts who came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """What a path answers. `body` may be made when it is asked for, so that nothing big waits in memory."""

    body: bytes | Callable[[], Iterator[bytes]] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})


class Site:
    """`asked` lists the Host line and path of every request, `sent` its headers in lower case and its body."""

    def __init__(self, replies: Mapping[str, Reply], address: str) -> None:
        self.replies = dict(replies)
        self.address = address
        self.asked: list[tuple[str, str]] = []
        self.sent: list[tuple[dict[str, str], bytes]] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"


@contextmanager
def site(replies: Mapping[str, Reply] | None = None, *, address: str = "127.0.0.1", port: int = 0) -> Iterator[Site]:
    """A server for as long as the test needs it."""
    here = Site(replies or {}, address)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            here.asked.append((self.headers.get("Host", ""), self.path))
            here.sent.append(({name.lower(): value for name, value in self.headers.items()}, body))
            reply = here.replies.get(self.path.partition("?")[0], Reply(b"nothing here", 404))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            pieces = reply.body() if callable(reply.body) else (reply.body,)
            try:
                for piece in pieces:
                    self.wfile.write(piece)
            except OSError:
                return  # the caller has heard enough

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer((address, port), Handler)
    server.daemon_threads = True
    here.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
