"""Declare the tools of trusted tool servers to a model that takes declared tools, and read its calls of them.

Such a call becomes a call of `use_mcp_tool` before anybody else sees it, so that the policy, the pins and the cards are
the same. In the history it is the model's own call again. Tools that do not fit into the room for all servers, and
those of servers that are not trusted, are described and found as without this.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing
from typing import Any

from app.base.clipping import clip_line
from app.base.errors import ToolsDeclined
from app.base.signs import plain
from app.base.values import dataclass, replace
from app.features.mcp.pins import ServedTool
from app.features.mcp.servers import McpServers
from app.features.mcp.tools import USE
from app.protocol.call import JsonValue
from app.protocol.message import CallPart, Message
from app.providers.api import NativeCallDelta, NativeCallEnded, NativeCallStarted, Provider, Request, StreamEvent

_ROOM_CHARS = 4_000
"""About 1,200 tokens for all declarations together: the hints on servers have 1,300 with them."""
_NAME_CHARS = 64
_DESCRIPTION_CHARS = 300
_MOST_WRITTEN = 500
"""The calls that are shown as the model wrote them; earlier ones are shown as calls of `use_mcp_tool`."""
_FIELD = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINED = ("oneOf", "anyOf", "allOf")
_NO_SIGN = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A server's tool as it is declared: its name for the model, and the declaration."""

    name: str
    server: str
    tool: str
    schema: Mapping[str, JsonValue]


class DeclaredServerTools:
    """A provider that adds the tools of trusted servers to each request that declares tools.

    `is_native` says whether the session begins with declared tools.
    """

    def __init__(self, provider: Provider, servers: McpServers, *, is_native: bool) -> None:
        self.name = provider.name
        self._provider = provider
        self._servers = servers
        self._is_native = is_native
        self._written: dict[str, tuple[str, Mapping[str, JsonValue]]] = {}

    def declared(self) -> tuple[DeclaredTool, ...]:
        """What the next request declares: whole servers only, as many as there is room for. Blocks."""
        if not self._is_native or not self._servers.is_any:
            return ()
        found: dict[str, DeclaredTool] = {}
        left = _ROOM_CHARS
        for state in self._servers.states():
            if not state.is_trusted or state.state == "off":
                continue
            tools = [_declared(state.entry.name, tool) for tool in self._servers.pins.accepted(state.entry.pin)]
            size = sum(len(json.dumps(one.schema, ensure_ascii=False)) for one in tools if one)
            names = {one.name for one in tools if one}
            if all(tools) and size <= left and len(names) == len(tools) and not names & found.keys():
                left -= size
                found.update({one.name: one for one in tools if one})
        return tuple(found.values())

    def declared_servers(self) -> Collection[str]:
        """The servers whose tools are declared, so that nothing describes them twice. Blocks."""
        return {one.server for one in self.declared()}

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        tools = {one.name: one for one in await asyncio.to_thread(self.declared)} if request.tools else {}
        if tools:
            more = tuple(one.schema for one in tools.values())
            messages = tuple(self._as_written(message, tools) for message in request.messages)
            request = replace(request, tools=(*request.tools, *more), messages=messages)
        running: dict[str, DeclaredTool] = {}
        stream: Any = self._provider.stream(request)
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    for told in self._as_ours(event, tools, running):
                        yield told
        except ToolsDeclined:
            self._is_native = False  # from here on calls are written as text
            raise

    async def models(self) -> tuple[str, ...]:
        """Ask the service for its models, and return their ids."""
        return await self._provider.models()

    async def close(self) -> None:
        await self._provider.close()

    def _as_ours(
        self, event: StreamEvent, tools: Mapping[str, DeclaredTool], running: dict[str, DeclaredTool]
    ) -> list[StreamEvent]:
        """A call of a server's tool becomes one of `use_mcp_tool`; any other event is unchanged."""
        if isinstance(event, NativeCallStarted) and event.name in tools:
            running[event.call_id] = tools[event.name]
            return [NativeCallStarted(event.call_id, USE)]
        if isinstance(event, NativeCallDelta) and event.call_id in running:
            return []
        if isinstance(event, NativeCallEnded) and event.call_id in running:
            tool = running.pop(event.call_id)
            ours: dict[str, JsonValue] = {"server_name": tool.server, "tool_name": tool.tool}
            ours["arguments"] = dict(event.args)
            self._written.pop(event.call_id, None)
            self._written[event.call_id] = tool.name, ours
            while len(self._written) > _MOST_WRITTEN:
                del self._written[next(iter(self._written))]
            text = json.dumps(ours, ensure_ascii=False)
            return [NativeCallDelta(event.call_id, text), NativeCallEnded(event.call_id, ours, event.unread)]
        return [event]

    def _as_written(self, message: Message, tools: Mapping[str, DeclaredTool]) -> Message:
        """The calls of declared tools stand in it as the model wrote them."""

        def original(part: Any) -> Any:
            name, ours = self._written.get(part.id, ("", {})) if isinstance(part, CallPart) else ("", {})
            # Some servers use an id again: another call under it stays what it is.
            is_same = name in tools and part.name == USE and part.args == ours
            return replace(part, name=name, args=ours["arguments"]) if is_same else part

        return replace(message, parts=tuple(original(part) for part in message.parts))


def _declared(server: str, tool: ServedTool) -> DeclaredTool | None:
    """Return the declaration of a server's tool; None if its schema is none that a model can be given.

    Vendors refuse the whole request for a combined schema or a field with an odd name, at each pass.
    """
    fields = tool.schema.get("properties", {})
    is_plain = isinstance(fields, Mapping) and all(_FIELD.fullmatch(name) for name in fields)
    if tool.schema.get("type", "object") != "object" or not is_plain or any(one in tool.schema for one in _COMBINED):
        return None
    name = f"mcp__{_NO_SIGN.sub('_', server)}__{_NO_SIGN.sub('_', tool.name)}"[:_NAME_CHARS]
    description = clip_line(plain(tool.description)[0], _DESCRIPTION_CHARS) or tool.name
    shape: dict[str, JsonValue] = {**_described(tool.schema), "type": "object"}
    return DeclaredTool(
        name, server, tool.name, {"name": name, "description": f"{server}: {description}", "input_schema": shape}
    )


def _described(value: Any, *, is_names: bool = False) -> Any:
    """With short, plain descriptions. `is_names`: the keys of `value` are names of fields."""
    if isinstance(value, Mapping):
        return {
            name: clip_line(plain(inner)[0], _DESCRIPTION_CHARS)
            if name == "description" and isinstance(inner, str) and not is_names
            else _described(inner, is_names=name == "properties" and not is_names)
            for name, inner in value.items()
        }
    return [_described(inner) for inner in value] if isinstance(value, (list, tuple)) else value


class Declaring:
    """Puts `DeclaredServerTools` around the provider of a conversation."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers
        self._provider: DeclaredServerTools | None = None

    def around(self, provider: Provider, /, *, is_native: bool) -> Provider:
        self._provider = DeclaredServerTools(provider, self._servers, is_native=is_native)
        return self._provider

    def declared_servers(self) -> Collection[str]:
        """Return the names of the servers whose tools are declared. Blocks."""
        return self._provider.declared_servers() if self._provider else ()
