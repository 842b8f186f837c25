"""Noticing a model that goes round in circles."""

from __future__ import annotations

from app.agent.turn import LoopDetector
from app.protocol.call import Media, ToolResult


def _result(echo: str, *media: Media) -> ToolResult:
    return ToolResult(True, "done", {}, echo, media)


def test_equal_calls_in_a_row_are_counted_whatever_the_order_of_their_arguments() -> None:
    repetition = LoopDetector()
    counts = [repetition.note("read", {"a": 1, "b": 2}), repetition.note("read", {"b": 2, "a": 1})]
    assert counts == [1, 2]


def test_another_tool_or_argument_starts_again() -> None:
    repetition = LoopDetector()
    calls = [("read", "x"), ("read", "x"), ("read", "y"), ("list", "y"), ("read", "x")]
    assert [repetition.note(name, {"path": path}) for name, path in calls] == [1, 2, 1, 1, 1]


def test_a_result_that_differs_is_progress() -> None:
    repetition = LoopDetector()
    counts = []
    for echo in ("10 lines", "10 lines", "20 lines", "20 lines"):
        counts.append(repetition.note("tail", {}))
        repetition.note_result(_result(echo))
    assert counts == [1, 2, 3, 2]


def test_a_picture_that_differs_is_progress() -> None:
    repetition = LoopDetector()
    for data in (b"one", b"two"):
        repetition.note("look", {})
        repetition.note_result(_result("A picture.", Media(data, "image/png", 1, 1)))
    assert repetition.count == 1


def test_results_that_stay_the_same_are_counted_whatever_was_called() -> None:
    repetition = LoopDetector()
    counts = []
    for call, echo in (("a", "Clicked."), ("b", "Clicked."), ("c", "Clicked."), ("d", "Typed.")):
        repetition.note(call, {})
        repetition.note_result(_result(echo))
        repetition.end_pass()
        counts.append((repetition.count, repetition.idle))
    assert counts == [(1, 1), (1, 2), (1, 3), (1, 1)]


def test_a_screen_that_stays_the_same_is_counted_through_the_actions_between() -> None:
    repetition = LoopDetector()
    screen = Media(b"same", "image/png", 1, 1)
    counts = []
    for number in range(3):
        repetition.note("click", {"x": number})
        repetition.note_result(_result(f"Clicked {number}."))
        repetition.end_pass()
        repetition.note("look", {})
        repetition.note_result(_result("A picture.", screen))
        repetition.end_pass()
        counts.append(repetition.idle)
    assert counts == [1, 2, 3]


def test_a_person_who_wants_it_to_go_on_starts_the_counts_again() -> None:
    repetition = LoopDetector()
    for _ in range(5):
        repetition.note("look", {})
        repetition.note_result(_result("Same."))
        repetition.end_pass()
    repetition.forgive()
    assert (repetition.count, repetition.idle, repetition.note("look", {})) == (0, 0, 1)


def test_equal_results_within_one_pass_are_no_standstill() -> None:
    repetition = LoopDetector()
    for key in "abcde":
        repetition.note("press", {"key": key})
        repetition.note_result(_result("Pressed."))
    repetition.end_pass()
    assert repetition.idle == 1
