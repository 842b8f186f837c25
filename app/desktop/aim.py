"""From what a person calls a thing to the point to click. Ambiguous means ask, not guess.

Lives on the desktop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.desktop.api import Window
from app.desktop.backend import Backend
from app.desktop.elements import Element, Match

_SURE = 0.8
_AS_GOOD = 0.02
_TOLD = 6
_APPEARS_S = 1.0
"""So long a name that is not showing is looked for again."""
_LOOK_AGAIN_S = 0.1
_PRESSABLE = frozenset(
    {
        "button",
        "push button",
        "toggle button",
        "check box",
        "radio button",
        "menu item",
        "check menu item",
        "radio menu item",
        "menu",
        "link",
        "page tab",
        "combo box",
        "entry",
        "text",
        "spin button",
        "list item",
        "table cell",
        "tree item",
        "slider",
        "switch",
    }
)


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
    """Finds targets among what programs tell about themselves."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def at_ref(self, ref: str) -> Aim:
        """An element by its ref. ToolMisuse or ToolFailed when there is none now."""
        element = await self._backend.accessibility.element(ref)
        return await self._aimed(element, "ref", 1.0)

    async def at_name(self, target: str, role: str = "") -> Aim:
        """An element by its visible name, and role if one is given.

        ToolFailed with the nearest names, or with the several that fit.
        """
        if not target.strip():
            raise ToolMisuse('target is empty. Name what is to be clicked, as in target="Save".')
        matches = await self._looked_for(target, role)
        good = [match for match in matches if match.score >= _SURE]
        if not good:
            raise ToolFailed(_none_found(target, matches, await self._backend.accessibility.silent()))
        best = self._narrowed([match for match in good if match.score >= good[0].score - _AS_GOOD])
        if len(best) > 1:
            raise ToolFailed(_several_found(target, best))
        return await self._aimed(best[0].element, "name", best[0].score)

    async def _looked_for(self, target: str, role: str) -> Sequence[Match]:
        """Look until it is there, for a while: a program may just be opening, or slow to answer."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + _APPEARS_S
        while True:
            matches = await self._backend.accessibility.find(target, role=role)
            if any(match.score >= _SURE for match in matches) or loop.time() >= limit:
                return matches
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _narrowed(self, matches: Sequence[Match]) -> Sequence[Match]:
        """Of equally good ones: what can be pressed before what cannot, the active window before the others."""
        active = next((window for window in self._backend.windows.all() if window.is_active), None)
        for wish in (
            lambda m: m.element.role in _PRESSABLE,
            lambda m: active is not None and m.element.window == active.title,
        ):
            matches = [match for match in matches if wish(match)] or matches
        return _apart(matches)

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


def _apart(matches: Sequence[Match]) -> list[Match]:
    """One of those that lie on top of each other: a button and its own label are one target."""
    kept: list[Match] = []
    for match in matches:
        if not any(_is_same_place(match.element.box, other.element.box) for other in kept):
            kept.append(match)
    return kept


def _is_same_place(one: Rect, other: Rect) -> bool:
    return one.contains(other.center) and other.contains(one.center)


def _told(element: Element) -> str:
    box = element.box
    return f'{element.ref} {element.role} "{element.name}" at ({box.center.x}, {box.center.y}) in "{element.window}"'


def _none_found(target: str, near: Sequence[Match], silent: Sequence[str]) -> str:
    names = ", ".join(f'"{match.element.name}"' for match in near[:_TOLD])
    hint = f" The nearest names are {names}." if names else " Look with screen_capture and click by x and y."
    quiet = f" {', '.join(silent)} did not answer and may show it." if silent else ""
    return f"Nothing called {target!r} is showing.{hint}{quiet}"


def _several_found(target: str, matches: Sequence[Match]) -> str:
    told = "; ".join(_told(match.element) for match in matches[:_TOLD])
    return f"Several things are called {target!r}: {told}. Click one of them by ref, or ask which one is meant."
