"""Gets what a URL holds, within limits on bytes, hops and time."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.message import Message

import httpx2

from app.base.errors import ToolFailed
from app.services.network.guard import Guard
from app.services.network.targets import Target

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


async def fetch(guard: Guard, url: str, *, most_bytes: int = MOST_BYTES, limit_s: float = _LIMIT_S) -> Fetched:
    """GET it. Redirects are followed within the site; one to another site is told, so that it can be judged anew.

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


async def _followed(guard: Guard, client: httpx2.AsyncClient, first: Target, most_bytes: int) -> Fetched:
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


async def _body(response: httpx2.Response, target: Target, most_bytes: int) -> Fetched:
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
