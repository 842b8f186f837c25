"""The browser's only way to the network: a proxy on loopback that checks each address and connects to that address.

Chromium sends all its traffic here: pages, redirects, workers, beacons and WebSockets (as CONNECT). A name is resolved
once, each of its addresses is checked, and the connection goes to one of these, so that a second lookup cannot return
another address.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from app.base.errors import ToolFailed, ToolMisuse
from app.features.browser.session import REFUSED
from app.services.web.addresses import Address, Resolve, WebTarget, public_addresses, read, resolve

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[Address | str, int], Awaitable[Streams]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HEAD_BYTES = 65_536
_HEAD_S = 30.0  # because a connection that sends nothing would otherwise stay for ever
_CONNECT_S = 10.0
_CHUNK_BYTES = 65_536
_MOST_CONNECTIONS = 256
_MOST_NOTED = 50
_REQUEST = re.compile(rb"([A-Z]{3,16}) (\S{1,8000}) HTTP/1\.[01]\r\n")
_ABSOLUTE = re.compile(r"http://([^/?#@\s\\]+)([^#]*)", re.IGNORECASE)
_PLACE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::(\d{1,5}))?")
# These fields are for one connection only: https://www.rfc-editor.org/rfc/rfc9110.html#section-7.6.1
_DROPPED = (b"proxy-", b"connection:", b"keep-alive:")


async def dial(address: Address | str, port: int) -> Streams:
    """Open a TCP connection to the address and return its two streams. Raises OSError."""
    return await asyncio.open_connection(str(address), port)


class FilteringProxy:
    """A proxy that refuses private addresses. `local_ports` returns the loopback ports that may be reached now.

    `find` and `dial` are replaced in tests. `refused` holds a sentence for each host that was refused, the newest last.
    """

    def __init__(self, local_ports: Callable[[], Collection[int]], find: Resolve = resolve, dial: Dial = dial) -> None:
        self._local_ports = local_ports
        self._find = find
        self._dial = dial
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()
        self.refused: dict[str, str] = {}

    async def start(self) -> str:
        """Start to listen, and return the proxy's URL."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD_BYTES)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """End every connection."""
        if self._server:
            self._server.close()
            self._server = None
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # because a page could open connections until Wisp has no file descriptors left
        if len(self._running) >= _MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._answer(head, (reader, writer))
        except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError):
            pass  # the other side has gone, or never spoke HTTP
        finally:
            writer.close()

    async def _answer(self, head: bytes, browser: Streams) -> None:
        host = ""
        try:
            host, port, first = _asked(head)
            there = await self._connected(host, port)
        except (ToolFailed, ToolMisuse) as error:
            sentence = error.why.what.for_models
            self._note(host.casefold().strip("[]"), sentence)
            fields = f"{REFUSED}: 1\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close"
            browser[1].write(f"HTTP/1.1 403 Refused\r\n{fields}\r\n\r\nRefused: {sentence}\n".encode())
            await browser[1].drain()
            return
        try:
            if first:
                there[1].write(first)
            else:
                browser[1].write(b"HTTP/1.1 200 Connected\r\n\r\n")
            await _joined(browser, there)
        finally:
            there[1].close()

    async def _connected(self, host: str, port: int) -> Streams:
        """Connect to a public address of the host, or to a loopback port that is allowed now."""
        places: list[Address | str]
        if host.casefold() in LOOPBACK:
            if port not in self._local_ports():
                raise ToolFailed(f"{host}:{port} is this machine, and no server that this conversation started.")
            places = ["127.0.0.1", "::1"]
        elif self._local_ports():  # because its server may hold all files of the workspace, and nobody named the host
            raise ToolFailed(f"{host} was not asked: a page of this machine reaches nothing but this machine.")
        else:
            target: WebTarget = read(f"{'https' if port == 443 else 'http'}://{host}:{port}/")
            places = [*await public_addresses(target, self._find)]
        for place in places:
            with suppress(OSError, TimeoutError):  # because the next address may answer
                async with asyncio.timeout(_CONNECT_S):
                    return await self._dial(place, port)
        raise ToolFailed(f"{host} does not answer.")

    def _note(self, host: str, sentence: str) -> None:
        self.refused.pop(host, None)
        self.refused[host] = sentence
        if len(self.refused) > _MOST_NOTED:
            del self.refused[next(iter(self.refused))]


def _asked(head: bytes) -> tuple[str, int, bytes]:
    """Read a request's target: the host, the port, and the request to pass on (b"" for CONNECT). Raises ToolMisuse."""
    line = _REQUEST.match(head)
    if line is None:
        raise ToolMisuse("That is no request to a proxy.")
    method, target = line[1], line[2].decode("latin-1")
    if method == b"CONNECT":
        return *_place(target, 443), b""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise ToolMisuse("Only http and https addresses are opened.")
    fields = [one for one in head[line.end() :].split(b"\r\n") if one and not one.lower().startswith(_DROPPED)]
    path = absolute[2] if absolute[2].startswith("/") else f"/{absolute[2]}"
    first = b" ".join((method, path.encode("latin-1"), b"HTTP/1.1"))
    # Close after one request, because the next one on this connection may be for another host.
    return *_place(absolute[1], 80), b"\r\n".join([first, *fields, b"Connection: close", b"", b""])


def _place(written: str, usual: int) -> tuple[str, int]:
    place = _PLACE.fullmatch(written)
    if place is None:
        raise ToolMisuse("That is no host name.")
    return place[1], int(place[2] or usual)


async def _joined(one: Streams, other: Streams) -> None:
    """Copy data between two connections, in both directions, until one of them ends."""
    tasks = [asyncio.ensure_future(_copied(one[0], other[1])), asyncio.ensure_future(_copied(other[0], one[1]))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copied(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK_BYTES):
        sink.write(data)
        await sink.drain()
