"""The only transport for addresses a model may choose: every request goes to an address that was looked at first.

A name is resolved once, all its addresses are judged, and the connection is made to one of exactly those, with the name
kept for the certificate and the Host line; so a name that answers differently the second time changes nothing. Every
request passes here, also the one that follows a redirect. Proxies of the environment are passed by.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

import httpx2

from app.base.errors import ToolFailed
from app.services.network.addresses import Address, is_loopback, why_refused
from app.services.network.targets import Target, read

_MOST_TRIED = 3
_CONNECT_S = 5.0
_READ_S = 15.0

Resolve = Callable[[str, int], Awaitable[list[Address]]]


async def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a name, as the system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class Guard(httpx2.AsyncBaseTransport):
    """A transport for httpx. `loopback` lets tests reach a server of their own; no setting leads to it.

    Raises ToolMisuse for what is no public URL and ToolFailed for a host that leads elsewhere.
    """

    def __init__(self, *, find: Resolve = resolve, loopback: bool = False) -> None:
        self._find = find
        self._loopback = loopback
        # No connection is kept: the next request may be to another name at the same address.
        limits = httpx2.Limits(max_connections=8, max_keepalive_connections=0)
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False, limits=limits)

    def read(self, url: str) -> Target:
        """The URL understood, or ToolMisuse."""
        return read(url, any_port=self._loopback)

    async def addresses(self, target: Target) -> list[Address]:
        """Where the connection may go. One address that is not public refuses the whole name."""
        if target.address is not None:
            found = [target.address]
        else:
            try:
                found = await self._find(target.host, target.port)
            except OSError:
                raise ToolFailed(f"There is no host called {target.host}, or this machine is offline.") from None
        for address in found:
            reason = why_refused(address)
            if reason and not (self._loopback and is_loopback(address)):
                raise ToolFailed(
                    f"{target.host} leads to {reason} ({address}); only the public web is fetched. If the person wants "
                    "that page, open it in their browser instead."
                )
        if not found:
            raise ToolFailed(f"{target.host} has no address.")
        return found[:_MOST_TRIED]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target = self.read(str(request.url))
        request.headers["Host"] = request.url.netloc.decode("ascii")
        request.extensions = {**request.extensions, "sni_hostname": target.host}
        request.extensions["timeout"] = {"connect": _CONNECT_S, "read": _READ_S, "write": _READ_S, "pool": _CONNECT_S}
        *first, last = await self.addresses(target)
        for address in first:
            try:
                return await self._to(address, request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._to(last, request)

    async def _to(self, address: Address, request: httpx2.Request) -> httpx2.Response:
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=str(address)),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        await self._inner.aclose()
