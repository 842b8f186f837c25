"""How a turn counts that nobody watches: by what ran and what its receipts show, not by how sure the words sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.agent_events import Notice, Outcome
from app.agent.policy import Mode
from app.agent.turn import Evidence
from app.protocol import docs
from app.protocol.call import Media, ToolResult
from app.protocol.dialects.batch import json_docs
from app.protocol.spec import Effect
from app.providers.api import NativeCallDelta, NativeCallStarted, Stopped, TextDelta
from app.tools.conversation import SAY
from tests.support.stage import Stage

PICTURE = (Media("image/png", b"", 1, 1, ""),)


ACT, LOOK, TALK = frozenset({Effect.DESKTOP}), frozenset({Effect.READS}), frozenset({Effect.TALKS})


def result(proof: str = "", *, ok: bool = True, seen: bool = False) -> ToolResult:
    return ToolResult(ok, "acted", {"proof": proof} if proof else {}, "", PICTURE if seen else ())


CASES = [
    ([], "Done.", Outcome.ANSWERED),
    ([(ACT, result("confirmed"))], "Saved.", Outcome.FINISHED),
    ([(ACT, result("suspected no-op"))], "Saved.", Outcome.UNVERIFIED),
    ([(ACT, result("suspected no-op")), (LOOK, result())], "The file is there.", Outcome.FINISHED),
    ([(ACT, result("unverifiable")), (LOOK, result())], "I clicked it, but nothing was saved.", Outcome.FAILED),
    ([(ACT, result("confirmed"))], "It is open. I could not find the button.", Outcome.FAILED),
    ([(ACT, result("confirmed"))], "I could not find it at first. Now it is open.", Outcome.FINISHED),
    ([(LOOK, result(ok=False))], "I have read it.", Outcome.UNVERIFIED),
    ([(LOOK, result())], "I looked, but I couldn\u2019t do it.", Outcome.FAILED),
    ([(LOOK, result(ok=False)), (LOOK, result())], "It is there; it was not on the first page.", Outcome.FINISHED),
]


@pytest.mark.parametrize(("calls", "words", "wanted"), CASES)
def test_plain_words_count_as_their_evidence_says(
    calls: list[tuple[frozenset[Effect], ToolResult]], words: str, wanted: Outcome
) -> None:
    evidence = Evidence()
    for effects, came in calls:
        evidence.note(effects, came)
    assert evidence.outcome_of(words) is wanted


@pytest.mark.parametrize("before", [(), ("<look/>",)])
@pytest.mark.parametrize("words", ["Done.", "<attempt_completion><result>Done.</result></attempt_completion>"])
async def test_where_the_last_act_was_refused_no_word_makes_the_task_finished(
    tmp_path: Path, before: tuple[str, ...], words: str
) -> None:
    stage = Stage(tmp_path, *before, '<run command="make"/>', words, attended=False)
    assert (await stage.send()).outcome is Outcome.WAITING
    assert stage.bench.done in ([], ["look"])


async def test_an_answer_that_stays_too_long_ends_as_cut_off(tmp_path: Path) -> None:
    more = Stopped("max_tokens")
    stage = Stage(tmp_path, ["One ", more], ["two ", more], ["three ", more], ["four ", more])
    ended = await stage.send()
    assert (ended.outcome, ended.text) == (Outcome.CUT_OFF, "One two three four")
    assert any(isinstance(event, Notice) and "cut off" in event.sentence for event in stage.events)


BEGUN = ["", '<write path="a.txt">x</write>', "<say>", '<write path="a.txt">', '<run command="']


@pytest.mark.parametrize("before", BEGUN)
async def test_a_model_that_repeats_itself_is_cut_off_in_the_stream(tmp_path: Path, before: str) -> None:
    endless = [TextDelta("I will do that now. ") for _ in range(3000)]
    stage = Stage(tmp_path, [TextDelta(before), *endless], [TextDelta("go on "), *endless])
    ended = await stage.send()
    assert ended.outcome is Outcome.REPEATING


async def test_endless_arguments_of_a_native_call_are_cut_off(tmp_path: Path) -> None:
    endless = [NativeCallDelta("c", "\\n ") for _ in range(3000)]
    reply = [NativeCallStarted("c", "run"), NativeCallDelta("c", '{"command": "'), *endless]
    stage = Stage(tmp_path, reply, dialect="native")
    assert (await stage.send()).outcome is Outcome.REPEATING
    assert (stage.bench.done, stage.provider.cut) == ([], 1)


@pytest.mark.parametrize(
    "words",
    [
        '<say offers=\'["click Save", "press enter"]\'>Two fit.</say>',
        '<attempt_completion offers=\'["click Save", "press enter"]\'><result>Two fit.</result></attempt_completion>',
    ],
)
async def test_what_may_be_said_next_comes_with_the_end_of_the_turn(tmp_path: Path, words: str) -> None:
    ended = await Stage(tmp_path, words).send()
    assert (ended.text, ended.offers) == ("Two fit.", ("click Save", "press enter"))


def test_what_only_the_offline_provider_gives_is_in_no_docs() -> None:
    assert [name for name in (docs.xml, json_docs) if "offers" in name(SAY.tools)] == []
    assert not any("offers" in str(docs.of_tool(spec)) for spec in SAY.tools)


ENDS = [
    ("<look/>", '<attempt_completion done="no"><result>There is no such file.</result></attempt_completion>', "failed"),
    ("<look/>", "<attempt_completion><result>It is blue.</result></attempt_completion>", "finished"),
    ("<look/>", "There are two. Which one do you mean?", "waiting"),
    ("<look/>", "<attempt_completion><result>Zwei Dateien. Welche meinst du?</result></attempt_completion>", "waiting"),
    ("<look/>", "Soll ich sie löschen?", "waiting"),
    ("<look/>", "The dialog asks “Replace it?”", "finished"),
    ("<look/>", "It is blue. Can I help you with anything else?", "finished"),
    ('<click x="1"/>', "Saved. Would you like me to print it, too?", "finished"),
    ('<click x="1"/>', "Saved. Which folder shall the other one go to?", "waiting"),
]


@pytest.mark.parametrize("attended", [True, False])
@pytest.mark.parametrize(("call", "words", "outcome"), ENDS)
async def test_what_the_last_words_say_is_the_outcome(
    tmp_path: Path, call: str, words: str, outcome: str, *, attended: bool
) -> None:
    ended = await Stage(tmp_path, call, words, attended=attended, mode=Mode.YOLO).send()
    assert ended.outcome.value == outcome


async def test_a_computed_result_admits_nothing_by_the_words_that_it_quotes(tmp_path: Path) -> None:
    words = "<attempt_completion><result>It shows “I cannot go on” now.</result></attempt_completion>"
    stage = Stage(tmp_path, "<look/>", words, attended=False, follows_plan=True)
    assert (await stage.send()).outcome is Outcome.FINISHED


@pytest.mark.parametrize(
    "words",
    [
        "I could not find the file. I will not try other folders.",
        "I need to say that I couldn\u2019t find it.",
        "Ich werde nicht suchen. Ich konnte die Datei nicht finden.",
    ],
)
async def test_who_admits_a_failure_is_not_asked_to_act(tmp_path: Path, words: str) -> None:
    stage = Stage(tmp_path, "<look/>", words, attended=False)
    assert (await stage.send()).outcome is Outcome.FAILED
    assert len(stage.provider.requests) == 2


async def test_a_declared_end_without_any_call_is_only_an_answer(tmp_path: Path) -> None:
    done = "<attempt_completion><result>Saved.</result></attempt_completion>"
    assert (await Stage(tmp_path, done, attended=False).send()).outcome is Outcome.ANSWERED
