"""A small web behind the browser's proxy: public names that lead to one server here, and traps that stay unreached."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.features.browser.session import BrowserSession
from app.features.browser.starting import BrowserWishes
from app.services.web.addresses import Address

PUBLIC = ipaddress.ip_address("93.184.216.34")
NAMES: Mapping[str, tuple[str, ...]] = {
    "inner.example": ("10.0.0.7",),
    "loop.example": ("127.0.0.1",),
    "both.example": (str(PUBLIC), "192.168.1.1"),
}
"""Names that do not simply lead to the public server. The first answer for rebind.example is public, later ones not."""


@dataclass
class World:
    """`asked` are the paths that the public server was asked for, `dialled` where the proxy connected, `reached` what
    came to the traps.
    """

    browser: BrowserSession
    pages: dict[str, str]
    trap: int
    udp: int
    asked: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    own_ports: set[int] = field(default_factory=set)
    wishes: BrowserWishes = field(default_factory=BrowserWishes)
    port: int = 0
    """Where the public server listens on this machine."""


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, reached: list[str]) -> None:
        self._reached = reached

    def datagram_received(self, _data: bytes, _place: object) -> None:
        self._reached.append("a datagram")


@asynccontextmanager
async def world(folder: Path, pages: Mapping[str, str] | None = None) -> AsyncIterator[World]:
    """Pages by their path on every public name. `/to?URL` sends its visitors on, `….bin` is a download."""
    here: World
    rebound: list[str] = []

    async def public(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:  # because the browser tries https first
            writer.close()
            return
        path = head.split(b" ")[1].decode()
        here.asked.append(path)
        if path.startswith("/to?"):
            writer.write(
                f"HTTP/1.1 302 Found\r\nLocation: {path[4:]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
            )
        else:
            body = here.pages.get(path.partition("?")[0], "<title>Nothing</title>nothing here").encode()
            kind = "text/javascript" if path.endswith(".js") else "text/html; charset=utf-8"
            kind = "application/octet-stream" if path.endswith(".bin") else kind
            fields = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close"
            writer.write(f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async def trapped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here.reached.append((await reader.read(200)).decode("latin-1"))
        writer.close()

    async def find(host: str, _port: int) -> list[Address]:
        if host == "rebind.example":
            rebound.append(host)
            return [PUBLIC] if len(rebound) == 1 else [ipaddress.ip_address("127.0.0.1")]
        return [ipaddress.ip_address(one) for one in NAMES.get(host, (str(PUBLIC),))]

    async def dial(address: Address | str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        here.dialled.append(f"{address}:{port}")
        if address == PUBLIC:
            return await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        return await asyncio.open_connection(str(address), port)

    server = await asyncio.start_server(public, "127.0.0.1", 0)
    trap = await asyncio.start_server(trapped, "127.0.0.1", 0)
    port = trap.sockets[0].getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    here = World(
        BrowserSession(folder / "profile", lambda: here.own_ports, find=find, dial=dial, wishes=lambda: here.wishes),
        dict(pages or {}),
        port,
        udp.getsockname()[1],
        port=server.sockets[0].getsockname()[1],
    )
    listening, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: _Datagrams(here.reached), sock=udp)
    try:
        yield here
    finally:
        await here.browser.close()
        listening.close()
        for one in (server, trap):
            one.close()
