"""What a URL holds, as text: HTML as Markdown, documents as their text, plain text as it is."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from email.message import Message
from functools import partial
from typing import TYPE_CHECKING

import httpx2

from app.base.errors import ToolFailed
from app.base.values import dataclass
from app.services.files import parsing
from app.services.web.addresses import Address, WebTarget, is_loopback, read, why_refused

if TYPE_CHECKING:
    pass

_MOST_CHARS = 2_000_000
_DOCUMENTS = {
    "application/pdf": "page.pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "page.docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "page.xlsx",
}
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/toml")
_PLAIN, _SECURE = "http://", "https://"


@dataclass(frozen=True, slots=True)
class WebPage:
    """`elsewhere` is set, and nothing else, where the host sends the caller to another site."""

    url: str
    status: int
    media_type: str = ""
    text: str = ""
    is_cut: bool = False
    elsewhere: str = ""


class Pages:
    """Fetches through a guard of its own. `find` and `loopback` are for tests."""

    def __init__(self, *, find: Resolve | None = None, loopback: bool = False) -> None:
        self._find = find
        self._loopback = loopback

    async def get(self, url: str) -> WebPage:
        """The page. Raises ToolMisuse and ToolFailed with the reason."""
        fetched = await self._fetched(url)
        if fetched.elsewhere:
            return WebPage(fetched.url, fetched.status, elsewhere=fetched.elsewhere)
        text = await asyncio.to_thread(_text, fetched)  # on a thread, because a large page takes long to parse
        is_cut = fetched.is_cut or len(text) > _MOST_CHARS
        return WebPage(fetched.url, fetched.status, fetched.media_type, text[:_MOST_CHARS], is_cut)

    async def _fetched(self, url: str) -> Fetched:
        """By HTTPS where the host speaks it, also when it was not asked for; as it was asked for otherwise."""
        # On a thread, because the import takes long.
        await asyncio.to_thread(importlib.import_module, "app.services.web.pages")

        guard = partial(GuardedTransport, find=self._find or resolve, loopback=self._loopback)
        target = guard().read(url)
        if target.scheme == "http" and target.port == 80:
            try:
                return await fetch(guard(), _SECURE + target.url.removeprefix(_PLAIN))
            except ToolFailed as error:  # because the site may serve only plain http
                if not error.transient:
                    raise
        return await fetch(guard(), target.url)


def _text(fetched: Fetched) -> str:
    kind = fetched.media_type
    if kind in _HTML or (not kind and fetched.data.lstrip()[:1] == b"<"):
        options = {"charset": fetched.charset, "url": fetched.url}
        return "".join(parsing.texts("page", options, fetched.data, fetched.url))
    if kind in _DOCUMENTS:
        options = {"name": _DOCUMENTS[kind], "shown": fetched.url}
        return "".join(parsing.texts("document", options, fetched.data, fetched.url))
    if not kind or kind.startswith("text/") or kind in _TEXT or kind.endswith(("+json", "+xml")):
        return _plain(fetched)
    raise ToolFailed(f"{fetched.url} is {kind}, {len(fetched.data)} bytes, and no text. Tell the person where it is.")


def _plain(fetched: Fetched) -> str:
    if b"\0" in fetched.data[:4_096]:
        raise ToolFailed(f"{fetched.url} is no text.")
    try:
        return fetched.data.decode(fetched.charset or "utf-8", errors="replace")
    except LookupError:  # because servers name character sets that do not exist
        return fetched.data.decode("utf-8", errors="replace")


_MOST_TRIED = 3
_CONNECT_S = 5.0
_READ_S = 15.0

Resolve = Callable[[str, int], Awaitable[list[Address]]]


async def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a name, as the system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


async def public_addresses(target: WebTarget, find: Resolve = resolve, *, loopback: bool = False) -> list[Address]:
    """Where a connection to the target may go. One address that is not public refuses the whole name: ToolFailed."""
    if target.address is not None:
        found = [target.address]
    else:
        try:
            found = await find(target.host, target.port)
        except OSError:
            raise ToolFailed(f"There is no host called {target.host}, or this machine is offline.") from None
    for address in found:
        reason = why_refused(address)
        if reason and not (loopback and is_loopback(address)):
            raise ToolFailed(
                f"{target.host} leads to {reason} ({address}); only the public web is fetched. If the person wants "
                "that page, open it in their browser instead."
            )
    if not found:
        raise ToolFailed(f"{target.host} has no address.")
    return found[:_MOST_TRIED]


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport for httpx. `loopback` lets tests reach a server of their own; no setting leads to it.

    Raises ToolMisuse for what is no public URL and ToolFailed for a host that leads elsewhere.
    """

    def __init__(self, *, find: Resolve = resolve, loopback: bool = False) -> None:
        self._find = find
        self._loopback = loopback
        # No connection is kept, because the next request may be for another host at the same address.
        limits = httpx2.Limits(max_connections=8, max_keepalive_connections=0)
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False, limits=limits)

    def read(self, url: str) -> WebTarget:
        """The URL understood, or ToolMisuse."""
        return read(url, any_port=self._loopback)

    async def addresses(self, target: WebTarget) -> list[Address]:
        """Where the connection may go."""
        return await public_addresses(target, self._find, loopback=self._loopback)

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


MOST_BYTES = 5_000_000
"""Of a body, counted after decompression."""
_MOST_HOPS = 5
_LIMIT_S = 30.0
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; Wisp)",
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,application/pdf;q=0.8,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body, or where the host sends the caller instead (`elsewhere`, a URL of another site)."""

    url: str
    status: int = 200
    media_type: str = ""
    charset: str = ""
    data: bytes = b""
    is_cut: bool = False
    elsewhere: str = ""


async def fetch(
    guard: GuardedTransport, url: str, *, most_bytes: int = MOST_BYTES, limit_s: float = _LIMIT_S
) -> Fetched:
    """GET the URL. Follow redirects within the site. Report one to another site, so that the policy judges it first.

    Raises ToolMisuse and ToolFailed with the reason.
    """
    target = guard.read(url)
    try:
        async with asyncio.timeout(limit_s), httpx2.AsyncClient(transport=guard, headers=_HEADERS) as client:
            return await _followed(guard, client, target, most_bytes)
    except TimeoutError:
        raise ToolFailed(f"{target.host} took over {limit_s:g} s; it was given up.", transient=True) from None
    except (httpx2.TimeoutException, httpx2.NetworkError) as error:
        raise ToolFailed(f"{target.host} cannot be reached ({type(error).__name__}).", transient=True) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
        raise ToolFailed(f"{target.host} does not answer as a web server should ({type(error).__name__}).") from None


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
    """The body's bytes, unpacked a slice at a time: what a bomb would unpack to is never in memory."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        async for piece in response.aiter_raw():
            yield piece
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailed(f"The server answered in an encoding that was not asked for ({encoding[:40]!r}).")
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    async for piece in response.aiter_raw():
        try:
            yield unpacker.decompress(piece, most_bytes + 1)
        except zlib.error:
            raise ToolFailed("The server's answer is damaged: it cannot be unpacked.") from None
