"""A goal is pursued by a conversation of its own inside the turn: same person, same stop, same account."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import ApprovalWanted, Outcome, SayDelta, TagStart, ToolFinished, ToolProgress, UsageChanged
from app.agent.deps import Nearby
from app.desktop.choose import open_desktop
from app.providers.api import Stopped, TextDelta, Usage
from app.providers.scripted import Reply
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Registry
from app.tools.subagent import GOALS, Goals
from tests.support.stage import WORKBENCH, FakeClock, Stage, Workbench

_DONE = "<attempt_completion><result>The button is on.</result></attempt_completion>"


class GoalStage(Stage):
    """A stage on which `computer_use` can be called; goals have the workbench's tools, too."""

    def __init__(self, folder: Path, *replies: Reply, **more: Any) -> None:
        desktop = open_desktop(dry_run=True)
        near, own, clock = Registry(SAY, WORKBENCH), Workbench(), FakeClock()
        registry = Registry(SAY, WORKBENCH, GOALS)
        super().__init__(
            folder,
            *replies,
            registry=registry,
            executor=Executor(registry, [Speech(), own, Goals(desktop)], clock, seed=1),
            nearby=Nearby(near, Executor(near, [Speech(), own], clock, seed=1)),
            **more,
        )
        self.registry, self.bench, self.desktop = registry, own, desktop


@pytest.fixture
def made(tmp_path: Path) -> Any:
    stages: list[GoalStage] = []

    def make(*replies: Reply, **more: Any) -> GoalStage:
        stages.append(GoalStage(tmp_path, *replies, **more))
        return stages[-1]

    yield make
    for stage in stages:
        stage.desktop.close()


async def test_a_goal_is_looked_at_acted_on_and_told_with_a_picture(made: Any) -> None:
    stage = made("<computer_use>Switch it on.</computer_use>", "<look/>", '<click x="3"/>', _DONE, "It is on.")
    ended = await stage.send("Switch the light on.")
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "It is on.")
    assert stage.bench.done == ["look", "click 3", "clicked 3"]
    told = stage.provider.requests[-1].messages[-1]
    assert "It says that the goal is reached: The button is on." in stage.asked(-1)
    assert "- A picture of the screen.\n- Clicked." in stage.asked(-1)
    assert any(getattr(part, "media", None) for part in told.parts)


async def test_the_goal_is_all_that_is_known_of_the_conversation(made: Any) -> None:
    stage = made("<computer_use>Switch it on.</computer_use>", _DONE, "Fine.")
    await stage.send("My secret wish.")
    inner = stage.provider.requests[1]
    assert inner.messages[0].parts[0].text == "Switch it on."
    assert "My secret wish" not in str(inner.messages)
    assert "computer_use" not in inner.system


async def test_its_cards_open_and_close_inside_the_card_of_the_call(made: Any) -> None:
    stage = made("<computer_use>Go.</computer_use>", "Looking. <look/>", _DONE, "Over.")
    await stage.send()
    cards = [(type(e).__name__, e.tool, getattr(e, "within", "")) for e in stage.of(TagStart, ToolFinished)]
    outer = stage.of(TagStart)[0].call_id
    assert [(name, tool) for name, tool, _ in cards] == [
        ("TagStart", "computer_use"), ("TagStart", "look"), ("ToolFinished", "look"), ("ToolFinished", "computer_use"),
    ]  # fmt: skip
    assert (cards[1][2] != "", cards[0][2]) == (True, "")
    passes = [event.payload["pass"] for event in stage.of(ToolProgress) if event.call_id == outer]
    assert passes == [1, 2]
    assert [event.text for event in stage.of(SayDelta)] == ["Over."]


async def test_it_ends_at_its_own_ceiling_of_passes(made: Any) -> None:
    stage = made('<computer_use max_passes="2">Go.</computer_use>', '<click x="1"/>', '<click x="2"/>', "I gave up.")
    ended = await stage.send()
    assert ended.text == "I gave up."
    assert stage.bench.done == ["click 1", "clicked 1", "click 2", "clicked 2"]
    assert "The goal was not reached: It was not reached in 2 passes" in stage.asked(-1)


async def test_it_cannot_set_itself_a_goal(made: Any) -> None:
    nested = "<computer_use>Go deeper.</computer_use>"
    stage = made("<computer_use>Go.</computer_use>", nested, "I cannot.", "So be it.")
    await stage.send()
    finished = [event.ok for event in stage.of(ToolFinished) if event.tool == "computer_use"]
    assert (finished[0], len(finished)) == (False, 2)
    assert "There is no tool called 'computer_use'" in stage.asked(2)


async def test_a_declared_nested_goal_is_refused(made: Any) -> None:
    stage = made(
        "<think>x</think><execute>[{\"name\": \"computer_use\", \"args\": {\"goal\": \"Go.\"}}]</execute>",
        "<execute>[{\"name\": \"computer_use\", \"args\": {\"goal\": \"Deeper.\"}}]</execute>",
        "<execute>[{\"name\": \"attempt_completion\", \"args\": {\"result\": \"No.\"}}]</execute>",
        "Over.",
        dialect="batch",
    )  # fmt: skip
    await stage.send()
    assert "There is no tool called 'computer_use'" in stage.asked(2)


async def test_what_would_be_asked_is_asked_inside_as_well(made: Any) -> None:
    stage = made("<computer_use>Go.</computer_use>", '<run command="rm x"/>', _DONE, "Over.")
    asked = asyncio.Event()
    stage.session.subscribe(lambda event: asked.set() if isinstance(event, ApprovalWanted) else None)
    turn = asyncio.ensure_future(stage.send())
    await asked.wait()
    assert stage.bench.done == []
    stage.session.answer(stage.of(ApprovalWanted)[0].approval_id, allow=False, words="not that one")
    await turn
    assert stage.bench.done == []
    assert "not that one" in stage.asked(2)


async def test_what_is_refused_inside_counts_for_the_turn_so_that_no_row_of_goals_goes_on_asking(made: Any) -> None:
    goal = ("<computer_use>Go.</computer_use>", *[f'<run command="rm {name}"/>' for name in "abc"], "I was refused.")
    stage = made(*goal, "Nothing was allowed.", *goal)

    def deny(event: Any) -> None:
        if isinstance(event, ApprovalWanted):
            asyncio.get_running_loop().call_soon(lambda: stage.session.answer(event.approval_id, allow=False))

    stage.session.subscribe(deny)
    ended = await stage.send()
    assert ended.text == "Nothing was allowed."
    assert len(stage.of(ApprovalWanted)) == 3
    assert stage.bench.done == []


async def test_a_stop_ends_it_at_once_and_closes_every_card(made: Any) -> None:
    stage = made("<computer_use>Go.</computer_use>", '<long name="a"/>')
    turn = asyncio.ensure_future(stage.send())
    await stage.bench.began.wait()
    stage.session.stop()
    ended = await turn
    assert (ended.outcome, stage.bench.cancelled) == (Outcome.STOPPED, 1)
    opened = [event.call_id for event in stage.of(TagStart)]
    assert sorted(opened) == sorted(event.call_id for event in stage.of(ToolFinished))


async def test_words_of_the_person_end_it_and_are_heard(made: Any) -> None:
    stage = made("<computer_use>Go.</computer_use>", '<long name="a"/>', "Heard.")
    turn = asyncio.ensure_future(stage.send())
    await stage.bench.began.wait()
    meanwhile = asyncio.ensure_future(stage.send("Leave it."))
    await asyncio.sleep(0)
    stage.bench.hold.set()
    await asyncio.gather(turn, meanwhile)
    assert "While you worked, the person said: Leave it." in stage.asked(-1)
    assert len(stage.provider.requests) == 3


async def test_what_it_costs_counts_for_the_turn(made: Any) -> None:
    def costing(text: str) -> list[object]:
        return [Usage(input_tokens=1000, output_tokens=100), TextDelta(text), Stopped("end_turn")]

    stage = made(costing("<computer_use>Go.</computer_use>"), costing("<look/>"), costing(_DONE), costing("Over."))
    await stage.send()
    last = stage.of(UsageChanged)[-1]
    assert (last.input_tokens, last.output_tokens) == (4000, 400)


async def test_without_a_goal_nothing_begins(made: Any) -> None:
    stage = made("<computer_use>  </computer_use>", "Over.")
    await stage.send()
    assert "computer_use" in stage.asked(1)
    assert len(stage.provider.requests) == 2
