"""The HTTP that the browser of the surfaces speaks to Wisp's worker: one request and one answer a connection.

Everything that is no plain request of a page, such as a tunnel, is refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from app.base.values import dataclass
from app.features.apps.chromium import settings

HEAD_BYTES = 32_768
_BODY_BYTES, _ANSWER_BYTES = 1_600_000, 24_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `target` is an address, or a path of the worker itself; the names of `headers` are lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. `kind` is its media type; without a `policy` the browser may do nothing with it."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    policy: str = ""


def as_json(value: Any) -> Answer:
    return Answer(200, json.dumps(value).encode())


async def read(reader: asyncio.StreamReader) -> Request | None:
    """Read one HTTP request. Returns None for one that is refused as it stands, such as a tunnel."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().casefold(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
    length = int(headers.get("content-length", "0"))
    most = _ANSWER_BYTES if target == "/control" else _BODY_BYTES  # because an answer may hold a picture
    if method not in ("GET", "POST") or not 0 <= length <= most:
        return None
    return Request(method, target, headers, await reader.readexactly(length))


def encoded(answer: Answer) -> bytes:
    headers = dict(settings()["headers"])
    headers |= {"Content-Type": answer.kind, "Content-Length": str(len(answer.body)), "Connection": "close"}
    headers["Content-Security-Policy"] = answer.policy or "default-src 'none'; sandbox"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        f"HTTP/1.1 {answer.status} {'OK' if answer.status == 200 else 'Refused'}\r\n{lines}\r\n".encode() + answer.body
    )
