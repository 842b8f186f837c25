"""What is foreseen of the control that has the keyboard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.backends import Landing, Window
from app.desktop.elements import Element, NoAccessibility, Scene, SceneRequest
from app.desktop.headless import HeadlessDesktop
from app.desktop.preview import TargetPreview
from app.desktop.staleness import KeyTargets
from app.desktop.takeover import StopFlag
from app.desktop.targets import Aim
from tests.support.stage import FakeClock

_WINDOW = Window("w1", "Form", "form", Rect(0, 0, 9, 9), is_active=True)


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


async def _as_found(aim: Aim) -> Aim:
    return aim


async def test_a_windows_frame_is_known_where_its_program_tells_of_nothing() -> None:
    headless, clock = HeadlessDesktop(), FakeClock()
    headless.opened.append(_WINDOW)
    stop = headless.backend(StopFlag())
    windows = cast(Any, _Framing(stop.windows))
    backend = replace(stop, windows=windows, accessibility=_Telling((Scene(),), clock))
    preview = TargetPreview[str](backend, _found, clock, _done, _as_found)
    frame, inside = await preview.under(Point(3, 0)), await preview.under(Point(3, 3))
    assert [(met.title, met.is_frame) for met in (frame, inside)] == [("Form", True), ("Form", False)]


class _Focusing:
    """Windows whose keyboard is with the last of `refs`, whatever the window manager calls active."""

    def __init__(self, windows: object, *refs: str) -> None:
        self._windows = windows
        self.refs = list(refs)

    def keyboard(self) -> Landing:
        return Landing(f"place of {self.refs[-1]}", self.refs[-1])

    def __getattr__(self, name: str) -> object:
        return getattr(self._windows, name)


class _Switching(_Telling):
    """Another window takes the keyboard while the program of the first one answers."""

    windows: _Focusing

    async def scene(self, request: SceneRequest) -> Scene:
        self.windows.refs.append("w2")
        return await super().scene(request)


@pytest.mark.parametrize(("moves", "judged", "is_still"), [(False, "box", True), (True, "box", False)])
async def test_keys_are_judged_by_the_window_that_has_them_and_reach_no_other(
    *, moves: bool, judged: str, is_still: bool
) -> None:
    headless, clock = HeadlessDesktop(), FakeClock()
    box = Window("w3", "box", "pad", Rect(0, 0, 9, 9))
    headless.opened += [_WINDOW, box, replace(box, ref="w2", title="other")]
    stop = headless.backend(StopFlag())
    windows = _Focusing(stop.windows, "w3")
    telling = (_Switching if moves else _Telling)((Scene(),), clock)
    if isinstance(telling, _Switching):
        telling.windows = windows
    backend = replace(stop, windows=cast(Any, windows), accessibility=telling)
    met = await TargetPreview[str](backend, _found, clock, _done, _as_found).focus()
    targets = KeyTargets(backend, _done)
    targets.keep("c1", met.element, met.landing)
    target = targets.take("c1")
    assert target is not None
    assert (met.title, target.title, targets.is_still(target)) == (judged, judged, is_still)


class _Silent(NoAccessibility):
    """Nothing is known of any control, because no accessibility bus is there."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    async def scene(self, request: SceneRequest) -> Scene:
        self._clock.advance(request.patience_s)
        raise ToolFailed("The accessibility bus does not answer.")

    async def focused(self) -> Element | None:
        raise ToolFailed("The accessibility bus does not answer.")


async def test_where_nothing_is_described_the_keyboard_counts_as_where_it_was_judged() -> None:
    """Text that has to be pasted is checked once more, and was refused there."""
    headless, clock = HeadlessDesktop(), FakeClock()
    headless.opened.append(_WINDOW)
    backend = replace(headless.backend(StopFlag()), accessibility=_Silent(clock))
    met = await TargetPreview[str](backend, _found, clock, _done, _as_found).focus()
    targets = KeyTargets(backend, _done)
    targets.keep("c1", met.element, met.landing, is_known=met.scene.has_answered)
    judged = targets.take("c1")
    assert await targets.now(judged) == judged


class _Swapping(NoAccessibility):
    """A field that has the keyboard and becomes one for passwords; each look at it forgets what it was."""

    role = "entry"

    async def focused(self) -> Element | None:
        return Element("e1", self.role, "Name", "", Rect(0, 0, 9, 9), frozenset({"focused"}), "", "Form", 0)

    async def has_keyboard(self, ref: str, judged: tuple[str, str] | None = None) -> bool:
        return ref == "e1" and judged in (None, (self.role, "Name"))


@pytest.mark.parametrize("is_swapped", [False, True])
async def test_a_field_that_became_another_is_not_the_judged_one(*, is_swapped: bool) -> None:
    headless, field = HeadlessDesktop(), _Swapping()
    headless.opened.append(_WINDOW)
    targets = KeyTargets(replace(headless.backend(StopFlag()), accessibility=field), _done)
    judged = await targets.now()
    field.role = "password text" if is_swapped else field.role
    assert (await targets.now(judged) == judged) is not is_swapped
    assert await targets.may_take(judged) is not is_swapped


class _Renaming(NoAccessibility):
    """One control, which is called otherwise at each look; its program answers none where `is_busy`."""

    def __init__(self, *names: str, is_busy: bool = False) -> None:
        super().__init__()
        self._names = list(names)
        self._is_busy = is_busy

    async def element(self, ref: str) -> Element:
        if self._is_busy:
            raise ToolFailed("The accessibility bus does not answer.")
        name = self._names.pop(0) if len(self._names) > 1 else self._names[0]
        return Element(ref, "button", name, "", Rect(0, 0, 9, 9), frozenset(), "", "Form", 0)


def _looking(accessibility: NoAccessibility) -> TargetPreview[str]:
    headless = HeadlessDesktop()
    headless.opened.append(_WINDOW)
    backend = replace(headless.backend(StopFlag()), accessibility=accessibility)

    async def found(target: str) -> Aim:
        return Aim(Point(3, 3), target, await accessibility.element("e1"))

    return TargetPreview[str](backend, found, FakeClock(), _done, _as_found)


async def test_a_failed_look_is_raised_again_when_the_call_acts() -> None:
    preview = _looking(_Renaming("Send", is_busy=True))
    for looked, acts in (
        (preview.foresee("c1", "Send"), preview.aim("c1", "Send")),
        (preview.of_element("c2", "e1"), preview.element("c2", "e1")),
    ):
        with pytest.raises(ToolFailed, match="does not answer"):
            await looked
        with pytest.raises(ToolFailed, match="does not answer"):
            await acts


@pytest.mark.parametrize(("names", "is_pressed"), [(("Save", "Save"), True), (("Save", "Send"), False)])
async def test_an_element_is_acted_on_as_it_was_judged(names: tuple[str, ...], *, is_pressed: bool) -> None:
    preview = _looking(_Renaming(*names))
    await preview.of_element("c1", "e1")
    if is_pressed:
        assert (await preview.element("c1", "e1")).name == names[-1]
        return
    with pytest.raises(ToolFailed, match="than when you allowed this"):
        await preview.element("c1", "e1")


class _Framing:
    """Windows whose first line is their frame."""

    def __init__(self, windows: object) -> None:
        self._windows = windows

    def under(self, point: Point) -> Landing:
        return Landing("f1", framed="w1") if point.y == 0 else Landing("1", "w1")

    def __getattr__(self, name: str) -> object:
        return getattr(self._windows, name)
