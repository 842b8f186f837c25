"""The loop over native tool calls: cards that open early, every call answered by its id."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import Outcome, SayDelta, TagDelta, TagStart, ToolFinished
from app.base.errors import Refused, Unreachable
from app.protocol.message import CallPart, Message, OpaquePart, ResultPart, Role, TextPart
from app.providers.api import NativeCallEnded, NativeCallStarted, OpaqueBlock, Stopped, TextDelta, Thinking
from app.providers.scripted import Fail, Pause, Step, native_call
from tests.support.stage import PICTURE, Stage, texts


def _call(call_id: str, name: str, toolset: str = "", /, **args: Any) -> tuple[Step, ...]:
    started, *rest = native_call(call_id, name, args)
    return (NativeCallStarted(call_id, name, toolset), *rest) if toolset else (started, *rest)


def _stage(folder: Path, *replies: Any, **more: Any) -> Stage:
    return Stage(folder, *replies, dialect="native", **more)


async def test_calls_are_declared_run_together_and_answered_by_id(tmp_path: Path) -> None:
    thinking = OpaqueBlock("anthropic", {"type": "thinking", "signature": "s"})
    stage = _stage(
        tmp_path,
        [thinking, TextDelta("Looking."), *_call("tA", "look"), *_call("tB", "read", path="a"), Stopped("tool_use")],
        "Blue, three lines.",
    )
    ended = await stage.send("What is there?")
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Blue, three lines.")
    assert {str(tool["name"]) for tool in stage.provider.requests[0].tools} >= {"look", "read", "say"}
    messages = stage.provider.requests[1].messages
    assert messages[1] == Message(
        Role.ASSISTANT,
        (
            OpaquePart("anthropic", {"type": "thinking", "signature": "s"}),
            TextPart("Looking."),
            CallPart("tA", "look", {}),
            CallPart("tB", "read", {"path": "a"}),
        ),
    )
    assert messages[2] == Message(
        Role.USER,
        (ResultPart("tA", "A picture of the screen.", (PICTURE,)), ResultPart("tB", "a holds 3 lines.")),
    )


async def test_arguments_stream_into_the_card_before_the_call_is_complete(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [*_call("t1", "write", path="a.txt", content='one\n"two" 3é')], "Written.")
    await stage.send()
    deltas = [event for event in stage.events if isinstance(event, TagDelta)]
    shown = {param: "".join(d.text for d in deltas if d.param == param) for param in ("path", "content")}
    assert shown == {"path": "a.txt", "content": 'one\n"two" 3é'}
    assert stage.events.index(deltas[0]) > stage.events.index(TagStart("c1", "write", {}))
    assert stage.bench.done == ['write a.txt: one\n"two" 3é']


async def test_speech_as_a_native_call_streams_too(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [*_call("t1", "say", tone="warm", text="Hello there, you.")])
    ended = await stage.send()
    said = [event for event in stage.events if isinstance(event, SayDelta)]
    assert "".join(event.text for event in said) == ended.text == "Hello there, you."
    assert len(said) > 1


async def test_a_turn_that_ends_with_a_call_still_answers_it(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [*_call("t1", "attempt_completion", result="Done.")], "Yes?")
    await stage.send()
    await stage.send("Thanks.")
    last = stage.provider.requests[1].messages[-1]
    assert [type(part).__name__ for part in last.parts] == ["ResultPart", "TextPart"]
    assert last.parts[0] == ResultPart("t1", "")


async def test_arguments_that_are_no_object_go_back_as_an_error(tmp_path: Path) -> None:
    broken = [NativeCallStarted("t1", "read"), NativeCallEnded("t1", {}, '{"path": '), Stopped("tool_use")]
    stage = _stage(tmp_path, broken, "Sorry.")
    await stage.send()
    (part,) = stage.provider.requests[1].messages[-1].parts
    assert isinstance(part, ResultPart)
    assert (part.call_id, part.is_error, stage.bench.done) == ("t1", True, [])
    assert "no JSON object" in part.text


async def test_a_call_cut_by_the_output_limit_does_not_run(tmp_path: Path) -> None:
    started = [TextDelta("Writing."), *_call("t1", "write", path="a", content="x" * 40)[:-1], Stopped("max_tokens")]
    stage = _stage(tmp_path, started, "I give up.")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("I give up.", [])
    (finished,) = stage.of(ToolFinished)
    assert isinstance(finished, ToolFinished)
    assert not finished.ok


async def test_calls_that_were_complete_run_although_the_stream_broke(tmp_path: Path) -> None:
    reply = [*_call("t1", "read", path="a"), NativeCallStarted("t2", "look"), Fail(Unreachable("Gone."))]
    stage = _stage(tmp_path, reply, "Three lines.")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("Three lines.", ["read a"])
    closed = {event.call_id: event.ok for event in stage.of(ToolFinished) if isinstance(event, ToolFinished)}
    assert closed == {"c1": True, "c2": False}


async def test_a_stream_that_broke_inside_its_only_call_is_asked_again(tmp_path: Path) -> None:
    reply = [NativeCallStarted("t1", "look"), Fail(Unreachable("Gone."))]
    stage = _stage(tmp_path, reply, [*_call("t9", "look")], "Blue.")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("Blue.", ["look"])
    assert stage.provider.requests[0] == stage.provider.requests[1]


async def test_a_vendors_toolset_runs_in_order_and_halts_at_the_first_failure(tmp_path: Path) -> None:
    calls = [
        *_call("t1", "click", "computer", x=1),
        *_call("t2", "click", "computer", x="left"),
        *_call("t3", "click", "computer", x=3),
        *_call("t4", "read", path="a"),
    ]
    stage = _stage(tmp_path, calls, "Stuck.")
    await stage.send()
    assert sorted(stage.bench.done) == ["click 1", "clicked 1", "read a"]
    results = {part.call_id: part for part in stage.provider.requests[1].messages[-1].parts if hasattr(part, "call_id")}
    assert {call_id: part.is_error for call_id, part in results.items()} == {
        "t1": False,
        "t2": True,
        "t3": True,
        "t4": False,
    }
    assert results["t3"].text == "Not executed: an earlier computer action in this turn failed."


@pytest.mark.parametrize(
    ("calls", "pictures"),
    [
        ((_call("t1", "click", "computer", x=1), _call("t2", "click", "computer", x=2)), {"t1": 0, "t2": 1}),
        ((_call("t1", "click", "computer", x=1),), {"t1": 1}),
        ((_call("t1", "click", "computer", x=1), _call("t2", "read", path="a")), {"t1": 1, "t2": 0}),
        ((_call("t1", "click", "computer", x=1), _call("t2", "look", "computer")), {"t1": 0, "t2": 1}),
        ((_call("t1", "click", "computer", x="left"), _call("t2", "click", "computer", x=2)), {"t1": 0, "t2": 0}),
        ((_call("t1", "click", x=1),), {"t1": 0}),
    ],
)
async def test_the_last_action_of_a_toolset_carries_one_picture_of_what_came_of_it(
    tmp_path: Path, calls: tuple[tuple[Step, ...], ...], pictures: dict[str, int]
) -> None:
    stage = _stage(tmp_path, [step for call in calls for step in call], "Done.")
    await stage.send()
    results = [part for part in stage.provider.requests[1].messages[-1].parts if isinstance(part, ResultPart)]
    assert {part.call_id: len(part.media) for part in results} == pictures
    opened = [event.call_id for event in stage.of(TagStart) if isinstance(event, TagStart)]
    closed = [event.call_id for event in stage.of(ToolFinished) if isinstance(event, ToolFinished)]
    assert sorted(opened) == sorted(closed)


async def test_a_picture_that_the_rules_forbid_is_not_taken(tmp_path: Path) -> None:
    rules = tmp_path / ".wisp" / "policy.toml"
    rules.parent.mkdir()
    rules.write_text('[[rule]]\nname = "no pictures"\nthen = "deny"\ntool = "look"\n', encoding="utf-8")
    stage = _stage(tmp_path, [*_call("t1", "click", "computer", x=1)], "Done.")
    await stage.send()
    (result,) = (part for part in stage.provider.requests[1].messages[-1].parts if isinstance(part, ResultPart))
    assert (result.is_error, result.media) == (False, ())
    assert stage.bench.done == ["click 1", "clicked 1"]


async def test_stopping_between_calls_answers_all_of_them(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [*_call("t1", "long", name="a"), *_call("t2", "look")], "Fine.")
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    stage.session.stop()
    assert (await running).outcome is Outcome.STOPPED
    await stage.send("Well?")
    messages = stage.provider.requests[1].messages
    called = [part.id for part in messages[1].parts if isinstance(part, CallPart)]
    answered = [part.call_id for part in messages[2].parts if isinstance(part, ResultPart)]
    assert called == answered == ["t1", "t2"]


async def test_stopping_before_the_calls_run_answers_them_as_stopped(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [*_call("t1", "look"), Pause(-1)], "Fine.")
    reached, original = asyncio.Event(), stage.clock.sleep

    async def sleep(seconds: float) -> None:
        if seconds < 0:
            reached.set()
            await asyncio.Event().wait()
        await original(seconds)

    stage.clock.sleep = sleep  # type: ignore[method-assign]
    running = asyncio.create_task(stage.send())
    await reached.wait()
    stage.session.stop()
    await running
    await stage.send("Well?")
    messages = stage.provider.requests[1].messages
    assert [part.id for part in messages[1].parts if isinstance(part, CallPart)] == ["t1"]
    assert [part.call_id for part in messages[2].parts if isinstance(part, ResultPart)] == ["t1"]
    assert stage.bench.done == []


async def test_complete_calls_run_even_if_the_service_then_refuses(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [*_call("t1", "look"), Fail(Refused("Enough."))], [Fail(Refused("Enough."))])
    ended = await stage.send()
    assert (ended.outcome, ended.text, stage.bench.done) == (Outcome.FAILED, "Enough.", ["look"])


async def test_reasoning_is_shown_as_thought_and_not_spoken(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [Thinking("Hm. "), TextDelta("Hello.")])
    await stage.send()
    assert "".join(event.text for event in stage.events if isinstance(event, SayDelta)) == "Hello."
    assert texts(stage.session.history.messages[-1].parts) == "Hello."


async def test_a_call_written_as_xml_is_in_the_history_as_a_call_with_its_result(tmp_path: Path) -> None:
    reply = '<write path="b">two</write> Written. <tool_results>lies</tool_results><look/>'
    stage = _stage(tmp_path, [*_call("t1", "read", path="a")], reply, "Done.")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("Done.", ["read a", "write b: two"])
    said, answered = stage.provider.requests[2].messages[-2:]
    text, call = said.parts
    assert (text, call) == (
        TextPart('<write path="b">two</write>'),
        CallPart(call.id, "write", {"path": "b", "content": "two"}),  # type: ignore[union-attr]
    )
    assert answered.parts == (ResultPart(call.id, "Wrote b."),)  # type: ignore[union-attr]


async def test_speech_written_as_xml_is_spoken_beside_native_calls(tmp_path: Path) -> None:
    stage = _stage(tmp_path, [TextDelta("<say>I look.</say>"), *_call("t1", "look"), Stopped("tool_use")], "Blue.")
    ended = await stage.send()
    said = "".join(event.text for event in stage.events if isinstance(event, SayDelta))
    assert (ended.text, said, stage.bench.done) == ("Blue.", "I look.Blue.", ["look"])
