"""State by JSON Pointer and JSON Patch: the examples of both specifications, and what refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.base.errors import ToolFailed, WispError
from app.features.apps import state

# https://www.rfc-editor.org/rfc/rfc6901#section-5
DOCUMENT = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo/0", "bar"),
        ("/a~1b", 1),
        ("/e^f", 3),
        ("/g|h", 4),
        ('/k"l', 6),
        ("/m~0n", 8),
    ],
)
def test_a_pointer_finds_what_the_specification_says(pointer: str, value: Any) -> None:
    assert state.resolve(DOCUMENT, pointer) == value


@pytest.mark.parametrize("pointer", ["foo", "/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/nothing", "/a~2b", "/foo/0/x"])
def test_a_pointer_that_leads_nowhere_is_a_sentence(pointer: str) -> None:
    with pytest.raises(WispError):
        state.resolve(DOCUMENT, pointer)


# https://www.rfc-editor.org/rfc/rfc6902#appendix-A
@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"baz": "qux"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo"}),
        ({"foo": [1, 2, 3, 4]}, [{"op": "move", "from": "/foo/1", "path": "/foo/3"}], {"foo": [1, 3, 4, 2]}),
        ({"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"g": {}}}], {"foo": "bar", "child": {"g": {}}}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"a": 1}, [{"op": "add", "path": "", "value": {}}], {}),
    ],
)
def test_a_patch_does_what_the_specification_says(before: Any, patch: Any, after: Any) -> None:
    kept = json.dumps(before)
    assert state.patched(before, patch) == after
    assert json.dumps(before) == kept, "the value before is not touched"


@pytest.mark.parametrize(
    "step",
    [
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "test", "path": "/one", "value": True},
        {"path": "/a", "value": 1},
        {"op": "add", "path": 7, "value": 1},
        {"op": ["add"], "path": "/a", "value": 1},
        {"op": "copy", "path": "/a"},
        {"op": "move", "from": "/list", "path": "/list/0"},
        {"op": "add", "path": f"/list/{'9' * 5000}", "value": 1},
        "add",
    ],
)
def test_a_patch_that_cannot_be_carried_out_changes_nothing_and_names_its_operation(step: Any) -> None:
    before = {"list": [1, 2], "one": 1}
    with pytest.raises(WispError, match="operation 2"):
        state.patched(before, [{"op": "add", "path": "/new", "value": 1}, step])
    assert before == {"list": [1, 2], "one": 1}


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", ["x" * 1_000_001, float("nan"), float("inf"), {1: 2}, {"a": b"x"}, _nested(40), {"a": "\ud800"}]
)
def test_what_is_no_plain_json_of_limited_size_is_not_kept(value: Any) -> None:
    with pytest.raises(WispError):
        state.encoded(value)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "[" * 100_000, "{'a': 1}"])
def test_what_is_no_json_is_a_sentence(text: str) -> None:
    with pytest.raises(WispError):
        state.decoded(text)


def test_what_is_kept_is_read_back() -> None:
    value = {"text": "Grüße 🎉", "list": [1, 2.5, None, True], "": {}}
    assert state.decoded(state.encoded(value)) == value


def test_copies_of_copies_end_at_the_size_that_is_kept() -> None:
    copies = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 400
    with pytest.raises(ToolFailed, match=r"operation \d+"):
        state.patched({"a": ["x" * 1000]}, copies)


def test_a_patch_with_a_value_that_is_nested_without_end_is_a_sentence() -> None:
    with pytest.raises(WispError, match="operation 1"):
        state.patched({}, [{"op": "add", "path": "/a", "value": _nested(900)}])
