"""Which window is in front, and which area a program's window may have."""

from __future__ import annotations

from app.base.geometry import Point, Rect
from app.desktop.accessibility.outline import Stack
from app.desktop.backends import Window
from tests.unit.desktop.accessibility.trees import node, program

LETTER = Window("w1", "Letter", "editor", Rect(0, 0, 100, 100), 7)
OTHER = Window("w2", "Other", "editor", Rect(50, 0, 100, 100), 7)
STRANGER = Window("w3", "Stranger", "mail", Rect(0, 50, 300, 100), 9)


def hidden_at(point: Point, *stack: Window) -> bool:
    window = node("frame", "Letter", (0, 0, 100, 100))
    return Stack(stack).hides_at(point, program("editor", window, pid=7), window, window)


def test_the_topmost_window_of_all_decides() -> None:
    assert hidden_at(Point(10, 60), STRANGER, LETTER)
    assert not hidden_at(Point(10, 60), LETTER, STRANGER)
    assert not hidden_at(Point(10, 10), STRANGER, LETTER)


def test_a_window_of_the_same_program_hides_as_well() -> None:
    assert hidden_at(Point(60, 10), OTHER, LETTER)


def test_of_a_program_whose_windows_nobody_knows_nothing_is_hidden() -> None:
    assert not hidden_at(Point(10, 60), STRANGER)
    assert not hidden_at(Point(10, 60))


def test_a_minimised_window_hides_nothing() -> None:
    away = Window("w3", "Stranger", "mail", Rect(0, 0, 300, 300), 9, is_minimised=True)
    assert not hidden_at(Point(10, 10), away, LETTER)


def test_areas_are_those_of_the_title_or_else_all_of_the_program() -> None:
    stack = Stack([LETTER, OTHER, STRANGER])
    assert stack.areas(7, "Letter") == [LETTER.area]
    assert stack.areas(7, "") == [LETTER.area, OTHER.area]
    assert stack.areas(8, "Letter") == []
