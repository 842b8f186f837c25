"""Read text from pixels where accessibility reports nothing: in windows or parts of them. Lines get refs such as `t3`.

A ref means a line of text in a window, and is valid while the same pixels are at the same place of that window.
Otherwise the window is read again: the line is found at its new place, or an error says that it is gone.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Fact
from app.base.geometry import Point, Rect
from app.base.ids import counter
from app.base.phrases import Phrase
from app.base.values import dataclass, replace
from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.matching import Description, normal
from app.desktop.backends import Backend, Frame, Window
from app.desktop.capture import blackened, bounds_of, ink_of, part_of
from app.desktop.elements import SECRET, Element, Outline, OutlineRequest, OutlineView
from app.desktop.ocr.evidence import rewritten, texts_that_fit
from app.desktop.ocr.rapid import Ocr, TextBox

ROLE = "writing"
_PREFIX = "t"
_KEPT = 2000
_SURE = 0.9
_NEAR_PX = 8
_NAME_CHARACTERS = 60
_NEAREST = 3
_TEXT = "text"
_ROW_PX, _LINE_PX = 160, 24
"""How far to read around a change, sideways and vertically: OCR finds no lines at the edge of a picture."""
_MOST_PX = 500_000  # because reading a larger region takes longer than a receipt may wait
_STATES = frozenset({"showing", "visible", "sensitive"})

Grab = Callable[[Rect], Awaitable[Frame]]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of text that OCR read. `within` is its box relative to its window; `looks` is a hash of its pixels."""

    element: Element
    window: str
    within: Rect
    looks: bytes


def is_written(ref: str) -> bool:
    """True for a line of text that OCR read, and not an accessibility element."""
    return ref.startswith(_PREFIX)


class OcrElements:
    """Reads windows by OCR and remembers their lines. `grab` returns an area's pixels without Wisp's windows."""

    def __init__(self, backend: Backend, grab: Grab, ocr: Ocr) -> None:
        self._backend = backend
        self._grab = grab
        self._ocr = ocr
        self._next = counter(_PREFIX)
        self._lines: dict[str, _Line] = {}
        self._refs: dict[tuple[str, str], list[str]] = {}
        """The refs by window and text. A text that occurs several times has several refs."""

    def mute(self, outline: Outline) -> list[Window]:
        """Return windows whose programs report nothing about the content, topmost first, without private ones."""
        known = {name for element in outline.elements for name in (element.window, element.app)} - set(outline.empty)
        showing = (window for window in self._showing() if not self._backend.is_private(window))
        return [window for window in showing if window.title not in known]

    async def inside(self, window: Window, area: Rect | None = None) -> tuple[Element, ...]:
        """Return the lines in a window (or a part of it) that no other window covers. Raises as `Ocr.read_text`."""
        frame, lines = await self._read(window, area or self._whole(window))
        return tuple(self._named(window, line.text, line.box, frame) for line in lines if frame)

    async def silent_parts(self, window: Window, outline: Outline, least_share: float = 0.0) -> list[Rect]:
        """Return the areas of a window with content that its program does not report, the largest first.

        An area covers at least `least_share` of the window. The menus that are not reported come first, however small.
        """
        if window.is_minimised or window.is_own or self._backend.is_private(window):
            return []
        told = [one for one in outline.described or outline.elements if _is_told_of(one, window)]
        shown = bounds_of(one.box for one in told if one.role in spi.WINDOWS)
        area = (shown and shown.overlap(window.area)) or window.area
        covers = [_covered_by(one) for one in told if _is_telling(one)]
        menus = [menu for menu in self._menus(window) if not _is_described(menu, covers)]
        least_px = max(round(area.size.area * least_share), _SMALLEST_PART_PX)
        parts = [*menus, *empty_parts(area, [*covers, *self._menus(window)], least_px, _PARTS)]
        inked = [await self._ink(part, window) for part in parts]
        return [part for part in inked if part is not None]

    async def fitting(
        self, window: Window, ways: Sequence[Description], area: Rect | None = None
    ) -> list[tuple[Element, float]]:
        """Return the lines, or parts of lines, in a window that match one of `ways`, each with its score (0 to 1)."""
        frame, lines = await self._read(window, area or self._whole(window))
        fits = texts_that_fit(lines, ways)
        return [(self._named(window, fit.text, fit.box, frame), fit.score) for fit in fits if frame]

    async def changed(self, window: Window, before: Frame, after: Frame, parts: Sequence[Rect]) -> list[Fact]:
        """Describe the texts that changed in or around `parts` of a window. Raises as `Ocr.read_text`."""
        region = _around(parts, self._whole(window).overlap(after.area))
        if region is None or self._backend.is_private(window):
            return []
        secrets, stack = await self._secrets(window), self._stack()

        async def lines(frame: Frame) -> list[TextBox]:
            read = await self._ocr.read_text(blackened(part_of(frame, region), secrets))
            near = [line for line in read if any(line.box.overlap(_grown(part, _EDGE_PX)) for part in parts)]
            # Check the pixels inside, because a focus frame around a text can make OCR read it for the first time.
            there = [line for line in near if _has_changed_inside(before, after, line.box)]
            return [line for line in there if _is_of(window, line.box.center, stack)]

        old, new = await lines(before), await lines(after)
        unsure = [line.box for line in (*old, *new) if line.score < _SURE]
        sure = ([line for line in told if not any(map(line.box.overlap, unsure))] for told in (old, new))
        return rewritten(*sure)

    async def element(self, ref: str) -> Element:
        """Read the line again. Raises ToolMisuse for an unknown ref, and ToolFailed if the line is gone."""
        known = self._lines.get(ref)
        if known is None:
            raise ToolMisuse(f"There is no text {ref!r}. Refs come from read_screen; read the screen again.")
        window = next((window for window in self._showing() if window.ref == known.window), None)
        if window is None:
            what = "{thing} is gone: its window is closed or minimised."
            raise ToolFailed(Phrase(what, {"thing": replace(known.element, role=_TEXT).called(_NAME_CHARACTERS)}))
        if await self._stands_still(known, window):
            return replace(known.element, box=_moved(known.within, window.area))
        return await self._found_anew(ref, known, window)

    async def _read(self, window: Window, area: Rect) -> tuple[Frame | None, list[TextBox]]:
        """Read the visible part of a window in `area`. Returns its pixels and lines; passwords are blackened before."""
        region = area.overlap(self._whole(window))
        region = region and region.overlap(self._backend.screen.extent())
        if region is None or self._backend.is_private(window):
            return None, []
        frame = await self._grab(region)
        if secrets := await self._secrets(window):
            frame = blackened(frame, secrets)
        stack = self._stack()
        return frame, [line for line in await self._ocr.read_text(frame) if _is_of(window, line.box.center, stack)]

    async def _secrets(self, window: Window) -> list[Rect]:
        """The boxes of password fields. OCR never reads what is in them, even if it is visible."""
        try:
            outline = await self._backend.accessibility.outline(OutlineRequest(OutlineView.FULL, window=window.title))
        except ToolFailed:  # because a window may be read where no program can be asked
            return []
        return [one.box for one in outline.described or outline.elements if one.role == SECRET]

    async def _ink(self, part: Rect, window: Window) -> Rect | None:
        """Where content shows, with a margin; None if the area is blank or too small."""
        shown = part.overlap(self._backend.screen.extent())
        ink = ink_of(await self._grab(_grown(shown, -_EDGE_PX))) if shown and _is_roomy(shown) else None
        return ink and _grown(ink, _MARGIN_PX).overlap(self._whole(window))

    def _menus(self, window: Window) -> list[Rect]:
        return [shown.area for shown in self._backend.windows.shown() if shown.is_popup and shown.ref == window.ref]

    def _whole(self, window: Window) -> Rect:
        return bounds_of([window.area, *self._menus(window)]) or window.area

    def _stack(self) -> list[Window]:
        """Visible windows, topmost first, without those of no program: they may let clicks through."""
        drawn = self._backend.windows.shown()
        return [window for window in drawn if window.ref and not window.is_minimised]

    async def _stands_still(self, known: _Line, window: Window) -> bool:
        """True if the same pixels are at the line's place in the window."""
        box = _moved(known.within, window.area)
        if box.overlap(self._backend.screen.extent()) != box:
            return False
        return _looks(await self._grab(box)) == known.looks

    async def _found_anew(self, ref: str, known: _Line, window: Window) -> Element:
        """Find the line again by its text; of several, the one at the old place. Raises ToolFailed if it is gone."""
        name, place = known.element.name, _moved(known.within, window.area)
        found = await self.fitting(window, (Description(normal(name)),))
        same = [element for element, score in found if score >= _SURE]
        there = [element for element in same if _is_near(element.box, place)] or same
        if len(there) != 1:
            raise _gone(known.element, [element for element, _ in found])
        self._lines[ref] = replace(self._lines[there[0].ref], element=replace(there[0], ref=ref))
        return self._lines[ref].element

    def _named(self, window: Window, text: str, told: Rect, frame: Frame) -> Element:
        """The line keeps its ref if it was read there before."""
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


SIZEABLE = 1 / 8
"""A part of at least this share of its window is read even if no particular text is searched for."""
_CELL_PX = 16
_PARTS = 6
_SMALLEST_PART_PX = 48 * 16
_EDGE_PX = 3
_MARGIN_PX = 8
_DESCRIBED_SHARE = 0.5
_LABELLED_BESIDE = frozenset({"check box", "radio button"})
_LETTER_PX = 10


def _is_told_of(element: Element, window: Window) -> bool:
    return element.window == window.title and element.pid in (0, window.pid)


def _is_telling(element: Element) -> bool:
    """Return whether an element says what is in its box. An empty text field does; a button without a name does not.

    A sheet tells of each of its cells, also by leaving out the empty ones.
    """
    if element.role == "table" and element.is_("manages-descendants") and element.is_("editable"):
        return True
    if element.role in spi.SURFACES:
        return False
    return bool(element.name.strip() or element.value.strip()) or element.role in spi.TEXTS


def _covered_by(element: Element) -> Rect:
    """Return the area of which an element tells. A page's check box is a small square with its name beside it."""
    box = element.box
    if element.role not in _LABELLED_BESIDE or box.width > 2 * box.height:
        return box
    width = box.width + len(element.name) * _LETTER_PX
    return Rect(box.x, box.y - _MARGIN_PX, width, box.height + 2 * _MARGIN_PX)


def _is_described(menu: Rect, told: Iterable[Rect]) -> bool:
    """True if reported elements fill the menu. Those that reach beyond it belong to what is behind it."""
    inside = [box for box in told if box.overlap(menu) == box]
    return sum(box.size.area for box in inside) >= menu.size.area * _DESCRIBED_SHARE


def _is_roomy(area: Rect) -> bool:
    return min(area.width, area.height) > 4 * _EDGE_PX


def _grown(area: Rect, by_px: int) -> Rect:
    return Rect(area.x - by_px, area.y - by_px, area.width + 2 * by_px, area.height + 2 * by_px)


def empty_parts(area: Rect, boxes: Sequence[Rect], least_px: int, most: int) -> list[Rect]:
    """Return the largest rectangles of an area that contain none of the boxes, each of at least so many pixels."""
    columns, rows = area.width // _CELL_PX, area.height // _CELL_PX
    free = [[True] * columns for _ in range(rows)]
    for box in boxes:
        _take(free, _cells(box, area), columns, rows)
    found: list[Rect] = []
    while len(found) < most:
        part = _largest(free)
        if part.size.area * _CELL_PX**2 < least_px:
            break
        _take(free, part, columns, rows)
        on_screen = Rect(
            area.x + part.x * _CELL_PX, area.y + part.y * _CELL_PX, part.width * _CELL_PX, part.height * _CELL_PX
        )
        grown = _grown(on_screen, _CELL_PX // 2).overlap(area) or on_screen
        found.append(_trimmed(grown, boxes))
    return found


def _cells(box: Rect, area: Rect) -> Rect:
    """In cells of a grid over `area`: those whose middle is inside the box."""
    half = _CELL_PX // 2
    left, top = -((half - box.x + area.x) // _CELL_PX), -((half - box.y + area.y) // _CELL_PX)
    right = -((half - box.right + area.x) // _CELL_PX)
    bottom = -((half - box.bottom + area.y) // _CELL_PX)
    return Rect(left, top, right - left, bottom - top)


def _take(free: list[list[bool]], part: Rect, columns: int, rows: int) -> None:
    left = max(part.x, 0)
    right = max(min(part.right, columns), left)  # because a box beside the area takes nothing of it
    for y in range(max(part.y, 0), min(part.bottom, rows)):
        free[y][left:right] = [False] * len(free[y][left:right])


def _largest(free: Sequence[Sequence[bool]]) -> Rect:
    """Each row is searched with the heights of free cells above it."""
    best, heights = Rect(0, 0, 0, 0), [0] * (len(free[0]) if free else 0)
    for y, row in enumerate(free):
        heights = [height + 1 if is_free else 0 for height, is_free in zip(heights, row, strict=True)]
        rising: list[tuple[int, int]] = []
        for x, height in enumerate([*heights, 0]):
            start = x
            while rising and rising[-1][1] >= height:
                start, tall = rising.pop()
                if (x - start) * tall > best.size.area:
                    best = Rect(start, y - tall + 1, x - start, tall)
            rising.append((start, height))
    return best


def _trimmed(part: Rect, boxes: Iterable[Rect]) -> Rect:
    """Cut from a part the strips at its edges that lie inside boxes."""
    for box in boxes:
        rim = part.overlap(box)
        if rim is None:
            continue
        if rim.width < rim.height:
            left = rim.right if rim.x == part.x else part.x
            part = Rect(left, part.y, part.width - rim.width, part.height)
        else:
            top = rim.bottom if rim.y == part.y else part.y
            part = Rect(part.x, top, part.width, part.height - rim.height)
    return part


def _around(parts: Sequence[Rect], within: Rect | None) -> Rect | None:
    """Return the area to read around the changed parts; around the first ones only if it gets too large.

    None if they are not in `within`, or the first one alone is too large.
    """
    for count in range(len(parts), 0, -1):
        rows = (Rect(p.x - _ROW_PX, p.y - _LINE_PX, p.width + 2 * _ROW_PX, p.height + 2 * _LINE_PX) for p in parts)
        around = bounds_of(itertools.islice(rows, count))
        region = within and around and around.overlap(within)
        if region and region.size.area <= _MOST_PX:
            return region
    return None


def _has_changed_inside(before: Frame, after: Frame, box: Rect) -> bool:
    inner = Rect(box.x + _EDGE_PX, box.y + box.height // 3, box.width - 2 * _EDGE_PX, max(box.height // 3, 1))
    inside = inner.overlap(before.area)
    return inside is None or part_of(before, inside).bgrx != part_of(after, inside).bgrx


def _is_of(window: Window, point: Point, stack: Sequence[Window]) -> bool:
    """True if a click at the point would go to the window and not to one in front of it."""
    top = next((other for other in stack if other.area.contains(point)), None)
    return top is None or top.ref == window.ref


def _is_near(one: Rect, other: Rect) -> bool:
    return abs(one.x - other.x) <= _NEAR_PX and abs(one.y - other.y) <= _NEAR_PX


def _moved(within: Rect, window: Rect) -> Rect:
    return Rect(window.x + within.x, window.y + within.y, within.width, within.height)


def _looks(frame: Frame) -> bytes:
    return hashlib.blake2b(frame.bgrx, digest_size=16).digest()


def _gone(before: Element, near: Sequence[Element]) -> ToolFailed:
    names = ", ".join(f"{one.ref} {clip_line(one.name, _NAME_CHARACTERS)!r}" for one in near[:_NEAREST])
    hint = f"Nearest now: {names}." if names else "Read the screen again."
    what = Phrase("{thing} no longer stands there.", {"thing": replace(before, role=_TEXT).called(_NAME_CHARACTERS)})
    return ToolFailed(what, hint)
