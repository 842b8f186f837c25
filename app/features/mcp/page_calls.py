"""Calls that a server's own page makes (MCP Apps): of this server's tools only, as the person agreed to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from app.agent.served_pages import Approve, PageCall
from app.base.errors import ToolMisuse
from app.features.mcp.pins import named_tool
from app.features.mcp.servers import McpServers


class PageCalls:
    """Calls tools for the pages of servers. See `PageServers`."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    async def call(self, asked: PageCall, approve: Approve, /) -> Mapping[str, Any]:
        servers, name = self._servers, asked.server
        entry = await asyncio.to_thread(servers.configuration.named, name)
        if (asked.pin, asked.mark) != (entry.pin, entry.fingerprint):
            what = "is another tool server now than the one that this page came from."
            raise ToolMisuse(f"“{name}” {what} Use its tool again in the conversation.")
        if not await asyncio.to_thread(servers.may_start, entry):
            raise ToolMisuse(f"You have not agreed to start “{name}”.")
        try:
            tool = named_tool(await servers.tools(entry), asked.tool)
        except ToolMisuse:
            what = "this server has none of that name that you have agreed to."
            raise ToolMisuse(f"This page may use the tools of its own server only, and {what}") from None
        # What a tool may change is agreed to for these arguments only.
        only_reads = await asyncio.to_thread(servers.pins.only_reads, entry.pin, tool.name)
        covered = "" if only_reads else json.dumps(asked.arguments, sort_keys=True)
        await approve({"server_name": name, "tool_name": tool.name, "arguments": asked.arguments}, covered)
        answer = await servers.use(entry, tool.name, asked.arguments, lambda *_: None, whole=True, caller=asked.caller)
        if answer.question is not None:
            await servers.reply(entry, tool.name, None, caller=asked.caller)
            raise ToolMisuse(
                "The tool asks a question in the middle of the call. Use it in the conversation with Wisp."
            )
        return answer.whole
