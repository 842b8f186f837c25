"""Read the text of windows without accessibility from their pixels, and give each line a ref: `t3`.

A ref means a line of text in a window. It is valid while the same pixels are at the same place of that window.
Otherwise the window is read again: the line is found at its new place, or an error says that it is gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point, Rect
from app.base.ids import counter
from app.base.texts import clip_line
from app.desktop.accessibility.matching import Description, name_fit, normal
from app.desktop.backends import Backend, Frame, Window
from app.desktop.capture import part_of
from app.desktop.elements import Element, Outline
from app.desktop.ocr.rapid import Ocr, TextBox

_PART_OF_LINE = 0.93
_RUN_TOGETHER = 0.97


@dataclass(frozen=True, slots=True)
class Fit:
    """A line, or the part of one that was asked for, and how well it fits: 1.0 is the whole line, surely read."""

    text: str
    box: Rect
    score: float


def texts_that_fit(lines: Sequence[TextBox], ways: Sequence[Description]) -> list[Fit]:
    """The best fit of each line that fits at all."""
    names = [way.name for way in ways if way.name]
    return [best for line in lines if (best := max(_fits(line, names), key=lambda fit: fit.score, default=None))]


def _fits(line: TextBox, names: Sequence[str]) -> Iterator[Fit]:
    """The ways in which a line of recognised text is, or holds, one of the names."""
    whole = normal(line.text)
    sureness = 0.9 + 0.1 * line.score
    for name in names:
        fit = max(name_fit(whole, name), _RUN_TOGETHER if _run_together(whole) == _run_together(name) else 0.0)
        part = _part(line, whole, name)
        if part is not None and fit < _PART_OF_LINE:
            yield Fit(name, part, _PART_OF_LINE * sureness)
        elif fit:
            yield Fit(line.text, line.box, fit * sureness)


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


ROLE = "writing"
_PREFIX = "t"
_KEPT = 2000
_SURE = 0.9
_NEAR_PX = 8
_NAME_CHARACTERS = 60
_NEAREST = 3
_STATES = frozenset({"showing", "visible", "sensitive"})

Grab = Callable[[Rect], Awaitable[Frame]]


@dataclass(frozen=True, slots=True)
class _Line:
    """`within` is its box measured from its window's corner; `looks` tells its pixels from others."""

    element: Element
    window: str
    within: Rect
    looks: bytes


def is_written(ref: str) -> bool:
    """Whether a ref names a line of text that was read off the screen, rather than an element."""
    return ref.startswith(_PREFIX)


class OcrElements:
    """Reads windows and remembers the lines. `grab` gives the pixels of an area without our own windows."""

    def __init__(self, backend: Backend, grab: Grab, ocr: Ocr) -> None:
        self._backend = backend
        self._grab = grab
        self._ocr = ocr
        self._next = counter(_PREFIX)
        self._lines: dict[str, _Line] = {}
        self._refs: dict[tuple[str, str], list[str]] = {}
        """The refs by window and text. A text that occurs several times has several refs."""

    def mute(self, outline: Outline) -> list[Window]:
        """The windows that tell nothing of what is in them, topmost first."""
        known = {name for element in outline.elements for name in (element.window, element.app)} - set(outline.empty)
        showing = (window for window in self._showing() if not self._backend.is_private(window))
        return [window for window in showing if window.title not in known]

    async def inside(self, window: Window, area: Rect | None = None) -> tuple[Element, ...]:
        """The lines in a window (or in a part of it) that no other window covers. ToolFailed as `Ocr.read_text`."""
        frame, lines = await self._read(window, area or window.area)
        return tuple(self._named(window, line.text, line.box, frame) for line in lines if frame)

    async def fitting(self, window: Window, ways: Sequence[Description]) -> list[tuple[Element, float]]:
        """The lines of a window, or the parts of them, that are called so, each with how well it fits."""
        frame, lines = await self._read(window, window.area)
        fits = texts_that_fit(lines, ways)
        return [(self._named(window, fit.text, fit.box, frame), fit.score) for fit in fits if frame]

    async def element(self, ref: str) -> Element:
        """Read the line again. Raises ToolMisuse for an unknown ref, and ToolFailed if the line is gone."""
        known = self._lines.get(ref)
        if known is None:
            raise ToolMisuse(f"There is no text {ref!r}. Refs come from read_screen; read the screen again.")
        window = next((window for window in self._showing() if window.ref == known.window), None)
        if window is None:
            raise ToolFailed(f"{_said(known.element)} is gone: its window is closed or minimised.")
        if await self._stands_still(known, window):
            return replace(known.element, box=_moved(known.within, window.area))
        return await self._found_anew(ref, known, window)

    async def _read(self, window: Window, area: Rect) -> tuple[Frame | None, list[TextBox]]:
        """The pixels and the lines of what shows of a part of a window."""
        region = area.overlap(window.area)
        region = region and region.overlap(self._backend.screen.extent())
        if region is None:
            return None, []
        frame = await self._grab(region)
        stack = self._showing()
        return frame, [line for line in await self._ocr.read_text(frame) if _is_of(window, line.box.center, stack)]

    async def _stands_still(self, known: _Line, window: Window) -> bool:
        """Whether its very pixels stand at its place in the window."""
        box = _moved(known.within, window.area)
        if box.overlap(self._backend.screen.extent()) != box:
            return False
        return _looks(await self._grab(box)) == known.looks

    async def _found_anew(self, ref: str, known: _Line, window: Window) -> Element:
        """Return the line with the same text; of several, the one at the same place."""
        name, place = known.element.name, _moved(known.within, window.area)
        found = await self.fitting(window, (Description(normal(name)),))
        same = [element for element, score in found if score >= _SURE]
        there = [element for element in same if _is_near(element.box, place)] or same
        if len(there) != 1:
            raise ToolFailed(_gone(known.element, [element for element, _ in found]))
        self._lines[ref] = replace(self._lines[there[0].ref], element=replace(there[0], ref=ref))
        return self._lines[ref].element

    def _named(self, window: Window, text: str, told: Rect, frame: Frame) -> Element:
        """The line under its ref: the old one where it was read before."""
        box = told.overlap(frame.area) or frame.area  # because recognised boxes may reach beyond the picture
        within = Rect(box.x - window.area.x, box.y - window.area.y, box.width, box.height)
        refs = self._refs.setdefault((window.ref, text), [])
        refs[:] = [ref for ref in refs if ref in self._lines]
        known = next((ref for ref in refs if _is_near(self._lines[ref].within, within)), "")
        if not known:
            known = self._next()
            refs.append(known)
        element = Element(known, ROLE, text, "", box, _STATES, window.title, window.app, window.pid)
        self._lines.pop(known, None)
        self._lines[known] = _Line(element, window.ref, within, _looks(part_of(frame, box)))
        self._forget_oldest()
        return element

    def _forget_oldest(self) -> None:
        while len(self._lines) > _KEPT:
            oldest = self._lines.pop(next(iter(self._lines)))
            self._refs.pop((oldest.window, oldest.element.name), None)

    def _showing(self) -> list[Window]:
        return [window for window in self._backend.windows.all() if not window.is_minimised]


def _is_of(window: Window, point: Point, stack: Sequence[Window]) -> bool:
    """Whether a click at the point would reach the window."""
    top = next((other for other in stack if other.area.contains(point)), None)
    return top is None or top.ref == window.ref


def _is_near(one: Rect, other: Rect) -> bool:
    return abs(one.x - other.x) <= _NEAR_PX and abs(one.y - other.y) <= _NEAR_PX


def _moved(within: Rect, window: Rect) -> Rect:
    return Rect(window.x + within.x, window.y + within.y, within.width, within.height)


def _looks(frame: Frame) -> bytes:
    return hashlib.blake2b(frame.bgrx, digest_size=16).digest()


def _said(element: Element) -> str:
    return f"{element.ref} (text {clip_line(element.name, _NAME_CHARACTERS)!r})"


def _gone(before: Element, near: Sequence[Element]) -> str:
    names = ", ".join(f"{one.ref} {clip_line(one.name, _NAME_CHARACTERS)!r}" for one in near[:_NEAREST])
    hint = f"Nearest now: {names}." if names else "Read the screen again."
    return f"{_said(before)} no longer stands there. {hint}"
