"""Tool servers (MCP): programs and services that add tools, held by a worker and pinned as they were agreed to.

Servers come in by the person's `mcp.json`, a workspace's `.mcp.json` and `wisp mcp`; calls come from the model, from
commands such as `/server:prompt`, and from a server's own page by `PageServers`, each through the gate. Answers go out
as others' words, and the page of a tool to whoever offers `PageShower`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room
from app.features.mcp.settings import ALL, SERVER_START_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.base.findings import Finding
    from app.tools.registry import Family
    from app.ui.machine import Ask, Collection, ListPage


class ToolServerFeature(Feature):
    name = "mcp"
    about = Phrase("Tool servers (MCP)")
    words = Path(__file__).parent / "words"
    commands = {"mcp": "list, add or remove tool servers (MCP), which let Wisp do more"}  # noqa: RUF012
    settings = ALL

    def families(self) -> Sequence[Family]:
        from app.features.mcp.tools import MCP

        return (MCP,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.agent.served_pages import PageServers, PageShower
        from app.features.mcp.declared import Declaring
        from app.features.mcp.page_calls import PageCalls
        from app.features.mcp.prompts import PromptCommands
        from app.features.mcp.servers import McpServers
        from app.features.mcp.tools import MCP, McpTools, ServerHints

        servers = McpServers(room.workspace.folder, room.clock, start_s=room.now()[SERVER_START_S])
        prompts, declaring = PromptCommands(servers), Declaring(servers)
        names = frozenset(spec.name for spec in MCP.tools)
        return OpenFeature(
            handlers=(McpTools(servers, lambda: room.offered(PageShower)),),
            offers={McpServers: servers, PageServers: PageCalls(servers)},
            remind=ServerHints(servers, declaring.declared_servers),
            expand=prompts.expand,
            completions=prompts.known,
            untaught=lambda: () if servers.is_any else names,
            around=declaring.around,
            close=servers.close,
        )

    def collections(self) -> Sequence[ListPage]:
        from app.ui.machine import ListPage

        def servers(ask: Ask) -> Collection:
            from app.features.mcp.page import ToolServers
            from app.features.mcp.servers import McpServers

            return ToolServers(ask.workspace(), lambda: ask.offered(McpServers))

        nothing = Phrase("No tool server is added yet. “wisp mcp add” in a terminal adds one.")
        search = Phrase("Search tool servers")
        return (ListPage("servers", Phrase("Tool servers"), search, servers, nothing=nothing, rank=40),)

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.mcp.configuration import check_servers

        return (check_servers,)


FEATURE = ToolServerFeature()
