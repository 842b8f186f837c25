"""Speech, results and questions, as the presence gets them."""

from __future__ import annotations

import asyncio

import pytest

from app.base.facts import Proposed
from app.protocol.call import Block, ToolResult
from app.protocol.dialects.xml import XmlDialect
from app.protocol.message import CallClosed
from app.tools.conversation import SAY, TONES, Speech
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Registry, TurnContext, admitted
from tests.support.stage import FakeClock


def _result(block: Block) -> ToolResult:
    executor = Executor(Registry(SAY), [Speech()], FakeClock())
    return asyncio.run(executor.run(block, WrittenByThePerson(), TurnContext(admitted, "c1"))).result


@pytest.mark.parametrize("tone", TONES)
def test_speech_carries_its_tone(tone: str) -> None:
    assert _result(Block("c1", "say", {"tone": tone}, body="Hello.")) == ToolResult(
        True, "say", {"tone": tone, "text": "Hello."}
    )


def test_speech_without_a_tone_is_neutral() -> None:
    assert _result(Block("c1", "say", body="Hello.")).payload == {"tone": "neutral", "text": "Hello."}


def test_speech_without_words_is_misuse() -> None:
    assert not _result(Block("c1", "say")).ok


def test_a_result_ends_the_turn() -> None:
    assert _result(Block("c1", "attempt_completion", args={"result": "Done."})) == ToolResult(
        True, "attempt_completion", {"text": "Done."}, ends_turn="finished"
    )


def test_a_result_may_come_with_a_demonstration_for_the_person_to_see() -> None:
    block = Block("c1", "attempt_completion", args={"result": "Done.", "command": "xdg-open report.pdf"})
    assert _result(block) == ToolResult(
        True, "attempt_completion", {"text": "Done."}, ends_turn="finished", facts=(Proposed("xdg-open report.pdf"),)
    )


@pytest.mark.parametrize(
    ("written", "heard"),
    [
        ("<attempt_completion><response>Done.</response></attempt_completion>", "Done."),
        ("<attempt_completion><response>No.</response><result>Done.</result></attempt_completion>", "Done."),
        ("<attempt_completion>Done.</attempt_completion>", "Done."),
    ],
)
def test_a_result_has_other_spellings(written: str, heard: str) -> None:
    reader = XmlDialect().reader(Registry(SAY).specs)
    [block] = [event.block for event in reader.feed(written) + reader.flush() if isinstance(event, CallClosed)]
    assert _result(block).payload == {"text": heard}


def test_a_result_without_words_is_misuse_that_names_it() -> None:
    result = _result(Block("c1", "attempt_completion", args={"command": "ls"}))
    assert (result.ok, result.ends_turn) == (False, None)
    assert "needs result" in result.llm_echo


def test_a_question_ends_the_turn_until_it_is_answered() -> None:
    block = Block("c1", "wait_for_human_input", {"kind": "code"}, body="Which code did you get?")
    assert _result(block) == ToolResult(
        True,
        "wait_for_human_input",
        {"kind": "code", "text": "Which code did you get?"},
        ends_turn="waiting",
    )
