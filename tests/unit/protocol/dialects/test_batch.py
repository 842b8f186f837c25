"""JSON batches: where one ends, what makes it valid, and what is said about one that is not."""

from __future__ import annotations

import pytest

from app.protocol.dialects.batch import read_batch
from app.protocol.message import BatchClosed, CallClosed, DeclaredEnd, Misread
from app.protocol.payload import Limits
from tests.support.parsed_tools import events, outline


def _calls(text: str) -> list[tuple[str, object]]:
    seen = events(text, read_batch())
    blocks = [event.block for event in seen if isinstance(event, CallClosed)]
    closed = [event.call_ids for event in seen if isinstance(event, BatchClosed)]
    assert closed in ([], [tuple(block.call_id for block in blocks)])
    return [(block.name, block.args) for block in blocks]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (r'[{"name":"w","args":{"c":"x </execute> y"}}]', "x </execute> y"),
        (r'[{"name":"w","args":{"c":"\"</execute>\" \\"}}]', '"</execute>" \\'),
        (r'[{"name":"w","args":{"c":"<\/execute>"}}]', "</execute>"),
        (r'[{"name":"w","args":{"c":"é 😀 \ud83d\ude00"}}]', "é 😀 😀"),
        ('\n```json\n[{"name":"w","args":{"c":"fenced"}}]\n```\n', "fenced"),
    ],
)
def test_strings_may_hold_anything(inside: str, text: str) -> None:
    assert _calls(f"<execute>{inside}</execute>") == [("w", {"c": text})]


def test_the_reader_stops_at_the_first_valid_batch() -> None:
    text = '<execute>[{"name":"a","args":{}}]</execute> more <execute>[{"name":"b","args":{}}]</execute>'
    assert _calls(text) == [("a", {})]


def test_prose_streams_before_the_batch() -> None:
    reader = read_batch()
    assert [getattr(event, "text", "") for event in reader.feed("Looking at ")] == ["Looking at "]


@pytest.mark.parametrize(
    ("inside", "detail"),
    [
        ("", "invalid_json"),
        ('[{"name":"a","args":{"c":"a\nb"}}]', "invalid_json"),
        ('[{"name":"a","args":{"x":1e999}}]', "invalid_json"),
        ('{"name":"a","args":{}}', "not_array"),
        ('[{"args":{}}]', "missing_name"),
        ('[{"name":7,"args":{}}]', "bad_name"),
        ("[" + ",".join(['{"name":"a","args":{}}'] * 65) + "]", "too_many_calls"),
    ],
)
def test_an_invalid_batch_runs_nothing_and_is_told_with_its_kind(inside: str, detail: str) -> None:
    seen = events(f"<execute>{inside}</execute>", read_batch())
    assert [type(event).__name__ for event in seen] == ["Misread"]
    assert isinstance(seen[0], Misread)
    assert (seen[0].code, seen[0].detail.partition(":")[0]) == ("malformed_execute", detail)


def test_a_complaint_tells_the_place_in_the_message() -> None:
    text = 'Hi <execute>\n[{"name": "a", "args": {"c": "x" "d": 1}}]</execute>'
    misread = events(text, read_batch())[-1]
    assert isinstance(misread, Misread)
    assert text[misread.position :].startswith('"d"')
    assert "line 2, column 34" in misread.detail


def test_a_valid_batch_after_an_invalid_one_runs() -> None:
    assert _calls('<execute>nonsense</execute>\n<execute>[{"name":"a","args":{}}]</execute>') == [("a", {})]


def test_quotes_that_never_balance_do_not_take_the_text_behind_along() -> None:
    text = '<execute>[{"name":"w","args":{"c":"unclosed}}]</execute> rest'
    assert outline(text, read_batch()) == [("misread", "malformed_execute"), " rest"]


def test_a_batch_that_is_cut_is_one_partial_call_and_can_be_continued() -> None:
    reader = read_batch()
    reader.feed('Go. <execute>[{"name": "write", "args": {"c": "hal')
    assert reader.is_open
    assert reader.tail(400) == '<execute>[{"name": "write", "args": {"c": "hal'
    reader.feed('f"}}]</execute>')
    reader.flush()
    assert [(block.name, block.args) for block in reader.drain()] == [("write", {"c": "half"})]
    cut = events('<execute>[{"name": "write", "args": {"c": "hal', read_batch())
    assert [(event.block.name, event.block.partial) for event in cut if hasattr(event, "block")] == [("write", True)]


@pytest.mark.parametrize(
    "text",
    ["use <execute> to run", "`<execute>[]</execute>`", '<execute id="1">[]</execute>', "<execute/>", "the <end> tag"],
)
def test_what_only_speaks_of_a_batch_is_text(text: str) -> None:
    assert outline(text, read_batch()) == [text]


@pytest.mark.parametrize("text", ["Done.<end>", "Done.\n<end>\n", "Done. <end> "])
def test_the_end_is_told(text: str) -> None:
    assert DeclaredEnd() in events(text, read_batch())


def test_a_batch_beyond_the_limit_is_an_error() -> None:
    reader = read_batch(Limits(payload=50))
    text = '<execute>[{"name":"w","args":{"c":"' + "x" * 100 + '"}}]</execute> rest'
    assert outline(text, reader) == [("misread", "malformed_execute"), " rest"]
