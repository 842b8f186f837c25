"""From what a person calls a thing to the point to click. Ambiguous means ask, not guess.

Lives on the desktop thread.
"""

from __future__ import annotations

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
    """Where to click, how it was found (`point`, `ref` or `name`), and the element if one is known."""

    point: Point
    route: str
    element: Element | None = None
    score: float = 1.0

    @property
    def place(self) -> Rect:
        """What a click there is meant to act on."""
        return self.element.box if self.element else Rect(self.point.x, self.point.y, 1, 1)

    @property
    def told(self) -> str:
        """For a person and for a model: what was aimed at."""
        where = f"({self.point.x}, {self.point.y})"
        return f'{self.element.role} "{self.element.name}" at {where}' if self.element else where


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
        if element.role == "menu item" or self._is_on_top(element, shown.center):
            return Aim(shown.center, route, element, score)
        window = next((w for w in self._backend.windows.all() if _owns(w, element)), None)
        if window is not None:
            await self._backend.windows.focus(window.ref)
        return Aim(shown.center, route, element, score)

    def _is_on_top(self, element: Element, point: Point) -> bool:
        windows = (w for w in self._backend.windows.all() if not w.is_minimised)
        top = next((window for window in windows if window.area.contains(point)), None)
        return top is None or _owns(top, element)


def _owns(window: Window, element: Element) -> bool:
    if element.window:
        return window.title == element.window
    return bool(element.pid) and window.pid == element.pid


def _told(element: Element) -> str:
    box, name = element.box, clip_line(element.name, _NAME_CHARACTERS)
    return f'{element.ref} {element.role} "{name}" at ({box.center.x}, {box.center.y}) in "{element.window}"'
