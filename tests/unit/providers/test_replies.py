"""Streams that hold anything at all: what comes out is well formed, or the stream is said to be broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers import api
from app.providers.anthropic.wire import MessageReading as Messages
from app.providers.openai_compatible.wire import ChunkReading as Completions
from app.providers.pairing import WireError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["text", "name", "id"]), inner, max_size=2)
    ),
    max_leaves=3,
)


def _object(*names: str, **known: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object with some of these names; known ones mostly hold what belongs there."""
    return st.fixed_dictionaries({}, optional={name: known.get(name, VALUES) | VALUES for name in (*names, *known)})


KINDS = ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta")
BLOCK = _object("text", "id", "name", "input", "toolset_name", type=st.sampled_from(["text", "thinking", "tool_use"]))
DELTA = _object(
    "text",
    "thinking",
    "signature",
    "partial_json",
    "stop_reason",
    type=st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]),
)
EVENT = _object(
    "message", "usage", index=st.integers(0, 1), type=st.sampled_from(KINDS), content_block=BLOCK, delta=DELTA
)
FUNCTION = _object("name", arguments=st.sampled_from(["{", "}", '{"a": 1}', ""]))
CALL = _object("id", index=st.integers(0, 1), function=FUNCTION)
CHOICE = _object(
    "finish_reason", delta=_object("content", "reasoning", "refusal", tool_calls=st.lists(CALL, max_size=2))
)
CHUNK = _object("usage", choices=st.lists(CHOICE, max_size=2))


def check(event: api.StreamEvent) -> None:
    match event:
        case api.TextDelta() | api.Thinking():
            assert isinstance(event.text, str)
        case api.NativeCallStarted():
            assert isinstance(event.call_id, str)
            assert isinstance(event.name, str)
        case api.NativeCallDelta():
            assert isinstance(event.json, str)
        case api.NativeCallEnded():
            assert isinstance(event.args, dict)
            assert not (event.args and event.unread)
        case api.Usage():
            assert isinstance(event.input_tokens, int)
        case api.Stopped():
            assert event.reason in ("end_turn", "max_tokens", "tool_use", "refusal")


@given(st.lists(EVENT, max_size=8))
def test_anthropics_stream_is_read_or_said_to_be_broken(events: list[dict[str, Any]]) -> None:
    reading = Messages({})
    try:
        for event in events:
            for told in reading.read(event):
                check(told)
    except WireError as error:
        assert str(error)


@given(st.lists(CHUNK, max_size=8))
def test_an_openai_stream_is_read_or_said_to_be_broken(chunks: list[dict[str, Any]]) -> None:
    reading = Completions()
    try:
        for chunk in chunks:
            for told in reading.read(chunk):
                check(told)
        for told in reading.finish():
            check(told)
    except WireError as error:
        assert str(error)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_start", "index": 0},
        {"type": "message_start"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "x"}},
    ],
    ids=["delta of no block", "start without a block", "start without a message", "call without an id"],
)
def test_an_event_that_cannot_be_is_told(event: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        list(Messages({}).read(event))


def test_events_of_the_future_mean_nothing() -> None:
    reading = Messages({})
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "hologram", "depth": 3}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "depth_delta", "depth": 4}}
    stop = {"type": "content_block_stop", "index": 0}
    assert [told for event in ({"type": "aurora"}, start, delta, stop) for told in reading.read(event)] == []
