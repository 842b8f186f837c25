"""From a description to a place on the screen: accessibility first, then text recognition, then a model's own eyes.

A rung is only tried when the one before found nothing good. Several equally good answers are an answer too: the
caller is told which, and asks. Lives on the desktop thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.desktop.accessibility.matching import name_fit
from app.desktop.accessibility.words import Reading, normal, readings
from app.desktop.api import Frame
from app.desktop.backend import Backend
from app.desktop.elements import Match, OutlineRequest, View
from app.desktop.ocr.api import Ocr, TextBox

_GOOD = 0.8
_AS_GOOD = 0.005
"""Scores within that are one score: the parts they are made of differ by more."""
_WINDOWS_READ = 3
_PART_OF_LINE = 0.93
_RUN_TOGETHER = 0.97
_BY_VISION = 0.8
_TOLD = 6
_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Located:
    """A place and how it was found: `how` is accessibility, ocr or vision; `ref` only where there is an element."""

    point: Point
    box: Rect
    how: str
    score: float
    name: str
    role: str = ""
    ref: str = ""
    window: str = ""
    runners_up: tuple[Located, ...] = ()

    @property
    def told(self) -> str:
        """In a few words, with its place on the screen."""
        kind = f"{self.ref} {self.role}".strip() or "text"
        inside = f" in {clip_line(self.window, _NAME_CHARACTERS)!r}" if self.window else ""
        return f"{kind} {clip_line(self.name, _NAME_CHARACTERS)!r} at ({self.point.x}, {self.point.y}){inside}"


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


class Vision(Protocol):
    """A model that can point at things in pictures."""

    async def place(self, description: str, frame: Frame) -> Rect | None:
        """Where it sees what is described, in screen pixels; None when it does not."""
        ...


class Locator:
    """`grab` gives the pixels of an area without our own windows."""

    def __init__(
        self, backend: Backend, grab: Callable[[Rect], Awaitable[Frame]], ocr: Ocr, vision: Vision | None = None
    ) -> None:
        self._accessibility = backend.accessibility
        self._windows = backend.windows
        self._screen = backend.screen
        self._grab = grab
        self._ocr = ocr
        self._vision = vision

    async def locate(self, description: str, area: Rect | None = None) -> Located:
        """The one place that fits, within `area` if given. Ambiguous when several do; ToolFailed when none does."""
        if not description.strip():
            raise ToolMisuse("The description is empty. Say what it is called or what is written on it.")
        by_name = [_from_match(match) for match in await self._accessibility.find(description)]
        found = [place for place in by_name if area is None or area.contains(place.point)]
        if winner := _decided(description, found):
            return winner
        if area is None and (revealed := await self._accessibility.reveal(description)):
            return replace(_from_match(revealed), runners_up=tuple(found[:_TOLD]))
        for region in [area] if area else await self._regions():
            by_text = _texts_that_fit(await self._ocr.read_text(await self._grab(region)), readings(description))
            if winner := _decided(description, by_text):
                return winner
            found += by_text
        if seen := await self._by_vision(description, area):
            return replace(seen, runners_up=tuple(found[:_TOLD]))
        raise ToolFailed(_not_found(description, found, await self._accessibility.silent()))

    async def _regions(self) -> list[Rect]:
        """Where to read text: the active window and those that say nothing of themselves; else the whole screen.

        Reading a window takes a second or more, so those that told all their texts already are left out.
        """
        extent = self._screen.extent()
        outline = await self._accessibility.outline(OutlineRequest(View.FULL))
        told = {element.window for element in outline.elements}
        wanted = [w for w in self._windows.all() if not w.is_minimised and (w.is_active or w.title not in told)]
        areas = (window.area.overlap(extent) for window in wanted)
        return [area for area in areas if area is not None][:_WINDOWS_READ] or [extent]

    async def _by_vision(self, description: str, area: Rect | None) -> Located | None:
        if self._vision is None:
            return None
        region = area or (await self._regions())[0]
        box = await self._vision.place(description, await self._grab(region))
        return Located(box.center, box, "vision", _BY_VISION, description) if box else None


def _from_match(match: Match) -> Located:
    element = match.element
    return Located(
        element.box.center,
        element.box,
        "accessibility",
        match.score,
        element.name,
        element.role,
        element.ref,
        element.window,
    )


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
        if not any(place.box.contains(other.point) and other.box.contains(place.point) for other in kept):
            kept.append(place)
    return kept


def _texts_that_fit(lines: Sequence[TextBox], ways: Sequence[Reading]) -> list[Located]:
    names = [way.name for way in ways if way.name]
    return [place for line in lines if (place := max(_fits(line, names), key=lambda fit: fit.score, default=None))]


def _fits(line: TextBox, names: Sequence[str]) -> Iterator[Located]:
    """The ways in which a line of recognised text is, or holds, one of the names."""
    whole = normal(line.text)
    sureness = 0.9 + 0.1 * line.score
    for name in names:
        fit = max(name_fit(whole, name), _RUN_TOGETHER if _run_together(whole) == _run_together(name) else 0.0)
        part = _part(line, whole, name)
        if part is not None and fit < _PART_OF_LINE:
            yield Located(part.center, part, "ocr", _PART_OF_LINE * sureness, name)
        elif fit:
            yield Located(line.box.center, line.box, "ocr", fit * sureness, line.text)


def _part(line: TextBox, whole: str, name: str) -> Rect | None:
    """The box of a name inside a longer line, by its share of the characters."""
    start = f" {whole} ".find(f" {name} ")
    if start < 0 or whole == name:
        return None
    width_px = line.box.width / len(whole)
    return Rect(round(line.box.x + start * width_px), line.box.y, round(len(name) * width_px), line.box.height)


def _run_together(text: str) -> str:
    """Text without blanks: recognition often loses them."""
    return text.replace(" ", "")


def _not_found(description: str, near: Sequence[Located], silent: Sequence[str]) -> str:
    ranked = _apart(sorted(near, key=lambda place: -place.score))[:_TOLD]
    names = f" Nearest: {'; '.join(place.told for place in ranked)}." if ranked else ""
    quiet = f" {', '.join(silent)} did not answer and may show it." if silent else ""
    return f"Nothing on the screen fits {description!r}.{names}{quiet} Look with screen_capture."
