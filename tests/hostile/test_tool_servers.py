"""Hostile tool servers: whatever one does, the model reads it fenced and clean, and the next server works."""

from __future__ import annotations

import json
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from app.base.clock import SystemClock
from app.base.withheld import without_secrets
from app.features.mcp.tools import MCP, McpTools
from app.protocol.call import Block, ToolCall, ToolResult
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Registry, TurnContext
from tests.support.mcp_world import World, a_world
from tests.support.sampling import sampled
from tests.support.walls import needs_wall

pytestmark = needs_wall  # a tool server runs in the sandbox

_CASES = tomllib.loads((Path(__file__).parent / "tool_servers.toml").read_text(encoding="utf-8"))["case"]
_IS_SLOW = {"an error without a number", "an answer that is nothing"}
"""Wisp waits for an answer for a minute there."""
_QUICK = [case for case in _CASES if case["id"] not in _IS_SLOW]
_SLOW = [pytest.param(case, id=case["id"], marks=pytest.mark.long) for case in _CASES if case["id"] in _IS_SLOW]
_MADE = {"@deep": '{"type": "object", "properties": ' + '{"a":' * 60 + "1" + "}" * 61, "@esc": "\\u001b"}
_HONEST = {"tools": [{"name": "act"}], "calls": {"act": [{"echo": True}]}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with a_world(tmp_path_factory) as made:
        honest = made.entry(_HONEST, "honest")
        await made.servers.tools(honest)
        yield made


async def _no(_step: ToolCall) -> str:
    return "No."


async def _run(world: World, tool: str, /, **arguments: Any) -> ToolResult:
    """The call as the person's own, in a turn in which every further question is answered with a no."""
    executor = Executor(Registry(MCP), [McpTools(world.servers)], SystemClock(), seed=1)
    done = await executor.run(Block("c1", tool, args=arguments), WrittenByThePerson(), TurnContext(_no))
    return done.result


def _told(case: dict[str, Any]) -> dict[str, Any]:
    text = case["told"]
    for mark, made in _MADE.items():
        text = text.replace(mark, made)
    told: dict[str, Any] = {"tools": [{"name": "act"}], **json.loads(text, strict=False)}
    return told


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", sampled(_QUICK, 12, lambda case: case["id"]) + _SLOW)
async def test_a_hostile_server_harms_nothing(world: World, case: dict[str, Any]) -> None:
    entry = world.entry(_told(case), timeout_s=1 if "1 s" in str(case) else 60)
    named = {"server_name": entry.name}
    listing = await _run(world, "list_mcp_tools", **named)
    read = [listing]
    assert listing.ok is ("ok" in case), listing.llm_echo[:500]
    for word in case.get("listing", ()):
        assert word in listing.llm_echo, listing.llm_echo[:500]
    if "ok" in case:
        used = await _run(world, "use_mcp_tool", **named, tool_name="act", arguments={})
        read.append(used)
        assert used.ok is case["ok"], used.llm_echo[:500]
        for word in case.get("answer", ()):
            assert word in used.llm_echo, used.llm_echo[-500:]
    if "again" in case:
        assert case["again"] in (await _run(world, "use_mcp_tool", **named, tool_name="act")).llm_echo
    whole = "".join(f"{one.llm_echo}{json.dumps(dict(one.payload), ensure_ascii=False)}" for one in read)
    assert [word for word in case.get("never", ()) if word in whole] == []
    assert [word for word in case.get("never_kept", ()) if word in without_secrets(whole)] == []
    honest = await _run(world, "use_mcp_tool", server_name="honest", tool_name="act", arguments={"a": 1})
    assert '{"a": 1}' in honest.llm_echo
