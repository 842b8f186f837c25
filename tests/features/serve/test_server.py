"""The MCP server as a client meets it: what it is told, what needs the person's yes, and what a stop does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from app.assistant import Assistant, assembled
from app.features.serve.server import ClientDesk
from app.history.archive import read_journal
from app.services.journal.audit import newest
from app.settings.store import Settings

_MOST_TOKENS = 3500
_CHARS_A_TOKEN = 4
_SHOWN_CHARS = 512
"""So much of the instructions reaches every client's model: the first paragraph must stand alone."""
_ALWAYS_ASKED = ("set_wallpaper", {"restore": True})


class Person:
    """Somebody at the client's window, who gives these answers one after the other."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def answer(self, _context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        given = self._answers.pop(0)
        return (
            types.ElicitResult(action="accept", content={"answer": given})
            if given
            else types.ElicitResult(action="decline")
        )


@pytest.fixture(autouse=True)
def nobody_at_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the display of other tests, a presence would start and ask."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def _connected(
    folder: Path,
    person: Person | None = None,
    *,
    mode: str = "auto",
    allowed: Sequence[str] = (),
    everything: bool = True,
    may_elicit: bool = True,
) -> AsyncIterator[tuple[Client, Assistant]]:
    """A client without a screen and without a presence, called Robby."""
    settings = Settings({"files.workspace": str(folder)}, {})
    async with assembled(settings, without_screen=True, allowed=allowed) as assistant:

        async def open_assistant() -> Assistant:
            return assistant

        desk = ClientDesk(open_assistant, everything=everything, may_elicit=may_elicit, is_own_desktop=False)
        how: dict[str, Any] = {"elicitation_callback": person.answer} if person else {}
        info = types.Implementation(name="robby", title="Robby", version="1")
        async with Client(desk.server("1.0"), mode=mode, client_info=info, **how) as client:
            yield client, assistant


def _text(result: types.CallToolResult) -> str:
    return "\n".join(one.text for one in result.content if one.type == "text")


async def test_the_core_tools_cost_few_tokens_and_every_tool_is_one_of_wisps(tmp_path: Path) -> None:
    async with _connected(tmp_path, everything=False) as (client, assistant):
        core = (await client.list_tools()).tools
        first = (client.instructions or "").split("\n\n")[0]
    async with _connected(tmp_path) as (client, _):
        everything = (await client.list_tools()).tools
    told = [json.dumps(one.model_dump(by_alias=True, exclude_none=True, mode="json")) for one in core]
    assert sum(map(len, told)) / _CHARS_A_TOKEN < _MOST_TOKENS
    assert len(first) <= _SHOWN_CHARS
    assert {one.name for one in core} < {one.name for one in everything} <= {one.name for one in assistant.registry}


async def test_results_hold_text_facts_and_pictures(tmp_path: Path) -> None:
    async with _connected(tmp_path) as (client, _):
        look = await client.call_tool("screen_capture", {})
        wrote = await client.call_tool("write_file", {"path": "a.txt", "content": "x"})
        wrong = await client.call_tool("computer_click", {"x": "left"})
        unknown = await client.call_tool("computer_clik", {})
    assert ([one.type for one in look.content], look.structured_content) == (["text", "image"], None)
    assert wrote.structured_content["text"] == _text(wrote)
    assert wrote.structured_content["facts"]
    assert (wrong.is_error, unknown.is_error) == (True, True)
    assert "computer_click" in _text(unknown)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_persons_answer_decides_and_the_client_brings_the_question(tmp_path: Path, mode: str) -> None:
    """In both ways in which MCP asks: by a request of the server, and by an answer that asks for input."""
    person = Person("no", "", "yes")
    async with _connected(tmp_path, person, mode=mode) as (client, _):
        await client.call_tool("list_windows", {})
        results = [await client.call_tool(*_ALWAYS_ASKED) for _ in range(3)]
    assert [_text(one).count("said no") for one in results] == [1, 1, 0]
    assert all("Robby" in one and "restore" in one for one in person.asked)
    entries = await asyncio.to_thread(read_journal, partial(newest, limit=9))
    kinds = [json.loads(one.entry.details) | {"is": one.entry.kind} for one in entries]
    told = [one["is"] for one in kinds if one.get("client") == "Robby"]
    assert told[:4] == ["looked", "refused", "refused", "allowed"]


@pytest.mark.parametrize("may_elicit", [True, False])
async def test_a_client_that_cannot_or_may_not_ask_is_refused_with_the_way(tmp_path: Path, may_elicit: bool) -> None:
    person = None if may_elicit else Person("yes")
    async with _connected(tmp_path, person, may_elicit=may_elicit) as (client, _):
        refused = await client.call_tool(*_ALWAYS_ASKED)
    assert refused.is_error
    assert "--allow" in _text(refused)
    assert person is None or not person.asked


async def test_what_the_command_allows_needs_no_answer(tmp_path: Path) -> None:
    async with _connected(tmp_path, allowed=["set_wallpaper"]) as (client, _):
        assert "permission" not in _text(await client.call_tool(*_ALWAYS_ASKED))


async def test_a_stop_ends_the_call_and_the_next_one_needs_a_yes(tmp_path: Path) -> None:
    person = Person("no", "yes")
    async with _connected(tmp_path, person) as (client, assistant):
        has_begun = asyncio.Event()

        async def progress(*_told: Any) -> None:
            has_begun.set()

        wait = {"file": "never.txt", "timeout_seconds": 60}
        waiting = asyncio.ensure_future(client.call_tool("wait_until", wait, progress_callback=progress))
        await has_begun.wait()
        assistant.stop()
        ended = await waiting
        results = [await client.call_tool("list_windows", {}) for _ in range(2)]
    assert ended.is_error
    assert [one.is_error for one in results] == [True, False]
    assert len(person.asked) == 2


async def test_a_cancelled_call_ends_and_the_next_one_runs(tmp_path: Path) -> None:
    async with _connected(tmp_path) as (client, _):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.call_tool("wait_until", {"seconds": 60}), 0.3)
        assert not (await client.call_tool("list_windows", {})).is_error
