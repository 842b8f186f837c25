"""A small HTTP/1.1 server for streamed answers: what it was asked is kept, what it answers is scripted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.support.loopback.replies import Broken, Drop, Reply, Stall, Status

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass
class Seen:
    """One request as it arrived. `hung_up` is set when the client closed the connection before the end."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    hung_up: threading.Event = field(default_factory=threading.Event)


Scripted = Reply | Status | str
Script = Scripted | Callable[[Seen], Scripted]


class LoopbackServer:
    """Answers the n-th request for a message with the n-th reply; a request too many is a 400 that says so.

    `requests` are those for messages, in order (`arrived` once there is one); `others` everything else.
    A subclass names its path and writes replies, errors and model lists in its vendor's format.
    """

    path = ""
    suffix = ""

    def __init__(self, replies: Iterable[Script] = (), models: Iterable[str] = ()) -> None:
        self.replies: list[Script] = list(replies)
        self.models = list(models)
        self.requests: list[Seen] = []
        self.others: list[Seen] = []
        self.port = 0
        self.arrived = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address to give the SDK as its base."""
        return f"http://127.0.0.1:{self.port}{self.suffix}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [seen.body for seen in self.requests]

    def refusal(self, seen: Seen) -> Status | None:
        """What the vendor itself would refuse in this request."""
        return None

    def events(self, reply: Reply, seen: Seen) -> Iterator[str | Stall | Drop]:
        raise NotImplementedError

    def error(self, status: Status) -> str:
        raise NotImplementedError

    def model_list(self) -> dict[str, Any]:
        raise NotImplementedError

    def other(self, seen: Seen) -> Status:
        """The answer to a path that is none of ours."""
        return Status(404)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        assert self._thread is not None
        self._thread.join()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with self:
            ready.set()
            await self._over.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                pass
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection may carry another."""
        seen = await _read(reader)
        if seen.path.partition("?")[0] != self.path:
            self.others.append(seen)
            return await self._write_plain(writer, *self._plain(seen))
        self.requests.append(seen)
        self.arrived.set()
        answer = self._answer(seen)
        if isinstance(answer, Status):
            text = answer.body if answer.body is not None else self.error(answer)
            return await self._write_plain(writer, answer.code, text, dict(answer.headers))
        try:
            return await self._write_stream(reader, writer, answer, seen)
        except ConnectionError:
            seen.hung_up.set()
            raise

    def _plain(self, seen: Seen) -> tuple[int, str, dict[str, str]]:
        if seen.path.partition("?")[0].endswith("/models"):
            return 200, json.dumps(self.model_list()), {}
        status = self.other(seen)
        return status.code, status.body if status.body is not None else self.error(status), dict(status.headers)

    def _answer(self, seen: Seen) -> Reply | Status:
        refused = self.refusal(seen)
        if refused is not None:
            return refused
        if not self.replies:
            return Status(400, message=f"The script holds no reply to request {len(self.requests)}.")
        script = self.replies.pop(0)
        scripted = script if isinstance(script, (Reply, Status, str)) else script(seen)
        return Reply.of(scripted) if isinstance(scripted, str) else scripted

    async def _write_plain(
        self, writer: asyncio.StreamWriter, code: int, text: str, headers: dict[str, str] | None = None
    ) -> bool:
        body = text.encode()
        lines = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        writer.write(_head(code, lines) + body)
        await writer.drain()
        return True

    async def _write_stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply, seen: Seen
    ) -> bool:
        writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
        async for piece in _cut(self.events(reply, seen), reply.bytes_at_once):
            if isinstance(piece, Drop):
                await writer.drain()
                writer.transport.abort()
                return False
            if isinstance(piece, Stall):
                await writer.drain()
                await reader.read(1)
                raise ConnectionResetError
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def _read(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.strip().split("\r\n")
    method, path, _ = line.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, path, headers, json.loads(body) if body else {})


def _head(code: int, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {code} {_REASONS.get(code, 'Status')}\r\n{lines}\r\n".encode("latin-1")


async def _cut(events: Iterator[str | Stall | Drop], size: int) -> AsyncIterator[bytes | Stall | Drop]:
    """The stream's bytes in pieces of `size` (0: one event each), giving way to the client between them."""
    for event in events:
        if isinstance(event, (Stall, Drop)):
            yield event
            continue
        data = event.encode()
        step = size or len(data)
        for start in range(0, len(data), step):
            yield data[start : start + step]
            await asyncio.sleep(0)


def broken(part: Broken) -> str:
    return f"event: content_block_delta\ndata: {part.data}\n\n"


def pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))
