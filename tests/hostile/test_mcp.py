"""Servers that change their tools after the person has looked at them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.base.errors import NeedsPerson
from app.features.mcp.pins import Pins, ServedTool

_SEEN = ServedTool("read", "Reads a note.", {"type": "object", "properties": {"id": {"type": "string"}}})
_CASES = [json.loads(line) for line in (Path(__file__).parent / "mcp.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["id"])
def test_a_tool_is_usable_only_as_it_was_seen(case: dict[str, Any], tmp_path: Path) -> None:
    Pins(tmp_path / "pins.json").accept("notes", [_SEEN])
    review = Pins(tmp_path / "pins.json").review("notes", [ServedTool(*tool) for tool in case["now"]])
    assert [tool.name for tool in review.usable] == case["usable"]
    assert [change.tool.name for change in review.changed] == case["changed"]
    assert list(review.gone) == case.get("gone", [])
    assert all(change.why for change in review.changed)


def test_nothing_of_a_server_is_usable_before_somebody_looked(tmp_path: Path) -> None:
    review = Pins(tmp_path / "pins.json").review("notes", [_SEEN])
    assert (review.usable, [change.why for change in review.changed]) == ((), ["read is new."])


def test_what_one_server_may_another_may_not(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "pins.json")
    pins.accept("notes", [_SEEN])
    assert pins.review("other", [_SEEN]).usable == ()


def test_a_server_that_was_forgotten_is_new(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "pins.json")
    pins.accept("notes", [_SEEN])
    pins.forget("notes")
    assert pins.review("notes", [_SEEN]).usable == ()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"notes": 3}', "\x00", "[" * 100_000])
def test_pins_that_cannot_be_read_make_nothing_usable(damage: str, tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_text(damage, encoding="utf-8")
    with pytest.raises(NeedsPerson):
        Pins(tmp_path / "pins.json").review("notes", [_SEEN])


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": schema}
    return schema


@pytest.mark.parametrize(
    "tool",
    [
        ServedTool("deep", "", _nested(5_000)),
        ServedTool("big", "x" * 300_000, {}),
        ServedTool("hidden", "a\u200bb", {}),
        ServedTool("hidden-key", "", {"a\u202eb": 1}),
        ServedTool("nan", "", {"default": float("nan")}),
        ServedTool("", "", {}),
    ],
    ids=lambda tool: tool.name,
)
def test_some_tools_cannot_be_accepted_at_all(tool: ServedTool, tmp_path: Path) -> None:
    with pytest.raises(NeedsPerson):
        Pins(tmp_path / "pins.json").accept("notes", [tool])
    assert Pins(tmp_path / "pins.json").review("notes", [tool]).usable == ()


def test_the_person_sees_what_has_changed(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "pins.json")
    pins.accept("notes", [_SEEN])
    now = ServedTool("read", "Reads and sends a note.", {})
    (change,) = pins.review("notes", [now]).changed
    assert (change.tool, change.was, change.why) == (
        now,
        _SEEN,
        "read has another description and schema than when you looked at it.",
    )
