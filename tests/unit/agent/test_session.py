"""A conversation: stopping at any moment, approvals, words said meanwhile, listeners."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.agent.agent_events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalWanted,
    Outcome,
    Scope,
    State,
    TagStart,
    ToolFinished,
    ToolRunning,
    TurnEnded,
    UsageChanged,
)
from app.agent.policy import Mode, Policy
from app.agent.policy.policy import PolicyDeps
from app.assembly import judged_by
from app.base.clock import SystemClock
from app.base.errors import Refused
from app.protocol.message import ImagePart, Role, user
from app.providers.api import Usage
from app.providers.scripted import Fail, Pause
from app.settings.store import Settings
from tests.support.stage import PICTURE, Stage, texts
from tests.support.waiting import until

_FOREVER = Pause(-1)


def _stalling(stage: Stage) -> asyncio.Event:
    """A pause of less than nothing lasts until the stream is closed; the event says that it has begun."""
    reached, original = asyncio.Event(), stage.clock.sleep

    async def sleep(seconds: float) -> None:
        if seconds < 0:
            reached.set()
            await asyncio.Event().wait()
        await original(seconds)

    stage.clock.sleep = sleep  # type: ignore[method-assign]
    return reached


def _cards_are_closed(stage: Stage) -> bool:
    opened = [event.call_id for event in stage.events if isinstance(event, TagStart)]
    closed = [event.call_id for event in stage.events if isinstance(event, ToolFinished)]
    return opened == closed


async def test_stopping_while_the_model_speaks_keeps_what_was_said(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ["Once upon a", _FOREVER], "a time.")
    reached = _stalling(stage)
    running = asyncio.create_task(stage.send("Tell me a story."))
    await reached.wait()
    stage.session.stop()
    assert await running == TurnEnded("turn1", Outcome.STOPPED, "Stopped.")
    assert (stage.provider.cut, stage.session.state) == (1, State.IDLE)
    await stage.send("Go on.")
    messages = stage.provider.requests[1].messages
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert texts(messages[1].parts) == "Once upon a"
    assert "The person stopped the turn here" in texts(messages[2].parts)


async def test_stopping_inside_a_call_forgets_the_call_and_closes_its_card(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ['Writing. <write path="a"><![CDATA[one', _FOREVER], "Fine.")
    reached = _stalling(stage)
    running = asyncio.create_task(stage.send())
    await reached.wait()
    stage.session.stop()
    await running
    assert _cards_are_closed(stage)
    await stage.send("Well?")
    assert texts(stage.provider.requests[1].messages[1].parts) == "Writing."
    assert stage.bench.done == []


async def test_stopping_a_running_tool_cancels_it_and_tells_the_model_next_time(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>', "Fine.")
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    stage.session.stop()
    stage.session.stop()
    assert (await running).outcome is Outcome.STOPPED
    assert stage.bench.cancelled == 1
    (finished,) = stage.of(ToolFinished)
    assert isinstance(finished, ToolFinished)
    assert (finished.ok, finished.event) == (False, "tool_error")
    await stage.send("Well?")
    assert "part of it may have happened" in stage.asked(1)


async def test_stopping_before_the_turn_has_begun_is_a_stop_too(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.")
    running = asyncio.create_task(stage.send())
    await asyncio.sleep(0)
    stage.session.stop()
    assert (await running).outcome is Outcome.STOPPED
    assert stage.provider.requests == []


async def test_stopping_while_nothing_runs_does_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.")
    stage.session.stop()
    assert (await stage.send()).text == "Hello."


async def test_cancelling_the_caller_stops_the_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>')
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stage.bench.cancelled == 1
    assert isinstance(stage.events[-1], TurnEnded)
    assert stage.events[-1].outcome is Outcome.STOPPED


async def test_closing_stops_what_runs(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>')
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    await stage.session.close()
    assert (await running).outcome is Outcome.STOPPED


async def test_words_said_meanwhile_reach_the_model_before_its_next_pass(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>', "In German then.")
    running = asyncio.create_task(stage.send("Write a poem."))
    await stage.bench.began.wait()
    second = asyncio.create_task(stage.send("In German, please.", (PICTURE,)))
    await asyncio.sleep(0)
    stage.bench.hold.set()
    assert await running == await second
    parts = stage.provider.requests[1].messages[-1].parts
    assert texts(parts).endswith("While you worked, the person said: In German, please.")
    assert parts[-1] == ImagePart(PICTURE)


async def test_words_said_at_the_end_keep_the_turn_going(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ["All ", Pause(0.1), "done."], "And this too.")

    def interrupt(event: AgentEvent) -> None:
        if len(stage.provider.requests) == 1 and not told:
            told.append(asyncio.ensure_future(stage.send("One more thing.")))

    told: list[asyncio.Future[TurnEnded]] = []
    stage.session.subscribe(interrupt)
    ended = await stage.send()
    assert (ended.text, await told[0]) == ("And this too.", ended)


async def test_words_said_before_a_failure_are_not_lost(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ['<long name="a"/>'], [Fail(Refused("No."))], "Hello.")
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    second = asyncio.create_task(stage.session.send("Remember the milk."))
    await asyncio.sleep(0)
    stage.session.stop()
    await running
    await second
    await stage.send("So?")
    assert "Remember the milk." in stage.asked(1)


async def test_a_person_is_asked_in_their_language(tmp_path: Path) -> None:
    policy = Policy(tmp_path, surroundings=PolicyDeps(language="de"))
    stage = Stage(tmp_path, '<run command="make"/>', "Built.", policy=policy)

    def deny(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asyncio.get_running_loop().call_soon(lambda: stage.session.answer(event.approval_id, allow=False))

    stage.session.subscribe(deny)
    await stage.send()
    (asked,) = stage.of(ApprovalWanted)
    assert isinstance(asked, ApprovalWanted)
    assert (asked.sentence, asked.why, asked.undo) == (
        "Wisp möchte das Projekt in diesem Ordner bauen.",
        "Der Befehl braucht das Internet, oder es gibt keine Sandbox für ihn.",
        "Was ein Befehl tut, kann Wisp nicht rückgängig machen.",
    )


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LANG": "POSIX"}, ""),
    ],
)
def test_without_a_setting_the_person_is_asked_in_the_systems_language(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], language: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, variables.get(name, ""))
    assert judged_by(Settings({})).language == language
    assert judged_by(Settings({}).with_values(presence__language="de")).language == "de"


async def test_a_call_that_needs_permission_waits_for_the_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<run command="make"/>', "Built.")

    def allow(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asyncio.get_running_loop().call_soon(lambda: stage.session.answer(event.approval_id, allow=True))

    stage.session.subscribe(allow)
    await stage.send()
    asked = ApprovalWanted(
        "approval1",
        "c1",
        "run",
        "Wisp wants to build the project in this folder.",
        "make",
        undo="Wisp cannot undo what a command does.",
        rule="mode ask",
        why="The command runs with the internet or without a sandbox, so it can reach other computers.",
        scopes=(Scope.TASK, Scope.ALWAYS),
        deed="build the project in this folder",
        strong=((14, 19),),
    )
    kinds = (ApprovalWanted, ApprovalAnswered, ToolRunning)
    assert stage.of(*kinds) == [
        asked,
        ApprovalAnswered("approval1", True),
        ToolRunning("c1", "run", {"command": "make"}),
    ]
    assert stage.bench.done == ["run make"]
    assert stage.states == ["thinking", "needs_you", "busy", "thinking", "idle"]


async def test_a_denial_and_its_words_go_to_the_model(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<run command="rm -r x"/>', "Then I leave it.")

    def deny(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: stage.session.answer(event.approval_id, allow=False, words="keep x"))

    stage.session.subscribe(deny)
    await stage.send()
    assert stage.bench.done == []
    assert "The person said no: keep x" in stage.asked(1)


async def test_an_answer_to_a_question_nobody_asked_is_ignored(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.")
    stage.session.answer("approval9", allow=True)
    assert (await stage.send()).text == "Hello."


async def test_stopping_while_the_person_is_asked_runs_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<run command="make"/>')
    wanted = asyncio.Event()
    stage.session.subscribe(lambda event: wanted.set() if isinstance(event, ApprovalWanted) else None)
    running = asyncio.create_task(stage.send())
    await wanted.wait()
    stage.session.stop()
    assert (await running).outcome is Outcome.STOPPED
    assert stage.bench.done == []
    assert stage.of(ApprovalAnswered) == [ApprovalAnswered("approval1", False, is_withdrawn=True)]


async def test_a_closed_session_withdraws_its_question_and_asks_nothing_more(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.")
    wanted = ApprovalWanted("", "", "open_link", "May the app open a page?")
    asking = asyncio.create_task(stage.session.ask(wanted))
    await until(lambda: stage.of(ApprovalWanted))
    await stage.session.close()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert (await stage.session.ask(wanted)).refusal


async def test_where_nobody_can_answer_the_call_is_refused_with_a_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<run command="make"/>', "I may not.", attended=False)
    await stage.send()
    assert (stage.bench.done, stage.of(ApprovalWanted)) == ([], [])
    assert stage.states == ["thinking", "needs_you"]
    assert "Nobody is there" in stage.asked(1)


async def test_three_refusals_in_a_row_end_the_turn_after_one_last_pass_for_words(tmp_path: Path) -> None:
    runs = [f'<run command="{number}"/>' for number in range(3)]
    stage = Stage(tmp_path, *runs, "I was not allowed to.", "never asked", attended=False)
    ended = await stage.send()
    assert (ended.outcome, ended.text) == (Outcome.WAITING, "I was not allowed to.")
    assert stage.bench.done == []
    assert "Call nothing more" in stage.asked(3)


async def test_a_turn_that_is_ended_by_refusals_without_a_word_says_so(tmp_path: Path) -> None:
    runs = [f'<run command="{number}"/>' for number in range(4)]
    stage = Stage(tmp_path, *runs, "never asked", attended=False)
    ended = await stage.send()
    assert (ended.outcome, "not allowed" in ended.text) == (Outcome.WAITING, True)


async def test_a_call_that_works_breaks_the_row_of_refusals(tmp_path: Path) -> None:
    runs = [f'<run command="{number}"/>' for number in range(4)]
    stage = Stage(tmp_path, runs[0], runs[1], "<look/>", runs[2], runs[3], "I give up.", attended=False)
    assert (await stage.send()).text == "I give up."


async def test_a_refusal_says_why_and_names_the_way_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<run command="make"/>', "I may not.", attended=False)
    await stage.send()
    assert "no sandbox stands around it" in stage.asked(1)
    assert "--allow make" in stage.asked(1)


async def test_a_model_reads_a_refusal_in_english_and_the_person_in_their_language(tmp_path: Path) -> None:
    policy = Policy(tmp_path, surroundings=PolicyDeps(language="de"))
    stage = Stage(tmp_path, '<fetch url="https://example.com"/>', "I may not.", attended=False, policy=policy)
    await stage.send()
    assert "The person's words do not name" in stage.asked(1)
    [finished] = stage.of(ToolFinished)
    assert isinstance(finished, ToolFinished)
    assert "nicht genannt" in str(finished.facts)


async def test_the_facts_say_what_this_run_allows(tmp_path: Path) -> None:
    policy = Policy(tmp_path, surroundings=PolicyDeps(allowed=["example.com"]))
    stage = Stage(tmp_path, "Yes.", policy=policy)
    await stage.send()
    assert "example.com" in stage.provider.requests[0].context


async def test_an_action_that_is_allowed_starts_the_count_of_refusals_again(tmp_path: Path) -> None:
    run = ['<run command="1"/>', '<run command="2"/>', '<click x="1"/>', '<run command="3"/>']
    stage = Stage(tmp_path, *run, "I give up.", attended=False)
    assert (await stage.send()).text == "I give up."


async def test_in_plan_mode_nothing_is_touched(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<click x="1"/>', '<read path="a"/>', "I would click.", mode=Mode.PLAN)
    await stage.send()
    assert stage.bench.done == ["read a"]
    assert "In plan mode nothing" in stage.asked(1)


async def test_usage_is_told_as_it_grows(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [Usage(100), "<look/>"], ["Done.", Usage(200, 10)], model="offline")
    await stage.send()
    assert stage.of(UsageChanged) == [
        UsageChanged(100, 0, 0, 0, 0.0),
        UsageChanged(100, 1, 0, 0, 0.0),
        UsageChanged(300, 11, 0, 0, 0.0),
    ]


async def test_usage_of_all_turns_adds_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ["One.", Usage(100, 5)], ["Two.", Usage(200, 10)], model="offline")
    await stage.send()
    await stage.send()
    assert stage.session.usage == UsageChanged(300, 15, 0, 0, 0.0)


async def test_words_without_a_word_ask_nobody(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.")
    ended = await stage.send(" \n")
    assert ended == TurnEnded("turn1", Outcome.FAILED, "There was nothing to do. Say what you want.")
    assert stage.provider.requests == []


async def test_facts_of_the_moment_go_beside_the_prompt_not_into_it(tmp_path: Path) -> None:
    class Machine:
        async def gather(self) -> dict[str, str]:
            return {"Screen": "1280x800", "Windows": "none"}

    stage = Stage(tmp_path, "Hello.", facts=Machine())
    await stage.send("Hi.")
    (request,) = stage.provider.requests
    assert request.context == (
        "# Facts of this moment\n\n## Screen\n1280x800\n\n## Windows\nnone\n\n"
        "## Permission\nMode: ask. The person is there and can be asked.\n"
    )
    assert request.system == stage.session.system
    assert "1280x800" not in request.system
    assert request.messages == (user("Hi."),)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(("attended", "who"), [(True, "can be asked"), (False, "obody is there")])
async def test_the_prompt_says_the_mode_and_whether_somebody_can_be_asked(
    tmp_path: Path, mode: Mode, attended: bool, who: str
) -> None:
    stage = Stage(tmp_path, "Hello.", mode=mode, attended=attended)
    await stage.send("Hi.")
    (request,) = stage.provider.requests
    (said,) = [line for line in request.context.splitlines() if line.startswith("Mode: ")]
    assert (said.split(".")[0], who in said) == (f"Mode: {mode.value}", True), said


async def test_a_listener_that_has_left_hears_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.")
    heard: list[AgentEvent] = []
    leave = stage.session.subscribe(heard.append)
    leave()
    leave()
    await stage.send()
    assert heard == []


async def test_a_fault_of_ours_ends_the_turn_and_rises(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Hello.", "Hello again.")

    def broken(event: AgentEvent) -> None:
        if len(stage.provider.requests) == 1:
            raise ZeroDivisionError

    leave = stage.session.subscribe(broken)
    with pytest.raises(ZeroDivisionError):
        await stage.send()
    leave()
    assert (await stage.send()).text == "Hello again."


async def test_the_person_may_take_over_while_a_turn_runs(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>', "Done.")
    stage.session.give_way(is_driving=True)
    running = asyncio.create_task(stage.send())
    await stage.bench.began.wait()
    stage.session.give_way(is_driving=True)
    stage.session.give_way(is_driving=False)
    stage.bench.hold.set()
    await running
    assert stage.states == ["thinking", "busy", "driving", "busy", "thinking", "idle"]


async def test_two_calls_of_a_batch_are_asked_about_one_after_the_other(tmp_path: Path) -> None:
    batch = '<execute>[{"name":"run","args":{"command":"a"}},{"name":"run","args":{"command":"b"}}]</execute>'
    stage = Stage(tmp_path, batch, "Half of it.", dialect="batch")
    answers = iter((False, True))

    def answer(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            stage.session.answer(event.approval_id, allow=next(answers))

    stage.session.subscribe(answer)
    await stage.send()
    assert stage.bench.done == ["run b"]
    kinds = [type(event).__name__ for event in stage.of(ApprovalWanted, ApprovalAnswered)]
    assert kinds == ["ApprovalWanted", "ApprovalAnswered"] * 2


async def test_a_turn_whose_time_is_over_ends_whatever_it_is_doing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, '<long name="a"/>', clock=SystemClock(), settings={"chat.max_seconds": 1.0})
    ended = await stage.send()
    assert (ended.outcome, "chat.max_seconds" in ended.text) == (Outcome.FAILED, True)
    assert (stage.bench.cancelled, _cards_are_closed(stage)) == (1, True)
