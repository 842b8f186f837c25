"""Noticing a model that goes round in circles."""

from __future__ import annotations

from app.agent.repetition import Repetition
from app.protocol.result import Media, ToolResult


def _result(echo: str, *media: Media) -> ToolResult:
    return ToolResult(True, "done", {}, echo, media)


def test_equal_calls_in_a_row_are_counted_whatever_the_order_of_their_arguments() -> None:
    repetition = Repetition()
    counts = [repetition.note("read", {"a": 1, "b": 2}), repetition.note("read", {"b": 2, "a": 1})]
    assert counts == [1, 2]


def test_another_tool_or_argument_starts_again() -> None:
    repetition = Repetition()
    calls = [("read", "x"), ("read", "x"), ("read", "y"), ("list", "y"), ("read", "x")]
    assert [repetition.note(name, {"path": path}) for name, path in calls] == [1, 2, 1, 1, 1]


def test_a_result_that_differs_is_progress() -> None:
    repetition = Repetition()
    counts = []
    for echo in ("10 lines", "10 lines", "20 lines", "20 lines"):
        counts.append(repetition.note("tail", {}))
        repetition.came(_result(echo))
    assert counts == [1, 2, 3, 2]


def test_a_picture_that_differs_is_progress() -> None:
    repetition = Repetition()
    for data in (b"one", b"two"):
        repetition.note("look", {})
        repetition.came(_result("A picture.", Media(data, "image/png", 1, 1)))
    assert repetition.count == 1
