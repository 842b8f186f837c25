"""Fetch a URL, within limits on bytes, redirects and time."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.message import Message
from typing import Any

import httpx2

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.base.values import dataclass, field
from app.services.web.addresses import Address, Resolve, WebTarget, public_addresses, read, resolve

_CONNECT_S = 5.0
_READ_S = 15.0
MOST_BYTES = 5_000_000
"""The limit of a body, counted after decompression."""
_MOST_HOPS = 5
_LIMIT_S = 30.0
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; Wisp)",
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/pdf;q=0.8,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer: its body, or a redirect to another site (`elsewhere` is its URL)."""

    url: str
    status: int = 200
    media_type: str = ""
    charset: str = ""
    data: bytes = b""
    is_cut: bool = False
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class WebQuestion:
    """A request to a web service. With `posted`, that is sent as JSON; otherwise it is a GET with `params`."""

    url: str
    params: Mapping[str, str] | None = None
    posted: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport for httpx that refuses private addresses.

    `loopback` lets tests reach their own server; no setting enables it. `read_s` is how long the other side may be
    silent. `own` is the address of a server that the person has set up, and the only private one that is reached.
    Raises ToolMisuse for a URL that is not public, and ToolFailed for a host that leads elsewhere.
    """

    def __init__(
        self, *, find: Resolve = resolve, loopback: bool = False, read_s: float = _READ_S, own: str = ""
    ) -> None:
        self._find = find
        self._loopback = loopback
        self._read_s = read_s
        self._own = _place(read(own, any_port=True, any_host=True)) if own else None
        # No connection is kept, because the next request may be for another host at the same address.
        limits = httpx2.Limits(max_connections=8, max_keepalive_connections=0)
        # Use no proxy, because it would connect to addresses that Wisp never judged.
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False, limits=limits)

    def read(self, url: str) -> WebTarget:
        """Raises ToolMisuse if the URL is no web address, or one that may not be fetched."""
        if self._own:
            target = read(url, any_port=True, any_host=True)
            if _place(target) == self._own:
                return target
        return read(url, any_port=self._loopback)

    async def addresses(self, target: WebTarget) -> list[Address]:
        """Return the addresses to which a connection may go. Raises ToolFailed if there is none."""
        is_own = _place(target) == self._own
        return await public_addresses(target, self._find, loopback=self._loopback, is_own=is_own)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target = self.read(str(request.url))
        request.headers["Host"] = request.url.netloc.decode("ascii")
        request.extensions = {**request.extensions, "sni_hostname": target.host}
        request.extensions["timeout"] = {
            "connect": _CONNECT_S,
            "read": self._read_s,
            "write": _READ_S,
            "pool": _CONNECT_S,
        }
        *first, last = await self.addresses(target)
        for address in first:
            try:
                return await self._to(address, request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):  # because the host has further addresses
                continue
        return await self._to(last, request)

    async def _to(self, address: Address, request: httpx2.Request) -> httpx2.Response:
        # Connect to the judged address, because a second lookup may return another one (DNS rebinding).
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


async def fetch(
    guard: GuardedTransport, url: str, *, most_bytes: int = MOST_BYTES, limit_s: float = _LIMIT_S
) -> Fetched:
    """GET the URL. Follows redirects within the site; returns one to another site, which the policy must judge first.

    Raises ToolMisuse and ToolFailed with the reason.
    """
    target = guard.read(url)
    async with _client(guard, target.host, limit_s) as client:
        return await _followed(guard, client, target, most_bytes)


async def send(
    guard: GuardedTransport, question: WebQuestion, *, most_bytes: int = MOST_BYTES, limit_s: float = _LIMIT_S
) -> Fetched:
    """Send one question and follow no redirect, so that a key in it goes to no other host. Raises as `fetch` does."""
    target = guard.read(question.url)
    method = "GET" if question.posted is None else "POST"
    headers = dict(question.headers)
    request = httpx2.Request(method, target.url, params=question.params, json=question.posted, headers=headers)
    async with _client(guard, target.host, limit_s) as client:
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            return await _body(response, target, most_bytes)
        finally:
            await response.aclose()


@asynccontextmanager
async def _client(guard: GuardedTransport, host: str, limit_s: float) -> AsyncIterator[httpx2.AsyncClient]:
    try:
        async with asyncio.timeout(limit_s), httpx2.AsyncClient(transport=guard, headers=_HEADERS) as client:
            yield client
    except TimeoutError:
        raise ToolFailed(f"{host} took over {limit_s:g} s; it was given up.", transient=True) from None
    except (httpx2.TimeoutException, httpx2.NetworkError) as error:
        raise ToolFailed(f"{host} cannot be reached ({type(error).__name__}).", transient=True) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        raise ToolFailed(f"{host} does not answer as a web server should ({type(error).__name__}).") from None


def _place(target: WebTarget) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port


async def _followed(guard: GuardedTransport, client: httpx2.AsyncClient, first: WebTarget, most_bytes: int) -> Fetched:
    target = first
    for _ in range(_MOST_HOPS + 1):
        async with client.stream("GET", target.url, follow_redirects=False) as response:
            if not response.has_redirect_location:
                return await _body(response, target, most_bytes)
            following = guard.read(str(response.url.join(response.headers["location"])))
        if following.site != first.site:
            return Fetched(target.url, response.status_code, elsewhere=following.url)
        target = following
    raise ToolFailed(f"{first.host} redirects more than {_MOST_HOPS} times.")


async def _body(response: httpx2.Response, target: WebTarget, most_bytes: int) -> Fetched:
    kind = Message()
    kind["content-type"] = response.headers.get("content-type", "")
    data = bytearray()
    async for piece in _decoded(response, most_bytes):
        data += piece
        if len(data) > most_bytes:
            break
    is_cut = len(data) > most_bytes
    return Fetched(
        target.url,
        response.status_code,
        kind.get_content_type() if kind["content-type"] else "",
        kind.get_content_charset() or "",
        bytes(data[:most_bytes]),
        is_cut,
    )


async def _decoded(response: httpx2.Response, most_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body's bytes, decompressed in small parts, so that a huge body is never in memory as a whole."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        async for piece in response.aiter_raw():
            yield piece
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        what = "The server answered in an encoding that was not asked for ({encoding!r})."
        raise ToolFailed(Phrase(what, {"encoding": encoding[:40]}))
    # 32 detects gzip and zlib headers: https://docs.python.org/3/library/zlib.html#zlib.decompress
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    async for piece in response.aiter_raw():
        try:
            yield unpacker.decompress(piece, most_bytes + 1)
        except zlib.error:
            raise ToolFailed("The server's answer is damaged: it cannot be unpacked.") from None
