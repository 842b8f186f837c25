"""Native calls as they stream."""

from __future__ import annotations

import json

import pytest

from app.protocol.call import Block
from app.protocol.dialects.native import NativeCalls
from app.protocol.message import CallClosed, CallCut, CallDelta, CallOpened, Misread


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_texts_show_as_they_grow(size: int, ascii_only: bool) -> None:
    args = {"path": "a\\b", "nested": {"content": "no", "list": ["no"]}, "n": 3, "content": 'é "q"\n😀 }{', "last": "z"}
    text = json.dumps(args, ensure_ascii=ascii_only)
    calls = NativeCalls()
    calls.started("1", "write_file")
    shown: dict[str, str] = {}
    for at in range(0, len(text), size):
        for event in calls.delta("1", text[at : at + size]):
            assert isinstance(event, CallDelta)
            shown[event.param] = shown.get(event.param, "") + event.text
    assert shown == {"path": "a\\b", "content": args["content"], "last": "z"}


def test_a_call_opens_and_closes() -> None:
    calls = NativeCalls()
    assert calls.started("1", "say") == [CallOpened("1", "say")]
    assert calls.is_open
    assert calls.ended("1", {"text": "x"}) == [CallClosed(Block("1", "say", args={"text": "x"}))]
    assert not calls.is_open


def test_arguments_that_are_no_object_are_told() -> None:
    calls = NativeCalls()
    calls.started("1", "say")
    cut, misread = calls.ended("1", {}, '{"text": "x')
    assert cut == CallCut(Block("1", "say", args={}, partial=True))
    assert isinstance(misread, Misread)
    assert misread.detail.startswith("The arguments of say are no JSON object: Unterminated string")


def test_what_is_open_at_the_end_is_cut() -> None:
    calls = NativeCalls()
    calls.started("1", "say")
    assert calls.cut() == [CallCut(Block("1", "say", args={}, partial=True))]
    assert calls.delta("1", "x") == []
