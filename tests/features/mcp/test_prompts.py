"""Prompts of servers, called by the person as commands."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from app.base.errors import NeedsPerson, WispError
from app.features.mcp.prompts import PromptCommands
from tests.support.mcp_world import World, a_world
from tests.support.walls import needs_wall

pytestmark = [needs_wall, pytest.mark.asyncio(loop_scope="module")]  # a tool server runs in the sandbox

_PARTS = [{"name": "folder", "required": True}, {"name": "how"}]
_PROMPTS: dict[str, Any] = {
    "tools": [],
    "prompts": {
        "tidy": [_PARTS, "Tidy up {folder}."],
        "sum_up": [[], "Sum up the notes."],
        "hidden\u200b": [[], "Do it."],
        "blank": [[], " "],
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with a_world(tmp_path_factory) as made:
        made.entry(_PROMPTS, "notes")
        await PromptCommands(made.servers).expand("/notes:sum_up")
        yield made


async def test_commands_are_known_without_starting_the_server_once_it_was_looked_at(world: World) -> None:
    world.entry(_PROMPTS, "later")
    commands = PromptCommands(world.servers)
    assert commands.known() == ["/notes:tidy folder=", "/notes:sum_up", "/notes:blank"]
    await commands.expand("/later:sum_up")
    assert "/later:tidy folder=" in commands.known()
    world.servers.configuration.remove("later")
    assert "/later:tidy folder=" not in commands.known()


@pytest.mark.parametrize(
    ("written", "brought"),
    [
        ("/notes:sum_up", "Sum up the notes."),
        ("/notes:tidy folder=Downloads", "Tidy up Downloads."),
        ("/notes:tidy Downloads", "Tidy up Downloads."),
        ("/notes:tidy how=fast 'My papers'", "Tidy up My papers."),
        ("/notes:tidy don't", "Tidy up don't."),
        ("Tidy up /notes:sum_up", ""),
        ("/home/me/notes.txt", ""),
        ("open the calculator", ""),
    ],
)
async def test_a_command_brings_what_the_server_says(world: World, written: str, brought: str) -> None:
    assert await PromptCommands(world.servers).expand(written) == brought


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("/notes:tidy", "The prompt tidy needs folder. Write it so: /notes:tidy folder=… how=…"),
        ("/notes:gone", "There is no command /notes:gone. Known commands: /notes:tidy, /notes:sum_up, /notes:blank."),
        ("/noted:tidy", "There is no command /noted:tidy."),
        ("/notes:blank", "The prompt blank of notes is empty."),
    ],
)
async def test_a_command_that_cannot_be_done_says_why(world: World, written: str, sentence: str) -> None:
    with pytest.raises(WispError) as refused:
        await PromptCommands(world.servers).expand(written)
    assert str(refused.value).startswith(sentence)


async def test_a_server_of_the_workspace_that_nobody_agreed_to_is_not_started(world: World) -> None:
    told = {"command": "python3", "args": ["tool_server.py", json.dumps(_PROMPTS)]}
    (world.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": told}}))
    with pytest.raises(NeedsPerson, match="You have not agreed to theirs yet"):
        await PromptCommands(world.servers).expand("/theirs:sum_up")
    assert world.state(world.servers.configuration.named("theirs")).state == "new"
