"""The list of tool servers on its page, and changes to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from app.base.clock import SystemClock
from app.base.phrases import Phrase
from app.features.mcp.command import remove_server, sign_in
from app.features.mcp.configuration import WORKSPACE_FILE
from app.features.mcp.servers import McpServers, ServerState, standard_pins
from app.ui.machine import CollectionEntry, no_such_action

_LOG_LINES = 5


class ToolServers:
    """The tool servers (MCP) of this workspace. `running` returns those of the conversation, which know what runs."""

    def __init__(self, workspace: Path, running: Callable[[], McpServers | None]) -> None:
        self._servers = McpServers(workspace, SystemClock())
        self._running = running

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        servers = self._running() or self._servers
        states = await asyncio.to_thread(servers.states)
        return [
            _server(state, [tool.name for tool in servers.pins.accepted(state.entry.pin)])
            for state in states
            if search.casefold() in state.entry.line.casefold()
        ]

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        match action:
            case "delete":
                await asyncio.to_thread(remove_server, self._servers, key)
            case "trust" | "ask":
                pin = (await asyncio.to_thread(self._servers.configuration.named, key)).pin
                await asyncio.to_thread(partial(standard_pins().trust, pin, is_trusted=action == "trust"))
            case "switch_on":
                await asyncio.to_thread(partial(self._servers.configuration.switch, key, is_on=True))
            case "switch_off":
                entry = await asyncio.to_thread(self._servers.configuration.named, key)
                await asyncio.to_thread(partial(self._servers.configuration.switch, key, is_on=False))
                if running := self._running():
                    await running.stop(entry)
            case "sign_in":
                await sign_in(self._servers, key)
            case _:
                raise no_such_action(action)
        return action


def _server(state: ServerState, tools: Sequence[str]) -> CollectionEntry:
    entry = state.entry
    states = {
        "off": Phrase("switched off"),
        "failed": Phrase("could not be started"),
        "running": Phrase("running"),
        "ended": Phrase("ended"),
    }
    parts = [
        *([states[state.state]] if state.state in states else []),
        *([Phrase("trusted")] if state.is_trusted else []),
        *([] if entry.is_own else [Phrase("of this workspace")]),
        Phrase("{count} tool", {"count": state.tools}, many="{count} tools")
        if state.tools
        else Phrase("no known tools"),
        entry.reach_in_words,
    ]
    whole: tuple[str | Phrase, ...] = (
        entry.line,
        *([state.failure] if state.failure else []),
        *([Phrase("Its tools: {names}.", {"names": ", ".join(tools)})] if tools else []),
        *([Phrase("It last printed: {words}", {"words": " · ".join(state.log[-_LOG_LINES:])})] if state.log else []),
    )
    switch = "switch_on" if entry.is_disabled else "switch_off"
    actions = (
        "ask" if state.is_trusted else "trust",
        *(["sign_in"] if entry.kind != "stdio" else []),
        *([switch] if entry.is_own else []),
    )
    file = "" if entry.is_own else str(Path(entry.home, WORKSPACE_FILE))
    return CollectionEntry(entry.name, entry.name, tuple(parts), whole, actions, file)
