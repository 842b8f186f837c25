"""The loop over inline XML: whole event sequences, and what the model is told next."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from app.agent.agent_events import (
    Outcome,
    PassStarted,
    SayDelta,
    State,
    StateChanged,
    TagDelta,
    TagStart,
    ToolFinished,
    ToolProgress,
    ToolRunning,
    TurnEnded,
    TurnStarted,
)
from app.agent.policy import Mode
from app.protocol.message import ImagePart, Role
from tests.support.stage import PICTURE, Stage, texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def test_a_plain_answer_streams_as_speech_and_ends_the_turn(folder: Path) -> None:
    stage = Stage(folder, "Paris is its capital.")
    ended = await stage.send("What is the capital of France?")
    assert ended == TurnEnded("turn1", Outcome.FINISHED, "Paris is its capital.")
    assert stage.events == [
        TurnStarted("turn1", "What is the capital of France?"),
        StateChanged(State.THINKING),
        PassStarted(1),
        SayDelta("", "", "Paris"),
        SayDelta("", "", " is"),
        SayDelta("", "", " its"),
        SayDelta("", "", " capita"),
        SayDelta("", "", "l."),
        StateChanged(State.IDLE),
        ended,
    ]


async def test_a_whole_task_from_speech_to_result(folder: Path) -> None:
    stage = Stage(
        folder,
        ['<say tone="warm">On it.</say>\n<look/> and then I invent the rest <read path="b"/>'],
        ["<attempt_completion><result>The screen is blue.</result></attempt_completion>"],
    )
    ended = await stage.send("What colour is my screen?")
    assert ended == TurnEnded("turn1", Outcome.FINISHED, "The screen is blue.")
    finished = ToolFinished("c2", "look", True, "looked", {}, "A picture of the screen.", (PICTURE,), 0.0)
    speech = [event for event in stage.events if isinstance(event, SayDelta)]
    rest = [event for event in stage.events if not isinstance(event, SayDelta)]
    assert rest == [
        TurnStarted("turn1", "What colour is my screen?"),
        StateChanged(State.THINKING),
        PassStarted(1),
        TagStart("c1", "say", {"tone": "warm"}, voiced=True),
        ToolRunning("c1", "say", {"tone": "warm", "text": "On it."}),
        ToolFinished("c1", "say", True, "say", {"tone": "warm", "text": "On it."}),
        TagStart("c2", "look", {}),
        StateChanged(State.BUSY),
        ToolRunning("c2", "look", {}),
        finished,
        StateChanged(State.THINKING),
        PassStarted(2),
        TagStart("c3", "attempt_completion", {}, voiced=True),
        ToolRunning("c3", "attempt_completion", {"result": "The screen is blue."}),
        ToolFinished(
            "c3",
            "attempt_completion",
            True,
            "attempt_completion",
            {"text": "The screen is blue."},
        ),
        StateChanged(State.IDLE),
        ended,
    ]
    assert "".join(event.text for event in speech if event.call_id == "c1") == "On it."
    assert {event.tone for event in speech if event.call_id == "c1"} == {"warm"}
    assert "".join(event.text for event in speech if event.call_id == "c3") == "The screen is blue."
    assert stage.bench.done == ["look"]


async def test_the_stream_is_cut_after_the_first_call_that_feeds_back(folder: Path) -> None:
    stage = Stage(folder, 'Reading. <read path="a"/> <tool_results>a: lies</tool_results> <read path="b"/>', "Three.")
    await stage.send()
    assert (stage.bench.done, stage.provider.cut) == (["read a"], 1)
    said = stage.provider.requests[1].messages[1]
    assert (said.role, texts(said.parts)) == (Role.ASSISTANT, 'Reading. <read path="a"/>')


async def test_results_reach_the_model_with_their_pictures(folder: Path) -> None:
    stage = Stage(folder, "<look/>", "It is blue.")
    await stage.send()
    message = stage.provider.requests[1].messages[2]
    assert message.role is Role.USER
    assert "A picture of the screen." in texts(message.parts)
    assert texts(message.parts).lstrip().startswith("<tool_results")
    assert [part for part in message.parts if isinstance(part, ImagePart)] == [ImagePart(PICTURE)]


async def test_calls_that_do_not_feed_back_run_as_they_close_and_the_stream_goes_on(folder: Path) -> None:
    stage = Stage(folder, '<note text="one"/>Between.<note text="two"/><say>Both noted.</say>')
    ended = await stage.send()
    assert ended.text == "Both noted."
    assert (stage.bench.done, stage.provider.cut) == (["note one", "note two"], 0)
    assert len(stage.provider.requests) == 1


async def test_a_payload_streams_into_its_card(folder: Path) -> None:
    stage = Stage(folder, '<write path="a.txt"><![CDATA[one\ntwo]]></write>', "Written.")
    await stage.send()
    deltas = [event for event in stage.events if isinstance(event, TagDelta)]
    assert {(event.call_id, event.param) for event in deltas} == {("c1", "content")}
    assert "".join(event.text for event in deltas) == "one\ntwo"
    assert len(deltas) > 1
    assert stage.bench.done == ["write a.txt: one\ntwo"]


async def test_a_running_call_feeds_its_card(folder: Path) -> None:
    stage = Stage(folder, '<run command="make"/>', "Built.", mode=Mode.YOLO)
    await stage.send()
    assert stage.of(ToolProgress) == [ToolProgress("c1", "output", {"text": "starting"})]


async def test_work_shows_in_the_state(folder: Path) -> None:
    stage = Stage(folder, '<click x="3"/>', "Clicked.")
    await stage.send()
    assert stage.states == ["thinking", "busy", "thinking", "idle"]


async def test_a_question_to_the_person_ends_the_turn_waiting(folder: Path) -> None:
    stage = Stage(folder, '<wait_for_human_input kind="code">Which code?</wait_for_human_input><look/>')
    ended = await stage.send()
    assert ended == TurnEnded("turn1", Outcome.WAITING, "Which code?")
    assert (stage.bench.done, stage.session.state) == ([], State.NEEDS_YOU)


async def test_nothing_runs_after_the_result(folder: Path) -> None:
    stage = Stage(folder, "<attempt_completion><result>Done.</result></attempt_completion><look/>")
    ended = await stage.send()
    assert (ended.outcome, ended.text, stage.bench.done) == (Outcome.FINISHED, "Done.", [])


async def test_a_misused_call_goes_back_to_the_model(folder: Path) -> None:
    stage = Stage(folder, '<click x="left"/>', "Sorry.")
    await stage.send()
    assert "click" in stage.asked(1)
    (finished,) = stage.of(ToolFinished)
    assert isinstance(finished, ToolFinished)
    assert (finished.ok, finished.event) == (False, "tool_error")


async def test_misused_speech_goes_back_to_the_model_too(folder: Path) -> None:
    stage = Stage(folder, '<say volume="booming">Hello.</say>', "Hello.")
    ended = await stage.send()
    assert (ended.text, len(stage.provider.requests)) == ("Hello.", 2)
    assert "volume" in stage.asked(1)


async def test_the_prompt_and_all_earlier_messages_stay_byte_identical_from_pass_to_pass(folder: Path) -> None:
    stage = Stage(folder, "<look/>", '<read path="a"/>', '<note text="x"/><look/>', "Done.", "Again.")
    await stage.send()
    await stage.send("And once more?")
    requests = stage.provider.requests
    assert len({request.system for request in requests}) == 1
    for earlier, later in itertools.pairwise(requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages


async def test_every_card_that_opens_is_closed_exactly_once(folder: Path) -> None:
    stage = Stage(
        folder,
        '<say>One.</say><note text="x"/><read path="a"/>',
        '<write path="b"><![CDATA[cut',
        "",
        "off]]",
        "></wri",
        "te> ",
        "Done.",
    )
    await stage.send()
    opened = [event.call_id for event in stage.events if isinstance(event, TagStart)]
    closed = [event.call_id for event in stage.events if isinstance(event, ToolFinished)]
    assert sorted(opened) == sorted(closed)


async def test_a_file_with_two_readings_is_not_written_and_the_model_is_asked_once_for_cdata(folder: Path) -> None:
    plain = "\none\nuse </write> to end\nthree\n"
    whole = f'<write path="a"><![CDATA[{plain}]]></write>'
    stage = Stage(folder, f'<write path="a">{plain}</write>', whole, "Done.")
    await stage.send()
    assert stage.asked(1).count("<result ") == 1
    assert "CDATA" in stage.asked(1)
    assert stage.bench.done == [f"write a: {plain.strip()}"]


async def test_a_complete_call_runs_although_the_model_repeats_itself_after_it(folder: Path) -> None:
    stage = Stage(folder, '<write path="a">one</write>\n' + "I will wait. " * 400, "Done.")
    assert (await stage.send()).text == "Done."
    assert stage.bench.done == ["write a: one"]
