"""The loop over JSON batches: side by side, in order where it matters, every call answered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from app.agent.agent_events import Outcome, PassStarted, SayDelta, TagStart, ToolFinished, ToolRunning
from app.agent.policy import Mode
from app.protocol.message import ImagePart
from tests.support.stage import PICTURE, Stage, texts


def _batch(*calls: tuple[str, dict[str, Any]]) -> str:
    listed = [{"name": name, "args": args} for name, args in calls]
    return f"<execute>{json.dumps(listed)}</execute>"


def _results(stage: Stage, request: int) -> list[dict[str, Any]]:
    text = stage.asked(request)
    found: list[dict[str, Any]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    return found


async def test_a_batch_is_run_and_all_its_results_come_back_by_position(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        "Looking. " + _batch(("look", {}), ("read", {"path": "a"}), ("fly", {}), ("read", {})) + " and more prose",
        "Seen.",
        dialect="batch",
    )
    ended = await stage.send()
    assert (ended.outcome, ended.text, stage.provider.cut) == (Outcome.FINISHED, "Seen.", 1)
    results = _results(stage, 1)
    assert [result["tool"] for result in results] == ["look", "read", "fly", "read"]
    assert [result["status"] for result in results] == ["success", "success", "failure", "failure"]
    assert ImagePart(PICTURE) in stage.provider.requests[1].messages[-1].parts
    said = texts(stage.provider.requests[1].messages[1].parts)
    assert said.startswith("Looking. <execute>")
    assert said.endswith("</execute>")


async def test_every_call_of_a_batch_has_its_card(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _batch(("look", {}), ("fly", {})), "Done.", dialect="batch")
    await stage.send()
    cards = [event for event in stage.events if isinstance(event, (TagStart, ToolRunning, ToolFinished))]
    assert [(type(event).__name__, event.call_id, event.tool) for event in cards if event.call_id == "c1"] == [
        ("TagStart", "c1", "look"),
        ("ToolRunning", "c1", "look"),
        ("ToolFinished", "c1", "look"),
    ]
    assert [(type(event).__name__, event.tool) for event in cards if event.call_id == "c2"] == [
        ("TagStart", "fly"),
        ("ToolFinished", "fly"),
    ]


async def test_calls_of_a_batch_run_side_by_side(tmp_path: Path) -> None:
    batch = _batch(("fetch", {"url": "https://a.example/"}), ("fetch", {"url": "https://b.example/"}))
    stage = Stage(tmp_path, batch, "Done.", dialect="batch", mode=Mode.AUTO)
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    await asyncio.sleep(0)
    assert stage.bench.done == ["fetch https://a.example/", "fetch https://b.example/"]
    stage.bench.hold.set()
    await running
    assert [result["status"] for result in _results(stage, 1)] == ["success", "success"]


async def test_calls_on_the_one_desktop_keep_their_order(tmp_path: Path) -> None:
    clicks = [("click", {"x": number}) for number in range(4)]
    stage = Stage(tmp_path, _batch(*clicks), "Done.", dialect="batch")
    await stage.send()
    assert stage.bench.done == [word for n in range(4) for word in (f"click {n}", f"clicked {n}")]


async def test_a_broken_batch_runs_nothing_and_goes_back_to_the_model(tmp_path: Path) -> None:
    stage = Stage(tmp_path, 'Now. <execute>[{"name": "look", "args": {}},]</execute>', "Sorry.", dialect="batch")
    ended = await stage.send()
    assert (stage.bench.done, ended.text) == ([], "Sorry.")
    assert "Nothing of this batch ran" in stage.asked(1)
    spoken = "".join(event.text for event in stage.events if isinstance(event, SayDelta))
    assert "malformed" not in spoken


async def test_a_batch_that_is_cut_off_is_continued(tmp_path: Path) -> None:
    whole = _batch(("read", {"path": "a long name"}), ("look", {}))
    stage = Stage(tmp_path, whole[:40], whole[40:], "Done.", dialect="batch")
    await stage.send()
    assert sorted(stage.bench.done) == ["look", "read a long name"]


async def test_a_batch_of_nothing_but_speech_ends_the_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _batch(("say", {"text": "Hello.", "tone": "warm"})), dialect="batch")
    ended = await stage.send()
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Hello.")
    assert SayDelta("c1", "warm", "Hello.") in stage.events


async def test_a_result_under_its_other_name_is_spoken_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _batch(("attempt_completion", {"response": "Done."})), dialect="batch")
    ended = await stage.send()
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Done.")
    assert stage.of(SayDelta) == [SayDelta("c1", "", "Done.")]


async def test_the_end_mark_ends_the_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "I'll open it now.\n<end>", "never asked", dialect="batch")
    ended = await stage.send()
    assert (ended.outcome, ended.text, len(stage.provider.requests)) == (Outcome.FINISHED, "I'll open it now.", 1)


async def test_stopping_a_batch_answers_every_call_of_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _batch(("read", {"path": "a"}), ("long", {"name": "b"})), "Fine.", dialect="batch")
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    await asyncio.sleep(0)
    stage.session.stop()
    assert (await running).outcome is Outcome.STOPPED
    assert stage.bench.cancelled == 1
    closed = sorted(event.call_id for event in stage.events if isinstance(event, ToolFinished))
    assert closed == ["c1", "c2"]
    await stage.send("Well?")
    text = stage.asked(1)
    assert text.count('"status"') == 2


async def test_what_the_person_denies_is_one_result_among_the_others(tmp_path: Path) -> None:
    batch = _batch(("run", {"command": "make"}), ("read", {"path": "a"}))
    stage = Stage(tmp_path, batch, "Done.", dialect="batch", attended=False)
    await stage.send()
    assert [result["status"] for result in _results(stage, 1)] == ["failure", "success"]
    assert len([event for event in stage.events if isinstance(event, PassStarted)]) == 2
