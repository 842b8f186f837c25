"""From what was written to typed values, and the sentences about what cannot be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.base.errors import ToolMisuse
from app.protocol.arguments import to_call
from app.protocol.call import Block, Child, JsonValue
from app.protocol.spec import ToolSpec
from tests.support.parsed_tools import APP, DONE, READ, WRITE


def _xml(spec: ToolSpec, attrs: Mapping[str, str], *children: Child, body: str = "") -> Mapping[str, JsonValue]:
    return to_call(spec, Block("c", spec.name, attrs, children, body)).arguments


def _json(spec: ToolSpec, args: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    return to_call(spec, Block("c", spec.name, args=args)).arguments


def test_text_is_read_as_the_declared_kinds() -> None:
    given = {"path": "a", "line": "3", "whole": "yes", "mode": "HEX", "scale": "1.5"}
    assert _xml(READ, given) == {"path": "a", "line": 3, "whole": True, "mode": "hex", "scale": 1.5}


@pytest.mark.parametrize(("text", "value"), [("3.0", 3), ("+4", 4), (" 5 ", 5)])
def test_a_whole_number_may_be_written_in_several_ways(text: str, value: int) -> None:
    assert _xml(READ, {"path": "a", "line": text})["line"] == value


@pytest.mark.parametrize(("text", "value"), [("9007199254740993", 9007199254740993), ("1e3", 1000.0), (".5", 0.5)])
def test_a_number_keeps_its_digits(text: str, value: float) -> None:
    assert _xml(READ, {"path": "a", "scale": text})["scale"] == value


@pytest.mark.parametrize(("text", "value"), [("false", False), ("0", False), ("no", False), ("", True), ("On", True)])
def test_a_flag_may_be_written_in_several_ways(text: str, value: bool) -> None:
    assert _xml(READ, {"path": "a", "whole": text})["whole"] is value


def test_an_optional_value_left_empty_counts_as_not_given() -> None:
    assert _xml(READ, {"path": "a", "line": "", "mode": ""}) == {"path": "a"}


def test_children_with_attributes_become_objects_and_repeated_ones_a_list() -> None:
    children = (Child("doc", "one", {"lang": "en", "pages": "2"}), Child("doc", "two"), Child("tags", '["a", "b"]'))
    assert _xml(APP, {"name": "n"}, *children, Child("settings", '{"x": [1]}')) == {
        "name": "n",
        "doc": [{"lang": "en", "pages": 2, "text": "one"}, {"text": "two"}],
        "tags": ["a", "b"],
        "settings": {"x": [1]},
    }


def test_a_list_may_be_written_without_brackets() -> None:
    assert _xml(APP, {"tags": "a, b"}) == {"tags": ["a", "b"]}
    assert _xml(APP, {}, Child("tags", "a, b\nc")) == {"tags": ["a, b", "c"]}


def test_a_child_counts_more_than_an_attribute_of_its_name() -> None:
    assert _xml(READ, {"path": "a"}, Child("path", "b")) == {"path": "b"}


def test_text_without_its_child_fills_the_one_that_is_missing() -> None:
    assert _xml(DONE, {}, body="Done.") == {"result": "Done."}


def test_chatter_in_a_tool_without_a_body_is_ignored() -> None:
    assert _xml(READ, {"path": "a"}, body="I read it now.") == {"path": "a"}


def test_progress_is_kept_apart() -> None:
    call = to_call(READ, Block("c", "read_file", {"path": "a", "task_progress": "- [x] a"}))
    assert (call.arguments, call.progress) == ({"path": "a"}, "- [x] a")
    assert to_call(READ, Block("c", "read_file", args={"path": "a", "task_progress": "- [ ] b"})).progress == "- [ ] b"


def test_an_empty_text_may_be_written_on_purpose() -> None:
    assert _json(WRITE, {"path": "a", "content": ""}) == {"path": "a", "content": ""}
    assert _xml(WRITE, {"path": "a"}, Child("content", "")) == {"path": "a", "content": ""}


def test_null_counts_as_not_given() -> None:
    assert _json(READ, {"path": "a", "line": None}) == {"path": "a"}


@pytest.mark.parametrize(
    ("spec", "attrs", "sentence"),
    [
        (READ, {}, "read_file needs path: the file."),
        (READ, {"pth": "a"}, "read_file has no argument 'pth'. Did you mean 'path'?"),
        (READ, {"path": "a", "line": "three"}, 'line must be a whole number, not "three".'),
        (READ, {"path": "a", "line": "100"}, "line is 100; it must be at most 99."),
        (READ, {"path": "a" * 10_001}, "path has 10001 characters; it may have at most 10000."),
        (READ, {"path": "a", "whole": "maybe"}, 'whole must be true or false, not "maybe".'),
        (READ, {"path": "a", "scale": "1e999"}, 'scale must be a number, not "1e999".'),
        (APP, {"tags": '["a"'}, 'tags must be a JSON array, not "[\\"a\\"".'),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence_that_names_it(
    spec: ToolSpec, attrs: Mapping[str, str], sentence: str
) -> None:
    with pytest.raises(ToolMisuse) as misuse:
        _xml(spec, attrs)
    assert str(misuse.value) == sentence


@pytest.mark.parametrize(
    ("spec", "args", "sentence"),
    [
        (READ, {"path": 3}, "path must be text, not 3."),
        (READ, {"path": "a", "line": True}, "line must be a whole number, not true."),
        (READ, {"path": "a", "line": "3"}, 'line must be a whole number, not "3".'),
        (READ, {"path": "a", "line": 2.5}, "line must be a whole number, not 2.5."),
        (READ, {"path": "a", "whole": 1}, "whole must be true or false, not 1."),
        (APP, {"doc": "one"}, 'doc must be a list, each item an object, not "one".'),
        (APP, {"doc": [{"size": 1}]}, "doc has no field 'size'; it takes lang, pages, text."),
        (APP, {"doc": [{"pages": "2"}]}, 'pages must be a whole number, not "2".'),
    ],
)
def test_a_json_value_must_have_the_declared_type(spec: ToolSpec, args: Mapping[str, JsonValue], sentence: str) -> None:
    with pytest.raises(ToolMisuse) as misuse:
        _json(spec, args)
    assert str(misuse.value) == sentence


def test_an_undeclared_child_is_told_with_what_was_meant() -> None:
    with pytest.raises(ToolMisuse, match=r"read_file has no argument 'pth'\. Did you mean 'path'\?"):
        _xml(READ, {"line": "3"}, body="<pth>a</pth>")


def test_a_partial_call_never_becomes_a_call() -> None:
    with pytest.raises(ToolMisuse, match="was cut off"):
        to_call(READ, Block("c", "read_file", {"path": "a"}, partial=True))
