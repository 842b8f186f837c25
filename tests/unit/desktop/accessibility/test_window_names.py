"""The window that a name means, among several that are alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.accessibility.window_names import find
from app.desktop.backends import Window

_LEFT = Window("w1", "galculator", "Galculator", Rect(0, 0, 200, 200))
_RIGHT = Window("w2", "galculator", "Galculator", Rect(500, 0, 200, 200), is_active=True)
_OVER = Window("w3", "galculator", "Galculator", Rect(10, 5, 200, 200))


@pytest.mark.parametrize(
    ("title", "windows", "ref"),
    [
        ("galculator on the left", (_RIGHT, _LEFT), "w1"),
        ("galculator rechts", (_RIGHT, _LEFT), "w2"),
        ("galculator in front", (_OVER, _LEFT), "w3"),
        ("galculator behind the other", (_OVER, _LEFT), "w1"),
        ("w2", (_RIGHT, _LEFT), "w2"),
    ],
)
def test_alike_windows_are_told_apart_by_their_places(title: str, windows: tuple[Window, ...], ref: str) -> None:
    assert find(title, windows, ()).ref == ref


def test_the_one_that_wisp_opened_is_meant_and_else_places_name_each() -> None:
    assert find("galculator", (_RIGHT, _LEFT), {"w1"}).ref == "w1"
    for made in (set[str](), {"w1", "w2"}):
        with pytest.raises(ToolFailed, match=r'w2 "galculator" \(on the right\), w1 "galculator" \(on the left\)'):
            find("galculator", (_RIGHT, _LEFT), made)


_LONG = "Untitled Document 1 - Text Editor"


@pytest.mark.parametrize("title", ["Taschenrechner", "notes.md — Kate", _LONG])
@pytest.mark.parametrize(
    ("place", "ref"), [("on the left", "w1"), ("rechts", "w2"), ("links", "w1"), ("in front", "w3")]
)
def test_a_place_counts_behind_a_long_title_too(title: str, place: str, ref: str) -> None:
    left, right, over = (replace(one, title=title, app="editor") for one in (_LEFT, _RIGHT, _OVER))
    windows = (over, left) if ref == "w3" else (right, left)
    assert find(f"{title} {place}", windows, ()).ref == ref


def test_of_three_windows_all_are_named_where_wisp_opened_two() -> None:
    three = (_RIGHT, _LEFT, _OVER)
    with pytest.raises(ToolFailed) as told:
        find("galculator", three, {"w1", "w3"})
    assert all(one.ref in str(told.value) for one in three)
    assert find("galculator in front", three, {"w1", "w3"}).ref == "w2"
    assert find("galculator", three, {"w3"}).ref == "w3"
