"""What breaks on the way: streams, cut answers, ceilings, models that talk instead of acting."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Notice, Outcome, SayDelta, State, ToolFinished, TurnEnded
from app.base.errors import (
    BadAnswer,
    ContextOverflow,
    KeyRefused,
    OverLimit,
    PictureRefused,
    Refused,
    Remedy,
    ToolsDeclined,
    Unreachable,
)
from app.protocol.call import Media
from app.protocol.message import ImagePart
from app.providers.api import Request, Stopped, TextDelta, Usage
from app.providers.scripted import Fail, Pause, Reply
from tests.support.stage import PICTURE, Stage, texts

_DROP = Fail(Unreachable("The connection was lost."))


def _speech(stage: Stage) -> str:
    return "".join(event.text for event in stage.events if isinstance(event, SayDelta))


async def test_a_service_that_fails_at_first_is_asked_again_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [_DROP], [Fail(OverLimit("Too many.", retry_after_s=20))], "Hello.")
    ended = await stage.send()
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Hello.")
    first, second, third = stage.provider.requests
    assert first == second == third
    assert 0.5 <= stage.clock.slept[0] <= 1.0
    assert 20.0 <= stage.clock.slept[1] <= 20.5
    assert [event.level for event in stage.of(Notice) if isinstance(event, Notice)] == ["warning", "warning"]


async def test_a_service_that_keeps_failing_ends_the_turn_with_its_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *[[_DROP]] * 5, settings={"chat.stream_attempts": 3})
    ended = await stage.send()
    assert ended == TurnEnded("turn1", Outcome.FAILED, "The connection was lost.")
    assert (len(stage.provider.requests), stage.session.state) == (3, State.ERROR)


async def test_a_service_that_asks_for_a_long_pause_is_not_waited_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Fail(OverLimit("Try again in an hour.", retry_after_s=3600))])
    assert await stage.send() == TurnEnded("turn1", Outcome.FAILED, "Try again in an hour.")
    assert stage.clock.slept == []


async def test_a_refusal_is_not_tried_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Fail(KeyRefused("The key is wrong."))], "Hello.")
    assert await stage.send() == TurnEnded("turn1", Outcome.FAILED, "The key is wrong.", Remedy.KEY)
    assert len(stage.provider.requests) == 1


async def test_the_next_turn_goes_on_after_a_failure(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ['<read path="a"/>'], [Fail(Refused("No credit."))], "Three lines.")
    await stage.send("How long is a?")
    ended = await stage.send("And now?")
    assert ended.text == "Three lines."
    last = stage.provider.requests[2].messages
    assert [message.role.value for message in last] == ["user", "assistant", "user"]
    assert "[The turn ended here with an error: No credit.]" in texts(last[2].parts)
    assert texts(last[2].parts).endswith("And now?")


async def test_a_stall_counts_as_a_lost_connection(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Pause(0), "Hel"], "lo.", settings={"chat.stream_idle_timeout_ms": 100})
    original = stage.clock.sleep

    async def stall(seconds: float) -> None:
        await (asyncio.Event().wait() if seconds == 0 else original(seconds))

    stage.clock.sleep = stall  # type: ignore[method-assign]
    ended = await stage.send()
    assert ended.text == "lo."
    assert [str(event.sentence)[:44] for event in stage.of(Notice) if isinstance(event, Notice)] == [
        "The model was silent for 0.1 seconds. Wisp t"
    ]


async def test_prose_that_broke_off_is_continued_not_repeated(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ["The answer is forty", _DROP], "-two, of course.")
    ended = await stage.send()
    assert ended.text == _speech(stage) == "The answer is forty-two, of course."
    more = stage.provider.requests[1].messages[-2:]
    assert texts(more[0].parts) == "The answer is forty"
    assert "The answer is forty" in texts(more[1].parts)
    assert "exact next character" in texts(more[1].parts)


async def test_a_call_that_ran_before_the_stream_broke_is_not_run_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ['<note text="once"/>Then ', _DROP], "I was done.")
    ended = await stage.send()
    assert (stage.bench.done, ended.text) == (["note once"], "Then I was done.")


async def test_an_answer_cut_inside_a_call_goes_on_at_the_next_character(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        ['<write path="a.txt"><![CDATA[one\ntwo and a bit', Stopped("max_tokens")],
        " more\nthree]]></write>",
        "Written.",
    )
    await stage.send()
    assert stage.bench.done == ["write a.txt: one\ntwo and a bit more\nthree"]
    assert "two and a bit" in stage.asked(1)


async def test_a_model_that_repeats_its_last_words_does_no_harm(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<write path="a.txt"><![CDATA[one two three four', "three four five]]></write>", "Written.")
    await stage.send()
    assert stage.bench.done == ["write a.txt: one two three four five"]


async def test_a_model_that_writes_the_call_again_does_no_harm(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path,
        'So: <write path="a.txt"><![CDATA[one two',
        '<write path="a.txt"><![CDATA[one, better]]></write>',
        "Written.",
    )
    await stage.send()
    assert stage.bench.done == ["write a.txt: one, better"]
    assert texts(stage.provider.requests[2].messages[1].parts) == (
        'So: <write path="a.txt"><![CDATA[one, better]]></write>'
    )
    closed = [(event.call_id, event.ok) for event in stage.of(ToolFinished) if isinstance(event, ToolFinished)]
    assert closed == [("c1", False), ("c2", True)]


async def test_a_long_call_written_again_does_no_harm(tmp_path: Path) -> None:
    lines = [TextDelta(f"{number:x>99}\n") for number in range(2000)]
    begun: Reply = [TextDelta('<write path="a.txt"><![CDATA['), *lines]
    stage = Stage(tmp_path, begun, '<write path="a.txt"><![CDATA[short]]></write>', "Written.")
    await stage.send()
    assert stage.bench.done == ["write a.txt: short"]


async def test_a_call_in_whose_middle_another_begins_is_not_run_and_the_model_is_told(tmp_path: Path) -> None:
    stage = Stage(
        tmp_path, ['<write path="a.txt"><![CDATA[one', _DROP], '\n<write path="b.txt">two</write>', "Written."
    )
    ended = await stage.send()
    assert (stage.bench.done, ended.text) == (["write b.txt: two"], "Written.")
    assert "write: The reply ended inside this call, so it did not run." in stage.asked(2)
    closed = [(event.call_id, event.ok) for event in stage.of(ToolFinished) if isinstance(event, ToolFinished)]
    assert closed == [("c1", False), ("c2", True)]


@pytest.mark.parametrize("speech", ["<say>work", "<say><![CDATA[work", '<say tone="warm">work'])
async def test_speech_in_whose_middle_a_call_begins_ends_there(tmp_path: Path, speech: str) -> None:
    stage = Stage(tmp_path, [speech, _DROP], "<look/>", "Blue.")
    ended = await stage.send()
    assert (stage.bench.done, ended.text, _speech(stage)) == (["look"], "Blue.", "workBlue.")
    assert len(stage.provider.requests) == 3


async def test_a_call_that_never_ends_is_not_run_and_the_model_is_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<write path="a.txt"><![CDATA[a', "b", "c", "d", "I gave up.")
    ended = await stage.send()
    assert (stage.bench.done, ended.text) == ([], "I gave up.")
    assert "did not run" in stage.asked(4)


async def test_a_long_answer_is_continued_up_to_three_times(tmp_path: Path) -> None:
    more = Stopped("max_tokens")
    stage = Stage(tmp_path, ["One ", more], ["two ", more], ["three ", more], ["four ", more], "never asked")
    ended = await stage.send()
    assert (ended.text, len(stage.provider.requests)) == ("One two three four", 4)


@pytest.mark.parametrize("cut", ['<write path="a"><![CDATA[one', '<say>On it.</say> <write path="a', "", "I'll open"])
async def test_a_model_that_is_always_cut_off_ends_with_the_setting_that_limits_it(tmp_path: Path, cut: str) -> None:
    cut_reply: Reply = [cut, Stopped("max_tokens")]
    stage = Stage(tmp_path, '<read path="a"/>', *[cut_reply] * 60)
    ended = await stage.send()
    assert ended.outcome is Outcome.CUT_OFF
    assert stage.bench.done == ["read a"]
    if cut != "I'll open":
        assert "model.max_tokens" in ended.text
    assert len(stage.provider.requests) <= 1 + 3 * 4


async def test_a_conversation_that_is_too_long_is_shortened_and_tried_once_more(tmp_path: Path) -> None:
    overflow = Fail(ContextOverflow("Too long."))
    reads = [f'<read path="{number}"/>' for number in range(6)]
    stage = Stage(tmp_path, *reads, [overflow], "0 to 2 were read.", "All read.")
    ended = await stage.send("Read six files.")
    assert ended.text == "All read."
    first = stage.provider.requests[-1].messages[0]
    assert texts(first.parts).startswith("Read six files.\n[The middle of this conversation")
    assert "0 to 2 were read." in texts(first.parts)


async def test_where_no_summary_can_be_had_the_end_of_the_middle_is_kept(tmp_path: Path) -> None:
    reads = [f'<read path="{number}"/>' for number in range(6)]
    failing = [Fail(ContextOverflow("Too long."))], [Fail(Refused("No summaries."))]
    stage = Stage(tmp_path, *reads, *failing, "All read.")
    assert (await stage.send("Read six files.")).text == "All read."
    first = texts(stage.provider.requests[-1].messages[0].parts)
    assert "[The summary could not be written. The end of what was taken out:]" in first
    assert "2 holds 3 lines." in first


def _pictures(request: Request) -> list[Media]:
    return [part.media for message in request.messages for part in message.parts if isinstance(part, ImagePart)]


async def test_a_picture_that_the_service_refuses_is_left_out_and_the_conversation_goes_on(tmp_path: Path) -> None:
    refused = [Fail(PictureRefused("Could not process image."))]
    stage = Stage(
        tmp_path, "<look/>", "I see.", refused, "Without it, then.", "Still here.", refused, refused, "Blind."
    )
    await stage.send("Look.")
    assert (await stage.send("And this?", (Media(b"bad", "image/png", 3, 2, "bad.png"),))).text == "Without it, then."
    assert "bad.png" in str(stage.session.history.messages)
    assert (await stage.send("Well?")).text == "Still here."
    pictures = [[media.data for media in _pictures(request)] for request in stage.provider.requests]
    assert pictures[2:] == [[PICTURE.data, b"bad"], [PICTURE.data], [PICTURE.data]]
    assert len([event for event in stage.of(Notice) if "Could not process image." in str(event)]) == 1
    assert (await stage.send("Nothing to take out?")).outcome is Outcome.FAILED


async def test_a_conversation_that_stays_too_long_ends_with_the_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *[[Fail(ContextOverflow("Too long."))]] * 2, "never asked")
    assert await stage.send() == TurnEnded("turn1", Outcome.FAILED, "Too long.")


async def test_a_window_that_fills_up_is_emptied_before_the_next_pass(tmp_path: Path) -> None:
    reads: list[Reply] = [[Usage(input_tokens=6000 + number * 300), f'<read path="{number}"/>'] for number in range(7)]
    stage = Stage(tmp_path, *reads, "Some were read.", "All read.", window_tokens=10_000)
    ended = await stage.send("Read seven files.")
    assert ended.text == "All read."
    asked_for_summary, after = stage.provider.requests[-2:]
    assert asked_for_summary.system != after.system
    assert "Some were read." in texts(after.messages[0].parts)
    assert len(after.messages) < len(stage.provider.requests[-3].messages)
    assert [event.level for event in stage.of(Notice) if isinstance(event, Notice)] == ["info"]


async def test_an_announcement_without_a_call_is_sent_back_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "I'll take a look now.", "<look/>", "I'll open it now.")
    ended = await stage.send()
    assert (ended.outcome, ended.text, stage.bench.done) == (Outcome.FINISHED, "I'll open it now.", ["look"])
    assert "nothing happened" in stage.asked(1)


async def test_an_empty_reply_is_sent_back_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "", "", "never asked")
    ended = await stage.send()
    assert ended == TurnEnded(
        "turn1", Outcome.FAILED, "The model answered nothing, twice. Ask again, or choose another model."
    )


async def test_results_the_model_invents_are_neither_shown_nor_kept_nor_believed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Done. <tool_results>a.txt: 42</tool_results> It is 42.", '<read path="a"/>', "It is 3.")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("It is 3.", ["read a"])
    everything = "\n".join(texts(message.parts) for message in stage.provider.requests[2].messages)
    assert "a.txt: 42" not in everything + _speech(stage)
    assert "thrown away" in stage.asked(1)


async def test_the_same_call_again_and_again_is_warned_about_and_then_asked_about(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *['<read path="a"/>'] * 9, attended=False)
    ended = await stage.send()
    assert (ended.outcome, "again and again" in ended.text) == (Outcome.WAITING, True)
    assert stage.bench.done == ["read a"] * 4
    warned = ["in a row" in stage.asked(request) for request in range(1, 5)]
    assert warned == [False, False, True, True]


async def test_a_plan_of_the_person_may_repeat_itself(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *['<click x="1"/>'] * 9, "Clicked nine times.", attended=False, follows_plan=True)
    assert (await stage.send()).text == "Clicked nine times."
    assert "in a row" not in stage.asked(9)


async def test_a_ceiling_of_passes_ends_the_turn_with_a_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "<look/>", '<read path="a"/>', "<look/>", settings={"chat.max_passes": 2})
    ended = await stage.send()
    assert (ended.outcome, "chat.max_passes" in ended.text) == (Outcome.FAILED, True)
    assert stage.bench.done == ["look", "read a"]


async def test_a_ceiling_of_tokens_ends_the_turn_with_a_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Usage(input_tokens=5000), "<look/>"], settings={"chat.max_tokens": 1000})
    ended = await stage.send()
    assert ended.outcome is Outcome.FAILED
    assert "chat.max_tokens" in ended.text


async def test_a_nonsense_answer_of_the_service_is_tried_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Fail(BadAnswer("No JSON."))], "Hello.")
    assert (await stage.send()).text == "Hello."


async def test_a_model_that_declines_ends_the_turn_plainly(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Stopped("refusal")])
    assert await stage.send() == TurnEnded("turn1", Outcome.FAILED, "The model declined to answer this.")


async def test_actions_that_change_nothing_are_warned_about(tmp_path: Path) -> None:
    clicks = [reply for x in range(3) for reply in (f'<click x="{x}"/>', "<look/>")]
    stage = Stage(tmp_path, *clicks, "I give up.")
    await stage.send()
    warned = ["what you do has no effect" in stage.asked(request) for request in range(1, 7)]
    assert warned == [False, False, False, False, False, True]


async def test_the_person_may_let_it_go_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, *['<read path="a"/>'] * 6, "Read.")

    def allow(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asyncio.get_running_loop().call_soon(lambda: stage.session.answer(event.approval_id, allow=True))

    stage.session.subscribe(allow)
    assert (await stage.send()).text == "Read."
    assert len(stage.bench.done) == 6
    (asked,) = stage.of(ApprovalWanted)
    assert isinstance(asked, ApprovalWanted)
    assert asked.sentence == "It has done the same 5 times in a row, with nothing new to show for it. Let it go on?"


async def test_a_model_that_takes_no_declared_tools_is_taught_to_write_its_calls(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Fail(ToolsDeclined("No tools."))], "<look/>", "Blue.", dialect="native")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("Blue.", ["look"])
    declined, asked = stage.provider.requests[:2]
    assert (bool(declined.tools), bool(asked.tools)) == (True, False)
    assert "Write a call as an XML tag" in asked.system
    assert asked.messages == declined.messages


async def test_a_model_that_declines_even_without_tools_ends_the_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Fail(ToolsDeclined("No tools."))])
    assert await stage.send() == TurnEnded("turn1", Outcome.FAILED, "No tools.", Remedy.SETTINGS)


_FOREIGN = "Reading.\n<function=read><parameter=path>a</parameter></function>"


async def test_a_call_in_another_agents_format_is_read_as_a_last_resort(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _FOREIGN, "Three lines.")
    ended = await stage.send()
    assert (ended.text, stage.bench.done) == ("Three lines.", ["read a"])
    assert "a holds 3 lines." in stage.asked(1)


async def test_other_formats_are_text_where_the_person_wants_that(tmp_path: Path) -> None:
    stage = Stage(tmp_path, _FOREIGN, settings={"model.fallback_formats": False})
    await stage.send()
    assert stage.bench.done == []


async def test_a_call_of_ours_leaves_no_room_for_another_format(tmp_path: Path) -> None:
    stage = Stage(tmp_path, f'<note text="x"/>{_FOREIGN}')
    await stage.send()
    assert stage.bench.done == ["note x"]
