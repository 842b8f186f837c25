"""From what a person calls a thing to the point to click. Ambiguous means ask, not guess.

Lives on the desktop thread.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.desktop.api import Window
from app.desktop.backend import Backend
from app.desktop.elements import Element
from app.desktop.locate import Locator, Search
from app.desktop.ocr.written import Written, is_written

_APPEARS_S = 1.0
"""So long a name that is not showing is looked for again."""
_NAME_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Aim:
    """Where to click, how it was found (`point`, `ref` or `name`), and the element if one is known.

    `window` is the one that the gate judged to take the press, if the gate judged at all.
    """

    point: Point
    route: str
    element: Element | None = None
    score: float = 1.0
    window: Window | None = None

    @property
    def place(self) -> Rect:
        """What a click there is meant to act on."""
        return self.element.box if self.element else Rect(self.point.x, self.point.y, 1, 1)

    @property
    def told(self) -> str:
        """For a person and for a model: what was aimed at."""
        where = f"({self.point.x}, {self.point.y})"
        return f'{self.element.role} "{self.element.name}" at {where}' if self.element else where


class Unreachable(ToolFailed):
    """A press would not reach what it is meant for. Nothing was clicked."""


class Marksman:
    """Finds targets among what programs tell about themselves and what is written in the others."""

    def __init__(self, backend: Backend, written: Written) -> None:
        self._backend = backend
        self._written = written
        self._locator = Locator(backend, written)

    async def at_ref(self, ref: str) -> Aim:
        """An element or a text by its ref. ToolMisuse or ToolFailed when there is none now."""
        if is_written(ref):
            return await self._aimed(await self._written.element(ref), "ref", 1.0)
        return await self._aimed(await self._backend.accessibility.element(ref), "ref", 1.0)

    async def at_name(self, target: str, role: str = "") -> Aim:
        """What is called so, of that role if one is given; a name that is about to show is waited for.

        Ambiguous with the several that fit; NotFound with the nearest names.
        """
        place = await self._locator.locate(Search(target, role, patience_s=_APPEARS_S))
        return await self._aimed(place.element, "ocr" if place.how == "ocr" else "name", place.score)

    async def _aimed(self, element: Element, route: str, score: float) -> Aim:
        shown = element.box.overlap(self._backend.screen.extent())
        if shown is None:
            raise ToolFailed(f"{_told(element)} lies off the screen; scroll or move its window first.")
        aim = Aim(shown.center, route, element, score)
        if not self._is_in_front(aim.point, element):
            window = next((w for w in self._backend.windows.all() if _is_in(w, element)), None)
            if window is not None:
                await self._backend.windows.focus(window.ref)
        return aim

    async def hit_test(self, aim: Aim) -> None:
        """Make sure, right before a press, that it reaches what was aimed at and judged. Raises Unreachable."""
        if aim.element is not None:
            await self._check_element(aim.element, aim.point)
        top = self._top_at(aim.point)
        if aim.window is not None and top is not None and not _is_of_one_program(top, aim.window):
            raise Unreachable(
                f"{_window_called(top)} is at {_at(aim.point)} now, not {_window_called(aim.window)}. "
                "Nothing was clicked. Look again first."
            )

    def check_drop(self, aims: Sequence[Aim]) -> None:
        """Make sure, right before the button is let go, that no window came up there. Raises Unreachable.

        A window that is dragged itself is under the pointer at the end, too.
        """
        judged = [aim.window.ref for aim in (aims[0], aims[-1]) if aim.window is not None]
        there = self._backend.windows.under(aims[-1].point).window
        if judged and there and there not in judged:
            title = next((window.title for window in self._backend.windows.all() if window.ref == there), "")
            raise Unreachable(
                f"The window {clip_line(title, _NAME_CHARACTERS)!r} came up at {_at(aims[-1].point)}. Nothing was "
                "dropped: the pointer went back to where it began. Look again first."
            )

    async def _check_element(self, element: Element, point: Point) -> None:
        obstacle = ""
        if not is_written(element.ref):
            obstacle = await self._backend.accessibility.obstacle(element.ref, point)
        if obstacle:
            raise Unreachable(f"{_told(element)} cannot be clicked: {obstacle} Nothing was clicked.")
        if not self._is_in_front(point, element):
            top = self._top_at(point)
            where = f"is covered by {_window_called(top)}" if top else "is not shown there"
            raise Unreachable(
                f"{_told(element)} {where}. Nothing was clicked. Use focus_window on its window, and look again."
            )

    def _is_in_front(self, point: Point, element: Element) -> bool:
        """Whether a press at the point goes to the element's window, as far as titles and processes tell."""
        top, listed = self._top_at(point), self._backend.windows.all()
        if top is None:
            return not any(_is_in(window, element) for window in listed if element.window)
        if top.is_popup:
            # What was read off the pixels there stands in the menu itself.
            return is_written(element.ref) or (bool(top.pid) and top.pid == element.pid)
        if _is_in(top, element):
            return True
        # A window may have got another title since its element was found.
        return bool(element.pid) and top.pid == element.pid and not any(_is_in(window, element) for window in listed)

    def _top_at(self, point: Point) -> Window | None:
        """The window that a press at the point goes to; our own step aside for it.

        What belongs to no program may be an overlay that lets clicks through: it does not count.
        """
        return next((window for window in self._backend.windows.shown() if _takes(window, point)), None)


def _takes(window: Window, point: Point) -> bool:
    is_known = window.pid != os.getpid() and (window.pid or not window.is_popup)
    return bool(is_known) and not window.is_minimised and window.area.contains(point)


def _is_of_one_program(top: Window, judged: Window) -> bool:
    """A menu counts as its program's: nobody lists it, so that it has no name of its own."""
    return top.ref == judged.ref or (top.is_popup and bool(top.pid) and top.pid == judged.pid)


def _is_in(window: Window, element: Element) -> bool:
    if element.window:
        return window.title == element.window
    return bool(element.pid) and window.pid == element.pid


def _at(point: Point) -> str:
    return f"({point.x}, {point.y})"


def _window_called(window: Window) -> str:
    return f"the window {clip_line(window.title or window.app, _NAME_CHARACTERS)!r}"


def _told(element: Element) -> str:
    name = clip_line(element.name, _NAME_CHARACTERS)
    return f'{element.ref} {element.role} "{name}" at {_at(element.box.center)} in "{element.window}"'
