"""Servers of this conversation, in a workspace and settings folder of the test's own."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.base.clock import SystemClock
from app.features.mcp.configuration import ServerEntry
from app.features.mcp.servers import McpServers, ServerState
from tests.support import tool_server


class World:
    """`servers` and the workspace that their programs are started in. One for all tests of a module, because the worker
    takes seconds to load; each entry gets a name of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.data = folder / "wisp"
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        shutil.copy(tool_server.__file__, self.workspace / "tool_server.py")
        self.servers = McpServers(self.workspace, SystemClock())
        self._names = itertools.count(1)

    def entry(self, told: dict[str, Any], name: str = "", **options: Any) -> ServerEntry:
        """An entry of the person's own for a server that does what `told` says; agreed to."""
        args = ["tool_server.py", json.dumps(told)]
        name = name or f"notes{next(self._names)}"
        told_so = {"command": "python3", "args": args, "cwd": str(self.workspace), **options}
        self.servers.configuration.add(name, told_so)
        entry = self.servers.configuration.named(name)
        assert self.servers.is_agreed(entry)
        return entry

    async def use(self, told: dict[str, Any], tool: str = "act", **options: Any) -> Any:
        """What the tool of such a server answers."""
        entry = self.entry({"tools": [{"name": tool}], **told}, **options)
        await self.servers.tools(entry)
        return await self.servers.use(entry, tool, {}, lambda *_: None)

    def state(self, entry: ServerEntry) -> ServerState:
        return next(state for state in self.servers.states() if state.entry.name == entry.name)


@asynccontextmanager
async def a_world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A world for a fixture of a whole module."""
    folder = tmp_path_factory.mktemp("servers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WISP_DATA_DIR", str(folder / "wisp"))
        made = World(folder)
        yield made
        await made.servers.close()
