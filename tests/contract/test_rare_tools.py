"""Rare tools in every dialect, with both vendors' SDKs: one line a family, docs on first use, declared from then on."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Outcome
from app.agent.policy import Mode
from app.base.clock import SystemClock
from app.protocol.call import ToolCall, ToolResult
from app.protocol.dialects.choose import NAMES, by_name
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec, ValueType
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import DOCS, Family, Registry, ToolDocs, TurnContext
from tests.contract.providers import VENDORS, Vendor
from tests.support.loopback import Call, Reply
from tests.support.stage import Stage

_KITCHEN = RareFamily("kitchen", "cook and clean")


class Kitchen:
    """Fake rare tools that remember what was asked of them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def cook(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(f"{call.text('dish')} for {call.integer('people', 1)}")
        return ToolResult(True, "cook", {}, "It is on the table.")

    async def clean(self, _call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append("cleaned")
        return ToolResult(True, "clean", {}, "All clean.")


RARE = Family(
    Kitchen,
    (
        ToolSpec(
            name="cook",
            description="Cook a dish. It is served at once.",
            effect=Effect.READS,
            execute=Kitchen.cook,
            attrs=(
                Param("dish", description="what to cook", required=True),
                Param("people", ValueType.INTEGER, "how many eat", minimum=1, maximum=9),
            ),
            rare=_KITCHEN,
        ),
        ToolSpec("clean", "Clean up.", Effect.READS, Kitchen.clean, rare=_KITCHEN),
    ),
)
REGISTRY = Registry(SAY, DOCS, RARE)


def _reply(dialect: str, number: int, tool: str, /, **args: Any) -> Reply:
    if dialect == "native":
        return Reply.of(Call(tool, args, f"call_{number}"), stop="tool_use")
    return Reply.of(by_name(dialect).write([ToolCall("", tool, args)], REGISTRY.specs))


def _names(body: dict[str, Any]) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())]


async def _played(
    folder: Path, dialect: str, vendor: Vendor, *replies: Reply
) -> tuple[list[str], list[dict[str, Any]]]:
    """What was cooked, and the bodies of the requests."""
    kitchen = Kitchen()
    async with vendor.server([*replies, Reply.of("Done.")]) as server:
        provider = vendor.provider(server.url, 20.0)
        executor = Executor(REGISTRY, [Speech(), ToolDocs(REGISTRY.specs), kitchen], SystemClock(), seed=1)
        kept: dict[str, Any] = {"mode": Mode.AUTO, "provider": provider, "model": vendor.model}
        stage = Stage(folder, dialect=dialect, registry=REGISTRY, executor=executor, **kept)

        def allow(event: AgentEvent) -> None:
            if isinstance(event, ApprovalWanted):
                stage.session.answer(event.approval_id, allow=True)

        stage.session.subscribe(allow)
        ended = await stage.send()
        await provider.close()
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Done.")
    return kitchen.done, server.bodies


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
@pytest.mark.parametrize("dialect", NAMES)
async def test_a_first_call_that_is_right_runs_and_brings_the_docs(
    tmp_path: Path, dialect: str, vendor: Vendor
) -> None:
    calls = _reply(dialect, 1, "cook", dish="soup"), _reply(dialect, 2, "cook", dish="fish", people=2)
    done, bodies = await _played(tmp_path, dialect, vendor, *calls)
    assert done == ["soup for 1", "fish for 2"]
    first, second, third = (json.dumps(body) for body in bodies)
    assert "kitchen (cook and clean): cook (dish), clean" in first
    assert "how many eat" not in first
    assert "how many eat" in second
    assert third.count("What cook takes:") == 1


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
@pytest.mark.parametrize("dialect", NAMES)
async def test_asking_brings_the_docs_of_a_whole_family(tmp_path: Path, dialect: str, vendor: Vendor) -> None:
    calls = _reply(dialect, 1, "tool_docs", name="kitchen"), _reply(dialect, 2, "clean")
    done, bodies = await _played(tmp_path, dialect, vendor, *calls)
    assert done == ["cleaned"]
    told = json.dumps(bodies[1])
    assert "What cook takes:" in told
    assert "What clean takes:" in told
    assert json.dumps(bodies[2]).count("What clean takes:") == 1


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
async def test_what_was_declared_before_stays_as_it_was(tmp_path: Path, vendor: Vendor) -> None:
    calls = (
        _reply("native", 1, "clean"),
        _reply("native", 2, "tool_docs", name="kitchen"),
        _reply("native", 3, "clean"),
    )
    done, bodies = await _played(tmp_path, "native", vendor, *calls)
    assert done == ["cleaned", "cleaned"]
    before = _names(bodies[0])
    assert "tool_docs" in before
    assert [_names(body) for body in bodies[1:]] == [
        [*before, "clean"],
        [*before, "clean", "cook"],
        [*before, "clean", "cook"],
    ]
    for earlier, later in itertools.pairwise(bodies):
        assert later["tools"][: len(earlier["tools"])] == earlier["tools"]
    cook = json.dumps(bodies[3]["tools"][-1])
    assert "how many eat" in cook


async def test_what_does_not_exist_is_answered_with_the_families(tmp_path: Path) -> None:
    replies = _reply("xml", 1, "tool_docs", name="garden")
    _, bodies = await _played(tmp_path, "xml", VENDORS[0], replies)
    assert "there is no tool or family 'garden'. The families: kitchen." in json.dumps(bodies[1])
