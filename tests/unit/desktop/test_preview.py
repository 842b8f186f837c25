"""What is foreseen of the control that has the keyboard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from app.base.geometry import Point, Rect
from app.desktop.backends import Landing, Window
from app.desktop.elements import Element, NoAccessibility, Scene, SceneRequest
from app.desktop.headless import HeadlessDesktop
from app.desktop.preview import FocusRequest, TargetPreview
from app.desktop.takeover import StopFlag
from app.desktop.targets import Aim
from tests.support.stage import FakeClock

_WINDOW = Window("w1", "Form", "form", Rect(0, 0, 9, 9), is_active=True)
_NAME, _SIGN = (
    Scene(Element(ref, role, name, "", Rect(0, 0, 9, 9), frozenset({"focused"}), "", "Form", 0), is_described=True)
    for ref, role, name in (("e1", "entry", "Name"), ("e2", "button", "Sign"))
)
_NOTHING, _MENU = Scene(is_described=True), Scene(is_described=True, is_menu_open=True)


class _Telling(NoAccessibility):
    """Shows one scene after the other; the last one stays. Each look takes a tenth of a second."""

    def __init__(self, scenes: Iterable[Scene], clock: FakeClock) -> None:
        super().__init__()
        self._left = list(scenes)
        self._clock = clock

    async def scene(self, request: SceneRequest) -> Scene:
        self._clock.advance(0.1)
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


async def _done() -> bool:
    return True


async def _found(target: str) -> Aim:
    return Aim(Point(3, 3), target)


@pytest.mark.parametrize(
    ("scenes", "name", "is_known"),
    [
        ((_NAME, _SIGN), "Sign", True),
        ((_NAME, _NOTHING, _NOTHING, _SIGN), "Sign", True),
        ((_NAME, _NOTHING), "", False),
        ((_NAME, _MENU), "", True),
        ((_NOTHING,), "", True),
    ],
)
async def test_a_keyboard_that_has_left_a_control_is_followed_to_the_next_one_or_not_known(
    scenes: tuple[Scene, ...], name: str, *, is_known: bool
) -> None:
    headless, clock = HeadlessDesktop(), FakeClock()
    headless.opened.append(_WINDOW)
    backend = replace(headless.backend(StopFlag()), accessibility=_Telling(scenes, clock))
    preview = TargetPreview[str](backend, _found, clock, _done)
    await preview.focus(FocusRequest())
    met = await preview.focus(FocusRequest())
    assert (met.name, met.is_known) == (name, is_known)
    assert (await preview.focus(FocusRequest())).is_known


async def test_a_keyboard_that_a_click_took_from_a_control_need_not_be_with_another_one() -> None:
    headless, clock = HeadlessDesktop(), FakeClock()
    headless.opened.append(_WINDOW)
    backend = replace(headless.backend(StopFlag()), accessibility=_Telling((_NAME, _NOTHING), clock))
    preview = TargetPreview[str](backend, _found, clock, _done)
    await preview.focus(FocusRequest())
    await preview.foresee("c1", "Sign")
    assert (await preview.focus(FocusRequest())).is_known


async def test_a_windows_frame_is_known_where_its_program_tells_of_nothing() -> None:
    headless, clock = HeadlessDesktop(), FakeClock()
    headless.opened.append(_WINDOW)
    stop = headless.backend(StopFlag())
    windows = cast(Any, _Framing(stop.windows))
    backend = replace(stop, windows=windows, accessibility=_Telling((Scene(),), clock))
    preview = TargetPreview[str](backend, _found, clock, _done)
    frame, inside = await preview.under(Point(3, 0)), await preview.under(Point(3, 3))
    assert [(met.title, met.is_frame, met.is_known) for met in (frame, inside)] == [
        ("Form", True, True),
        ("Form", False, False),
    ]


class _Framing:
    """Windows whose first line is their frame."""

    def __init__(self, windows: object) -> None:
        self._windows = windows

    def under(self, point: Point) -> Landing:
        return Landing("f1", framed="w1") if point.y == 0 else Landing("1", "w1")

    def __getattr__(self, name: str) -> object:
        return getattr(self._windows, name)
