"""How the worker reaches a server: through the pipes of a process, or by HTTP to one origin. Used in the worker.

The SDK's own pipe reader joins its buffer again with each chunk (50 MB on one line take it 7 to 21 seconds) and ends on
invalid UTF-8. This one stops a server that sends more than `MOST_BYTES` on one line, and skips lines without a message.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from app.features.mcp.authorization import SIGNING_IN
from app.services.web.fetching import GuardedTransport

MOST_BYTES = 16_000_000
"""The limit for one line of a server, or one answer over HTTP."""
_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # because Windows has no such signal
_CHUNK = 65_536
_LAST_WORDS = 2_000
_GRACE_S = 2.0
_READ_S = 600.0
"""Long, because a stream of events may stay silent; each call has its own limit."""
_CONNECT_S = 10.0

Note = Callable[[str], None]
Streams = tuple[Any, Any]


class Process:
    """A server's process and its pipes. `said` is the end of its stderr."""

    def __init__(self, launch: Mapping[str, Any], note: Note, started: Callable[[int], None]) -> None:
        self._launch = launch
        self._note = note
        self._started = started
        self._process: asyncio.subprocess.Process | None = None
        self._warned = False
        self.said = ""

    @asynccontextmanager
    async def streams(self, ended: Callable[[], None]) -> AsyncIterator[Streams]:
        """Return a context manager that starts the process and gives the SDK's two streams. Raises OSError.

        At the end, it ends the whole process group. `ended` is called when the process closes its output.
        """
        launch = self._launch
        self._process = process = await asyncio.create_subprocess_exec(
            *launch["argv"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(launch["environment"]),
            cwd=launch["cwd"],
            start_new_session=True,  # so that the server and its children can be ended as one group
        )
        self._started(process.pid)
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        reading = asyncio.create_task(self._read(process, incoming))
        reading.add_done_callback(lambda _: ended())
        tasks = [
            reading,
            asyncio.create_task(self._write(process, outgoing, incoming)),
            asyncio.create_task(self._listen(process)),
        ]
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(process)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (read, write, incoming, outgoing):
                stream.close()

    async def _read(self, process: asyncio.subprocess.Process, incoming: Any) -> None:
        assert process.stdout
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for line in self._lines(process.stdout):
                with suppress(ValueError, RecursionError):
                    message = jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
                    await incoming.send(SessionMessage(message))
                    continue
                if line.strip() and not self._warned:
                    self._warned = True
                    self._note("It prints on its standard output what is no message; that is skipped.")
        incoming.close()

    async def _lines(self, stdout: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """Yield the lines that the process prints. It is killed if one line exceeds `MOST_BYTES`."""
        buffer, looked = bytearray(), 0
        while chunk := await stdout.read(_CHUNK):
            buffer += chunk
            while (end := buffer.find(b"\n", looked)) >= 0:
                yield bytes(buffer[:end])
                del buffer[: end + 1]
                looked = 0
            looked = len(buffer)
            if looked > MOST_BYTES:
                self._note(f"It sent more than {MOST_BYTES // 1_000_000} MB on one line and was stopped.")
                self._kill(_SIGKILL)
                return

    async def _write(self, process: asyncio.subprocess.Process, outgoing: Any, incoming: Any) -> None:
        assert process.stdin
        try:
            async for sent in outgoing:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
        except OSError:  # because the server has closed its input: the SDK must see an end
            incoming.close()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr
        while chunk := await process.stderr.read(_CHUNK):
            self.said = (self.said + chunk.decode(errors="replace"))[-_LAST_WORDS:]

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """End the process as the protocol demands: close its input, wait, send SIGTERM, wait, kill."""
        assert process.stdin
        process.stdin.close()
        # The order is the specification's: https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle
        for number in (None, signal.SIGTERM):
            if number is not None:
                self._kill(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_S):
                    await process.wait()
                    break
        if sys.platform != "win32":
            self._kill(_SIGKILL)  # the whole group, because its children may still run
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()

    def _kill(self, number: int) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):  # because it may have ended already
            if sys.platform != "win32":
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()


class OneOrigin(httpx2.AsyncBaseTransport):
    """HTTP to the origin of the server's entry, and to public hosts for a sign-in.

    `is_local`: the entry is for this machine or its network; otherwise its address must be public. An answer may have
    at most `MOST_BYTES`.
    """

    def __init__(self, url: str, *, is_local: bool) -> None:
        self._origin = _origin(httpx2.URL(url))
        self._guarded = GuardedTransport(read_s=_READ_S)
        self._inner: httpx2.AsyncBaseTransport = (
            httpx2.AsyncHTTPTransport(trust_env=False) if is_local else self._guarded
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        inner = self._inner
        if _origin(request.url) != self._origin:
            if SIGNING_IN not in request.extensions:
                other = f"{request.url.host} is another place than this server's own."
                raise httpx2.ConnectError(other, request=request)
            # A sign-in may be at another port of the server's own host. Every other host must be a public one.
            inner = self._inner if request.url.host == self._origin[1] else self._guarded
        response = await inner.handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Counted(response.stream),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()
        if self._inner is not self._guarded:
            await self._guarded.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise httpx2.ReadError(f"It sent more than {MOST_BYTES // 1_000_000} MB.")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


@asynccontextmanager
async def over_http(launch: Mapping[str, Any], auth: httpx2.Auth | None) -> AsyncIterator[Streams]:
    """The context has the two streams of a server reached by its address. `auth` signs in to it."""
    url, headers = str(launch["url"]), dict(launch["headers"])
    make = partial(_client, OneOrigin(url, is_local=bool(launch["local"])))
    if launch["kind"] == "sse":
        async with sse_client(url, headers, timeout=_CONNECT_S, httpx_client_factory=make, auth=auth) as streams:
            yield streams
        return
    async with make(headers=headers, auth=auth) as client, streamable_http_client(url, http_client=client) as streams:
        yield streams


def _client(transport: httpx2.AsyncBaseTransport, **options: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=transport,
        headers=options.get("headers"),
        auth=options.get("auth"),
        timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
        follow_redirects=False,
        trust_env=False,
    )
