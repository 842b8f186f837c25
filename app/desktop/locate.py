"""From a description to a place on the screen: what programs tell first, then what is written in their windows.

A rung is only tried when the one before found nothing good. Several equally good answers are an answer too: the
caller is told which, and asks. Where nothing fits, `NotFound` says where a model's own eyes should look. Lives on the
desktop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.desktop.accessibility.words import readings
from app.desktop.api import Window
from app.desktop.backend import Backend
from app.desktop.elements import Element, Match, Outline, OutlineRequest, View
from app.desktop.ocr.written import Written

_GOOD = 0.8
_AS_GOOD = 0.005
"""Scores within that are one score: the parts they are made of differ by more."""
_WINDOWS_READ = 3
_TOLD = 6
_NAME_CHARACTERS = 60
_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Located:
    """A place and how it was found: `how` is accessibility or ocr."""

    element: Element
    how: str
    score: float
    runners_up: tuple[Located, ...] = ()

    @property
    def point(self) -> Point:
        return self.element.box.center

    @property
    def told(self) -> str:
        """In a few words, with its place on the screen."""
        one = self.element
        name, at = clip_line(one.name, _NAME_CHARACTERS), f"({self.point.x}, {self.point.y})"
        inside = f" in {clip_line(one.window, _NAME_CHARACTERS)!r}" if one.window else ""
        return f"{one.ref} {one.role} {name!r} at {at}{inside}"


class Ambiguous(ToolFailed):
    """Several places fit a description equally well; `candidates` are all of them."""

    def __init__(self, description: str, candidates: Sequence[Located]) -> None:
        told = "; ".join(candidate.told for candidate in candidates[:_TOLD])
        more = f" and {len(candidates) - _TOLD} more" if len(candidates) > _TOLD else ""
        super().__init__(
            f"{len(candidates)} things fit {description!r} (screen pixels): {told}{more}. "
            "Name one by its ref or more exactly, or ask which one is meant."
        )
        self.candidates = tuple(candidates)


class NotFound(ToolFailed):
    """Nothing fits; `area` (screen pixels) is where it is likeliest to be, if it is there at all."""

    def __init__(self, sentence: str, area: Rect) -> None:
        super().__init__(sentence)
        self.area = area


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: `role` as people call it, within `area` if given.

    `patience_s`: so long a name that is not told yet is waited for, since its program may just be opening.
    """

    description: str
    role: str = ""
    area: Rect | None = None
    patience_s: float = 0.0


class Locator:
    """The ladder. `written` reads the windows that tell nothing of themselves."""

    def __init__(self, backend: Backend, written: Written) -> None:
        self._accessibility = backend.accessibility
        self._windows = backend.windows
        self._screen = backend.screen
        self._written = written

    async def locate(self, search: Search) -> Located:
        """The one place that fits. Ambiguous when several do; NotFound when none does."""
        if not search.description.strip():
            raise ToolMisuse('The description is empty. Say what it is called, as in target="Save".')
        near: list[Located] = []
        trouble = ""
        for rung in (self._told, self._further_down, self.written):
            try:
                found = await rung(search)
            except ToolFailed as error:
                trouble = f" {error}"
                continue
            if winner := _decided(search.description, found):
                return replace(winner, runners_up=(*winner.runners_up, *near)[:_TOLD])
            near += found
        silent = await self._accessibility.silent()
        raise NotFound(_not_found(search.description, near, silent) + trouble, search.area or self._front())

    async def _told(self, search: Search) -> list[Located]:
        """What programs tell; looked for again and again while there is patience, and somebody to tell it."""
        clock = asyncio.get_running_loop().time
        limit = clock() + search.patience_s
        while True:
            matches = await self._accessibility.find(search.description, role=search.role)
            found = [place for match in matches if _is_in(search.area, place := _from_match(match))]
            if clock() >= limit or any(place.score >= _GOOD for place in found):
                return found
            if any(window.is_active for window in await self._mute()):
                return found
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _further_down(self, search: Search) -> list[Located]:
        """What has to be scrolled to."""
        match = None if search.area else await self._accessibility.reveal(search.description)
        return [_from_match(match)] if match else []

    async def written(self, search: Search) -> list[Located]:
        """What is written in windows that tell nothing, and in an area that was named; looked for as long as told."""
        clock = asyncio.get_running_loop().time
        limit = clock() + search.patience_s
        while True:
            windows = [] if search.role else await self._unread(search.area)
            found = await self._read(windows, search)
            if not windows or clock() >= limit or any(place.score >= _GOOD for place in found):
                return found
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _read(self, windows: Sequence[Window], search: Search) -> list[Located]:
        """The fitting lines of the first window that has a good one, with those of the windows before it."""
        found: list[Located] = []
        for window in windows:
            lines = await self._written.fitting(window, readings(search.description))
            found += [place for element, score in lines if _is_in(search.area, place := Located(element, "ocr", score))]
            if any(place.score >= _GOOD for place in found):
                break
        return found

    async def _unread(self, area: Rect | None) -> list[Window]:
        """Reading a window takes a second or more: those that told their texts are left out."""
        if area is None:
            return (await self._mute())[:_WINDOWS_READ]
        return [window for window in self._windows.all() if window.area == area and not window.is_minimised][:1]

    async def _mute(self) -> list[Window]:
        try:
            outline = await self._accessibility.outline(OutlineRequest(View.FULL))
        except ToolFailed:
            outline = Outline("")
        return self._written.mute(outline)

    def _front(self) -> Rect:
        """What the active window shows, else the screen."""
        extent = self._screen.extent()
        active = next((window for window in self._windows.all() if window.is_active), None)
        return (active and active.area.overlap(extent)) or extent


def _from_match(match: Match) -> Located:
    return Located(match.element, "accessibility", match.score)


def _is_in(area: Rect | None, place: Located) -> bool:
    return area is None or area.contains(place.point)


def _decided(description: str, found: Sequence[Located]) -> Located | None:
    """The best of them where it is good and alone. Raises Ambiguous."""
    ranked = _apart(sorted(found, key=lambda place: -place.score))
    if not ranked or ranked[0].score < _GOOD:
        return None
    equals = [place for place in ranked if place.score >= ranked[0].score - _AS_GOOD]
    if len(equals) > 1:
        raise Ambiguous(description, equals)
    return replace(ranked[0], runners_up=tuple(ranked[1 : _TOLD + 1]))


def _apart(places: Sequence[Located]) -> list[Located]:
    """One of those that lie on top of each other: a button and the label in it are one place."""
    kept: list[Located] = []
    for place in places:
        box = place.element.box
        if not any(box.contains(other.point) and other.element.box.contains(place.point) for other in kept):
            kept.append(place)
    return kept


def _not_found(description: str, near: Sequence[Located], silent: Sequence[str]) -> str:
    ranked = _apart(sorted(near, key=lambda place: -place.score))[:_TOLD]
    names = f" Nearest: {'; '.join(place.told for place in ranked)}." if ranked else ""
    quiet = f" {', '.join(silent)} did not answer and may show it." if silent else ""
    return f"Nothing on the screen fits {description!r}.{names}{quiet}"
