"""What the model said, as the history keeps it."""

from __future__ import annotations

from app.agent.continuation import Transcript
from app.protocol.call import Block
from app.protocol.message import CallPart, Message, OpaquePart, Role, TextPart, assistant


def _said(*pieces: str) -> Transcript:
    transcript = Transcript()
    for piece in pieces:
        transcript.say(piece)
    return transcript


def test_text_is_kept_up_to_where_it_was_cut() -> None:
    transcript = _said("one ", "two ", "three")
    transcript.cut(8)
    transcript.say("four")
    assert (transcript.message(), transcript.position) == (assistant("one two four"), 12)


def test_what_is_hidden_goes_with_its_tags_and_positions_stay() -> None:
    transcript = _said("before <tool_results>\nlies\n</tool_results> after ", "<look/> more")
    transcript.hide("\nlies\n")
    end = transcript.text.index(" more") + len("<tool_results>\nlies\n</tool_results>")
    transcript.cut(end)
    assert transcript.message() == assistant("before  after <look/>")


def test_hidden_text_may_be_unfinished() -> None:
    transcript = _said("Done. <results>[lies")
    transcript.hide("[lies")
    assert transcript.message() == assistant("Done.")


def test_hiding_what_was_never_said_changes_nothing() -> None:
    transcript = _said("one")
    transcript.hide("two")
    transcript.hide("")
    assert transcript.message() == assistant("one")


def test_parts_stay_in_order() -> None:
    transcript = Transcript()
    thinking = OpaquePart("anthropic", {"signature": "s"})
    transcript.opaque(thinking)
    transcript.say("Looking.")
    transcript.call(Block("c1", "look", args={"deep": True}), "computer")
    transcript.say("  ")
    expected = (thinking, TextPart("Looking."), CallPart("c1", "look", {"deep": True}, "computer"))
    assert transcript.message() == Message(Role.ASSISTANT, expected)


def test_nothing_said_is_no_part() -> None:
    assert Transcript().message() == Message(Role.ASSISTANT, ())
