"""The process that holds the connections to all servers. One task for each server opens, keeps and closes it.

It is a separate process because the SDK would freeze the interface: importing it holds Python's lock for up to half a
second at a time, and so does reading a large answer. Requests and answers are lines of JSON. A request has `id` and
`op`. Its answer has the same `id` with `ok`, or with `error` (a sentence) and `fault` (its kind); events come before
it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from app.base.clipping import clip_line
from app.base.errors import WispError
from app.base.signs import plain
from app.features.mcp.authorization import ANSWER_S, SignIn
from app.features.mcp.transports import Process, Streams, over_http

_QUESTION_CHARS = 64_000
_PAGE_CHARS = 4_000_000
_MOST_TOOLS = 500
_MOST_PAGES = 20
_MOST_LISTED = 100
_MOST_PICTURES = 4
_PICTURE_CHARS = 5_000_000
_OPEN_S = 30.0
_LONGEST_S = 600.0
_ANSWER_S = 300.0
_PROGRESS_S = 0.1
_SENTENCE_CHARS = 300
_LINE_BYTES = 32_000_000

_Request = Mapping[str, Any]
_Tell = Callable[[dict[str, Any]], None]


class _Transport:
    """A context manager for a server's streams. The task that owns the server opens and closes it."""

    def __init__(
        self, launch: _Request, process: Process | None, auth: SignIn | None, ended: Callable[[], None]
    ) -> None:
        self._launch = launch
        self._auth = auth
        self._process = process
        self._ended = ended
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Streams:
        opened = self._process.streams(self._ended) if self._process else over_http(self._launch, self._auth)
        return await self._stack.enter_async_context(opened)

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()


class _Call:
    """A running call with its time limit, which pauses while the person answers a question of the server."""

    def __init__(self, number: int, limit_s: float, tell: _Tell) -> None:
        self._number = number
        self._limit_s = limit_s
        self._tell = tell
        self._told_at = 0.0
        self._is_whole = False
        self._scope = asyncio.timeout(limit_s)
        self._latest = asyncio.get_running_loop().time() + max(_LONGEST_S, limit_s)
        self.answer: asyncio.Future[_Request] | None = None

    async def run(self, work: Awaitable[Any]) -> Any:
        async with self._scope:
            return await work

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        now = asyncio.get_running_loop().time()
        self._scope.reschedule(min(now + self._limit_s, self._latest))
        is_end = progress == total and not self._is_whole
        if now - self._told_at >= _PROGRESS_S or is_end:
            self._told_at, self._is_whole = now, progress == total
            text = clip_line(plain(message or "")[0], _SENTENCE_CHARS)
            self._tell({"id": self._number, "event": "progress", "done": progress, "of": total, "text": text})

    async def ask(self, question: dict[str, Any]) -> _Request:
        """Ask the person, and return their answer: `action` and `content`."""
        self._scope.reschedule(None)
        self.answer = asyncio.get_running_loop().create_future()
        self._tell({"id": self._number, "event": "question", **question})
        try:
            async with asyncio.timeout(_ANSWER_S):
                return await self.answer
        except TimeoutError:
            return {"action": "cancel"}
        finally:
            self.answer = None
            self._scope.reschedule(asyncio.get_running_loop().time() + self._limit_s)


class _Server:
    """One server and the task that owns its connection."""

    def __init__(self, request: _Request, tell: _Tell) -> None:
        self._launch: _Request = request["launch"]
        self._name: str = request["server"]
        self._tell = tell
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._process = Process(self._launch, self._note, self._report) if self._launch["kind"] == "stdio" else None
        self._client: Client | None = None
        self.auth = self._sign_in()
        self.calls: dict[int, _Call] = {}
        self._task = asyncio.create_task(self._own(str(request.get("mode", "auto"))))
        self._task.add_done_callback(self._gone)

    async def opened(self) -> None:
        """Wait until the connection is open. Raises the error that prevented it, or TimeoutError after the limit.

        A process has the limit of its launch: it may load for minutes. If it ends, that is known at once.
        """
        limit_s = float(self._launch["start_s"]) if self._process else _OPEN_S + (ANSWER_S if self._may_ask else 0)
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.shield(self._ready)
        except TimeoutError:
            await self.close()
            raise

    @property
    def client(self) -> Client:
        if self._client is None:
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
        return self._client

    @property
    def last_words(self) -> str:
        return self._process.said if self._process else ""

    async def close(self) -> None:
        self._end.set()
        if not self._ready.done():
            self._task.cancel()  # because it waits for the server, and not for the end
        await asyncio.wait([self._task], timeout=_OPEN_S)

    @property
    def _may_ask(self) -> bool:
        return bool(self._launch.get("auth", {}).get("may_ask"))

    def _sign_in(self) -> SignIn | None:
        if "auth" not in self._launch:
            return None
        url, is_local = str(self._launch["url"]), bool(self._launch["local"])
        return SignIn(url, self._launch["auth"], self._tell_named, is_local=is_local)

    def _tell_named(self, message: dict[str, Any]) -> None:
        self._tell({**message, "server": self._name})

    async def _own(self, mode: str) -> None:
        client = Client(
            _Transport(self._launch, self._process, self.auth, self._end.set),
            mode=mode,
            client_info=types.Implementation(name="wisp", version="1"),
            elicitation_callback=self._elicit,
            list_roots_callback=self._roots if self._launch["kind"] == "stdio" else None,
            message_handler=self._heard,
            cache=None,
        )
        async with client:
            self._client = client
            self._ready.set_result(None)
            await self._end.wait()
            self._client = None

    def _gone(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        self._client = None
        if self.auth:
            self.auth.close()
        if not self._ready.done():
            self._ready.set_exception(error or MCPError(CONNECTION_CLOSED, "Connection closed"))
            self._ready.exception()  # read here, because there may be no caller left
        self._tell({"event": "gone", "server": self._name, "text": self.last_words})

    def _note(self, sentence: str) -> None:
        self._tell({"event": "note", "server": self._name, "text": sentence})

    def _report(self, process: int) -> None:
        self._tell({"event": "process", "server": self._name, "pid": process})

    async def _heard(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._tell({"event": "changed", "server": self._name})

    async def _roots(self, _context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": self._launch["roots"]})

    async def _elicit(self, _context: Any, params: Any) -> types.ElicitResult:
        """Ask the person a server's question, as a part of the newest call. Without a call, the answer is "decline"."""
        if not self.calls:
            return types.ElicitResult(action="decline")
        schema = getattr(params, "requested_schema", None)
        question = {"text": str(params.message)[:_QUESTION_CHARS], "url": str(getattr(params, "url", "") or "")}
        answer = await list(self.calls.values())[-1].ask({**question, "schema": _jsonable(schema)})
        given = {name: answer[name] for name in ("action", "content") if name in answer}
        return types.ElicitResult.model_validate(given)


class _Worker:
    def __init__(self, wire: int) -> None:
        self._wire = wire
        self._servers: dict[str, _Server] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Serve until Wisp closes the pipe, then end every server."""
        reader = asyncio.StreamReader(limit=_LINE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            request = json.loads(line)
            if request["op"] == "cancel":
                if task := self._running.get(request["call"]):
                    task.cancel()
                continue
            number = int(request["id"])
            self._running[number] = asyncio.create_task(self._answer(number, request))
        for task in tuple(self._running.values()):
            task.cancel()
        await asyncio.gather(*(server.close() for server in self._servers.values()), return_exceptions=True)

    def _tell(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        with suppress(BrokenPipeError):  # because Wisp may have gone: then the next read ends this process
            while data:
                data = data[os.write(self._wire, data) :]

    async def _answer(self, number: int, request: _Request) -> None:
        done: Any
        try:
            (done,) = await asyncio.gather(self._do(number, request), return_exceptions=True)
        finally:
            del self._running[number]
        if isinstance(done, BaseException):
            server = self._servers.get(str(request.get("server", "")))
            fault, sentence = _fault(done)
            if server and server.auth and server.auth.problem:
                fault, sentence = "unsigned" if server.auth.is_wanted else "refused", server.auth.problem
            words = server.last_words if server else ""
            self._tell({"id": number, "error": sentence, "fault": fault, "said": words})
        else:
            self._tell({"id": number, "ok": done})

    async def _do(self, number: int, request: _Request) -> Any:
        operation, name = request["op"], str(request["server"])
        if operation == "open":
            return await self._open(name, request)
        server = self._servers.get(name)
        if operation == "close":
            if self._servers.pop(name, None) and server:
                await server.close()
            return None
        if server is None:
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
        if operation == "reply":
            call = server.calls.get(int(request["call"]))
            if call and call.answer and not call.answer.done():
                call.answer.set_result(request["answer"])
            return None
        call = _Call(number, float(request["limit_s"]), self._tell)
        server.calls[number] = call
        try:
            return await call.run(_OPERATIONS[operation](server.client, request, call))
        finally:
            del server.calls[number]

    async def _open(self, name: str, request: _Request) -> Any:
        if old := self._servers.pop(name, None):
            await old.close()
        self._servers[name] = server = _Server(request, self._tell)
        await server.opened()
        return {"is_legacy": server.client.protocol_version < "2026"}


async def _paged(fetch: Callable[..., Awaitable[Any]], items: str, most: int) -> list[Any]:
    """At most `most` items, because a server may send pages without end."""
    found: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        page = await fetch(cursor=cursor)
        found += getattr(page, items)
        cursor = page.next_cursor
        if cursor is None or cursor in seen or len(found) >= most:
            break
        seen.add(cursor)
    return found[:most]


async def _tools(client: Client, _request: _Request, _call: _Call) -> Any:
    tools = await _paged(client.list_tools, "tools", _MOST_TOOLS)
    return [
        {
            "name": tool.name,
            "description": tool.description or "",
            "schema": tool.input_schema,
            "only_reads": bool(tool.annotations and tool.annotations.read_only_hint),
            "page": _page_address(tool.meta),
        }
        for tool in tools
    ]


def _page_address(meta: Any) -> str:
    """The page that a server ships with a tool, in the present or the older spelling; or ""."""
    told = meta if isinstance(meta, Mapping) else {}
    inner = told.get("ui")
    address = (inner if isinstance(inner, Mapping) else {}).get("resourceUri") or told.get("ui/resourceUri")
    return address if isinstance(address, str) and address.startswith("ui://") else ""


async def _resources(client: Client, _request: _Request, _call: _Call) -> Any:
    """Those that can be read; [] if the server has none."""
    if not client.server_capabilities.resources:
        return []
    fixed = await _paged(client.list_resources, "resources", _MOST_LISTED)
    shaped = await _paged(client.list_resource_templates, "resource_templates", _MOST_LISTED)
    places = [(str(one.uri), one) for one in fixed] + [(one.uri_template, one) for one in shaped]
    return [{"uri": uri, "name": one.name, "description": one.description or ""} for uri, one in places]


async def _prompts(client: Client, _request: _Request, _call: _Call) -> Any:
    """With the names of their arguments; [] if the server has none."""
    if not client.server_capabilities.prompts:
        return []
    return [
        {
            "name": one.name,
            "arguments": [{"name": part.name, "required": bool(part.required)} for part in one.arguments or ()],
        }
        for one in await _paged(client.list_prompts, "prompts", _MOST_LISTED)
    ]


async def _prompt(client: Client, request: _Request, _call: _Call) -> Any:
    result = await client.get_prompt(request["prompt"], dict(request["arguments"]))
    return {"is_error": False, "parts": _parts([message.content for message in result.messages])}


async def _use(client: Client, request: _Request, call: _Call) -> Any:
    result = await client.call_tool(request["tool"], dict(request["arguments"]), progress_callback=call.progress)
    parts = _parts(result.content)
    structured = _jsonable(result.structured_content)
    has_text = any(part["kind"] == "text" for part in parts)
    if structured is not None and not has_text:
        parts.append({"kind": "text", "text": json.dumps(structured, ensure_ascii=False, indent=1)})
    for picture in [part["data"] for part in parts if part["kind"] == "picture"]:
        for told in (part for part in parts if part["kind"] == "text"):  # because some servers send it once more there
            told["text"] = told["text"].replace(picture, "[the picture]")
    answer = {"is_error": bool(result.is_error), "parts": parts}
    return {**answer, "whole": _jsonable(result)} if request.get("whole") else answer


async def _page(client: Client, request: _Request, _call: _Call) -> Any:
    """The page's text; "" if the resource is no page."""
    result = await client.read_resource(request["uri"])
    pages = [one for one in result.contents if str(one.mime_type or "").startswith("text/html")]
    text = getattr(pages[0], "text", "") if pages else ""
    return text[:_PAGE_CHARS] if isinstance(text, str) else ""


async def _read(client: Client, request: _Request, _call: _Call) -> Any:
    result = await client.read_resource(request["uri"])
    return {"is_error": False, "parts": _parts([_embedded(one) for one in result.contents])}


_OPERATIONS: Mapping[str, Callable[[Client, _Request, _Call], Awaitable[Any]]] = {
    "tools": _tools,
    "resources": _resources,
    "prompts": _prompts,
    "prompt": _prompt,
    "use": _use,
    "read": _read,
    "page": _page,
}


def _embedded(contents: Any) -> Any:
    return types.EmbeddedResource(resource=contents)


def _parts(content: Sequence[Any]) -> list[dict[str, Any]]:
    """Texts and pictures. Content of another kind becomes a line that names it."""
    parts: list[dict[str, Any]] = []
    pictures = 0
    for item in content:
        data, kind = _picture(item)
        if data and pictures < _MOST_PICTURES and len(data) <= _PICTURE_CHARS:
            pictures += 1
            parts.append({"kind": "picture", "data": data, "type": kind})
        else:
            parts.append({"kind": "text", "text": _text(item)})
    return parts


def _picture(item: Any) -> tuple[str, str]:
    inner = getattr(item, "resource", item)
    kind = str(getattr(inner, "mime_type", "") or "")
    data = getattr(inner, "data", None) or getattr(inner, "blob", None) or ""
    return (str(data), kind) if kind.startswith("image/") else ("", "")


def _text(item: Any) -> str:
    inner = getattr(item, "resource", item)
    text = getattr(inner, "text", None)
    if isinstance(text, str):
        return text
    uri, kind = str(getattr(inner, "uri", "")), str(getattr(inner, "mime_type", "") or "data")
    size = len(getattr(inner, "data", None) or getattr(inner, "blob", None) or "") * 3 // 4
    return f"[{kind}, {size} bytes, not shown] {uri}".rstrip() if size else f"[a link] {uri}"


def _jsonable(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


def _fault(error: BaseException) -> tuple[str, str]:
    """The error's kind, and a sentence. Looks into groups: the SDK puts most errors in one."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    words = clip_line(plain(str(error))[0], _SENTENCE_CHARS) or type(error).__name__
    if isinstance(error, MCPError):
        return ("dead" if error.code == CONNECTION_CLOSED else "refused"), clip_line(
            plain(error.message)[0], _SENTENCE_CHARS
        )
    if isinstance(error, WispError):  # the address checks
        return "refused", clip_line(plain(error.why.what.for_models)[0], _SENTENCE_CHARS)
    if isinstance(error, TimeoutError):
        return "silent", "It did not answer in time."
    if isinstance(error, asyncio.CancelledError):
        return "cancelled", "It was cancelled."
    if isinstance(error, OSError):
        return "unstarted", words
    return "damaged", f"{type(error).__name__}: {words}"


def run(_arguments: Sequence[str] = ()) -> int:
    """Serve until standard input ends. Output of libraries goes to standard error."""
    wire = os.dup(1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")  # because the SDK warns of revisions that servers still speak
    logging.disable(logging.CRITICAL)
    asyncio.run(_Worker(wire).serve())
    return 0
