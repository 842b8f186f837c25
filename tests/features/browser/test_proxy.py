"""The browser's proxy: which requests reach whom."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from app.features.browser.proxy import FilteringProxy
from app.services.web.addresses import Address, is_local

PUBLIC = ipaddress.ip_address("93.184.216.34")
_FOUND = {"good.example": [PUBLIC], "inner.example": [ipaddress.ip_address("10.1.2.3")]}
_FOUND["both.example"] = [PUBLIC, ipaddress.ip_address("127.0.0.1")]


class Net:
    """Everything leads to one server, which answers with the request's first line and host."""

    def __init__(self) -> None:
        self.dialled: list[str] = []
        self.own: set[int] = set()
        self.proxy = FilteringProxy(lambda: self.own, self.find, self.dial)
        self.port = 0
        self.url = ""

    async def find(self, host: str, _port: int) -> list[Address]:
        if host not in _FOUND:
            raise OSError("no such host")
        return _FOUND[host]

    async def dial(self, address: Address | str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.dialled.append(f"{address}:{port}")
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, request: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self.url.rpartition(":")[2]))
        writer.write(request.replace("\n", "\r\n").encode())
        await writer.drain()
        answer = (await reader.read(2_000)).decode()
        writer.close()
        return answer


@pytest.fixture
async def net() -> AsyncIterator[Net]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # because a tunnel may end before anything is asked through it
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + head)
            await writer.drain()
        writer.close()

    made = Net()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    made.url = await made.proxy.start()
    yield made
    await made.proxy.close()
    server.close()


async def test_a_public_page_is_asked_for_as_a_server_expects_it(net: Net) -> None:
    told = await net.ask("GET http://good.example/a?b=1 HTTP/1.1\nHost: good.example\nProxy-Connection: keep-alive\n\n")
    assert "GET /a?b=1 HTTP/1.1\r\nHost: good.example\r\nConnection: close" in told
    assert net.dialled == [f"{PUBLIC}:80"]
    assert net.proxy.refused == {}


async def test_a_tunnel_leads_to_the_address_that_was_judged(net: Net) -> None:
    assert (await net.ask("CONNECT good.example:443 HTTP/1.1\n\n")).startswith("HTTP/1.1 200")
    assert net.dialled == [f"{PUBLIC}:443"]


@pytest.mark.parametrize("asked", ["GET http://good.example/ HTTP/1.1", "CONNECT good.example:443 HTTP/1.1"])
async def test_a_page_of_this_machine_hands_nothing_on_to_the_web(net: Net, asked: str) -> None:
    net.own = {3000}
    assert (await net.ask(f"{asked}\nHost: good.example\n\n")).startswith("HTTP/1.1 403")
    assert net.dialled == []


async def test_a_server_of_this_conversation_is_reached(net: Net) -> None:
    net.own = {3000}
    assert "GET / HTTP/1.1" in await net.ask("GET http://localhost:3000/ HTTP/1.1\nHost: localhost:3000\n\n")
    assert net.dialled == ["127.0.0.1:3000"]


@pytest.mark.parametrize(
    "request_line",
    [
        "GET http://inner.example/ HTTP/1.1",
        "GET http://127.0.0.1/ HTTP/1.1",
        "GET http://0.0.0.0:3000/ HTTP/1.1",
        "GET http://169.254.169.254/ HTTP/1.1",
        "GET http://user@good.example/ HTTP/1.1",
        "CONNECT 10.0.0.1:443 HTTP/1.1",
        "CONNECT good.example:99999 HTTP/1.1",
    ],
)
@pytest.mark.parametrize("own", [set(), {3000}], ids=["the web", "this machine"])
async def test_everything_else_is_refused_without_a_connection(net: Net, request_line: str, own: set[int]) -> None:
    net.own = own
    assert (await net.ask(f"{request_line}\nHost: good.example\n\n")).startswith("HTTP/1.1 403")
    assert net.dialled == []
    assert len(net.proxy.refused) == 1


@pytest.mark.parametrize("text", ["hello\n\n", "\n\n", "GET http://good.example/\n\n"])
async def test_what_is_no_request_is_refused(net: Net, text: str) -> None:
    assert (await net.ask(text)).startswith("HTTP/1.1 403")
    assert net.dialled == []


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://localhost:3000", True),
        ("http://127.0.0.1:8080/a", True),
        ("http://[::1]:5000/", True),
        ("http://user@localhost/", False),
        ("http://localhost.example/", False),
        ("ftp://localhost/", False),
        ("http://[::1", False),
    ],
)
def test_an_address_of_this_machine_is_known_by_its_host(url: str, is_here: bool) -> None:
    assert is_local(url) is is_here
