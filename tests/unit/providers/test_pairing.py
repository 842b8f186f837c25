"""A history that no vendor refuses."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.protocol.call import Media
from app.protocol.message import CallPart, ImagePart, Message, Part, ResultPart, Role, TextPart, assistant, user
from app.providers.pairing import HALTED, paired

PICTURE = Media(b"png", "image/png", 1, 1)


def called(*ids: str, toolset: str = "") -> Message:
    return Message(Role.ASSISTANT, tuple(CallPart(id_, "wait", {}, toolset) for id_ in ids))


def answered(*parts: Part) -> Message:
    return Message(Role.USER, parts)


def test_neighbours_of_one_role_are_joined() -> None:
    assert paired([user("a"), user("b"), assistant("c")]) == [
        Message(Role.USER, (TextPart("a"), TextPart("b"))),
        assistant("c"),
    ]


def test_results_come_first_in_the_order_of_their_calls() -> None:
    one, two = ResultPart("c1", "1"), ResultPart("c2", "2")
    history = paired([user("a"), called("c1", "c2"), answered(TextPart("and"), two, one)])
    assert history[2] == answered(one, two, TextPart("and"))


def test_a_call_that_was_never_run_is_answered() -> None:
    not_run = ResultPart("c1", "Not executed: the turn ended before it.", is_error=True)
    assert paired([user("a"), called("c1")])[2] == answered(not_run)
    assert paired([user("a"), called("c1"), user("stop")])[2] == answered(not_run, TextPart("stop"))


def test_actions_after_a_failed_one_are_answered_in_the_vendors_words() -> None:
    failed = ResultPart("c1", "Missed.", is_error=True)
    history = paired([user("a"), called("c1", "c2", "c3", toolset="computer"), answered(failed)])
    words = "Not executed: an earlier computer action in this turn failed."
    assert words == HALTED["computer"]
    assert history[2] == answered(failed, *(ResultPart(id_, words, is_error=True) for id_ in ("c2", "c3")))


def test_a_result_whose_call_was_taken_out_becomes_text() -> None:
    history = paired([user("a"), assistant("b"), answered(ResultPart("c1", "done", (PICTURE,)))])
    assert history[2] == answered(TextPart("Result of an earlier call: done"), ImagePart(PICTURE))


PARTS = st.one_of(
    st.builds(TextPart, st.text(max_size=3)),
    st.builds(CallPart, st.sampled_from("abc"), st.just("wait"), st.just({})),
    st.builds(ResultPart, st.sampled_from("abc"), st.text(max_size=3)),
)


@given(st.lists(st.builds(Message, st.sampled_from(Role), st.lists(PARTS, max_size=4).map(tuple)), max_size=6))
def test_whatever_the_history_every_call_has_its_result_right_after_it(messages: list[Message]) -> None:
    cleaned = [_own_parts(message) for message in messages]
    history = paired(cleaned)
    assert all(one.role is not other.role for one, other in itertools.pairwise(history))
    for before, message in zip([None, *history], history, strict=False):
        calls = [part.id for part in before.parts if isinstance(part, CallPart)] if before else []
        results = [part.call_id for part in message.parts if isinstance(part, ResultPart)]
        if message.role is Role.USER:
            assert results == calls
    assert not history or not any(isinstance(part, CallPart) for part in history[-1].parts)


def _own_parts(message: Message) -> Message:
    """Calls are the assistant's and each has an id of its own there; results are the user's."""
    other = ResultPart if message.role is Role.ASSISTANT else CallPart
    kept: dict[object, Part] = {}
    for number, part in enumerate(message.parts):
        if not isinstance(part, other):
            kept[part.id if isinstance(part, CallPart) else number] = part
    return Message(message.role, tuple(kept.values()))
