"""Decide whether a line of recognised text matches a name, and what an action changed in texts and pixels."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise

from app.base.clock import Clock
from app.base.facts import Became, Came, Fact, Named, Remark, Went
from app.base.geometry import Rect
from app.base.values import dataclass
from app.desktop.accessibility.matching import Description, name_fit, normal
from app.desktop.backends import Frame, Window
from app.desktop.capture import TILE_PX, bounds_of, changed_tiles, merged, part_of
from app.desktop.ocr.rapid import TextBox
from app.desktop.programs import is_terminal

_PART_OF_LINE = 0.93
_RUN_TOGETHER = 0.97
_MISREAD = 0.9
_MISREAD_PART = 0.86
_ALIKE = str.maketrans({"i": "l", "1": "l", "|": "l", "!": "l", "0": "o", "\u2019": "'", "\u00df": "b"})
_ALIKE_PAIRS = (("ss", "b"), ("rn", "m"))
"""Letters that OCR confuses, as `_folded` writes them; the sharp s is "ss" in a normalised name."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A line, or a part of one, that matches a name. The score is 1.0 for a whole line that OCR is certain of."""

    text: str
    box: Rect
    score: float


def texts_that_fit(lines: Sequence[TextBox], ways: Sequence[Description]) -> list[Fit]:
    """Return the best match of each line that matches at all."""
    names = [way.name for way in ways if way.name]
    return [best for line in lines if (best := max(_fits(line, names), key=lambda fit: fit.score, default=None))]


def _fits(line: TextBox, names: Sequence[str]) -> Iterator[Fit]:
    """Yield a match for each of the names that a line of recognised text is or contains."""
    whole = normal(line.text)
    sureness = 0.9 + 0.1 * line.score
    for name in names:
        fit = max(name_fit(whole, name), _look_fit(whole, name))
        part = _part(line, whole, name)
        misread = None if part else _part(line, _folded(whole), _folded(name))
        if misread and fit < _MISREAD_PART:
            yield Fit(line.text, misread, _MISREAD_PART * sureness)
        if part is not None and fit < _PART_OF_LINE:
            yield Fit(name, part, _PART_OF_LINE * sureness)
        elif fit:
            yield Fit(line.text, line.box, fit * sureness)


def _part(line: TextBox, whole: str, name: str) -> Rect | None:
    """Estimated from the name's position among the characters of the longer line."""
    start = f" {whole} ".find(f" {name} ")
    if start < 0 or whole == name:
        return None
    width_px = line.box.width / len(whole)
    return Rect(round(line.box.x + start * width_px), line.box.y, round(len(name) * width_px), line.box.height)


def _look_fit(whole: str, name: str) -> float:
    """Score a line as if OCR had confused similar letters or lost blanks."""
    if _run_together(whole) == _run_together(name):
        return _RUN_TOGETHER
    return _MISREAD if _run_together(_folded(whole)) == _run_together(_folded(name)) else 0.0


def _folded(text: str) -> str:
    """Letters that look alike are written the same way, and without accents."""
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    for pair, letter in _ALIKE_PAIRS:
        bare = bare.replace(pair, letter)
    return bare.translate(_ALIKE)


def _run_together(text: str) -> str:
    """Remove blanks, because OCR often loses them."""
    return text.replace(" ", "")


_CLOCK = re.compile(r"\d:\d\d")
_DOTS = "•●○◦◉◎·° "
"""OCR reads a radio button's dot along with its name."""
_SPECKS = str.maketrans("", "", ".,:;'`\"‡†·")
"""Small marks that OCR reads differently from one look to the next."""
_LEAST_LETTERS = 2
"""OCR may read a tick or a dot as a letter."""


def rewritten(before: Sequence[TextBox], after: Sequence[TextBox]) -> list[Fact]:
    """Without clocks and without differences that OCR makes by mistake."""
    gone, came = _lacking_in(after, before), _lacking_in(before, after)
    told: list[Fact] = []
    for new in list(came):
        old = next((one for one in gone if _stand_alike(one.box, new.box)), None)
        if old:
            gone.remove(old)
            came.remove(new)
            told.append(Became(Named("", old.text), new.text))
    told += [Came(tuple(Named("", line.text) for line in came))] if came else []
    return told + ([Went(tuple(Named("", line.text) for line in gone))] if gone else [])


def _lacking_in(those: Sequence[TextBox], lines: Sequence[TextBox]) -> list[TextBox]:
    """Those of `lines` whose text is missing in `those`. A text is returned as often as it is missing."""
    left = Counter(_spelt(line) for line in those)
    left.subtract(_spelt(line) for line in lines)
    found: list[TextBox] = []
    for line in reversed(lines):
        if left[_spelt(line)] < 0:
            left[_spelt(line)] += 1
            found.append(line)
    return [line for line in reversed(found) if len(_spelt(line)) >= _LEAST_LETTERS and not _CLOCK.search(line.text)]


def _spelt(line: TextBox) -> str:
    return _run_together(_folded(normal(line.text.strip(_DOTS)).translate(_SPECKS)))


_NEAR_PX = 48
_SAME_PLACE_PX = 8
_KNOWN_FRAMES = 2  # because a screen is compared with what the last action left, and with what was read since then
_LEAST_PX = 10_000
_RESTLESS_S = 10.0
_MARK_PX = (4, 28)
_MARK_GAP_PX = 4
_CURSOR_PX = 20
_LETTER_PX = 8
"""How much taller than the changed part of a digit a line of text may be: 0 and 9 share their upper half."""
_MOST_TEXTS = 12

TextsChanged = Callable[[Window, Frame, Frame, Sequence[Rect]], Awaitable[list[Fact]]]
"""Returns facts on the texts that differ in parts of a window, before and after."""


class PixelEvidence:
    """Proves an effect by a window's pixels if its program reports nothing: other texts, ticks, a text cursor.

    What also changes between two actions, such as a clock, proves nothing.
    """

    def __init__(self, texts_changed: TextsChanged, clock: Clock) -> None:
        self._texts_changed = texts_changed
        self._clock = clock
        self._known: deque[Frame] = deque(maxlen=_KNOWN_FRAMES)
        self._restless: list[tuple[float, Rect]] = []
        self._carets: list[Rect] = []

    def note(self, frame: Frame) -> None:
        """Keep a frame of the screen after an action, for `begin` of the next action."""
        if frame.area.size.area >= _LEAST_PX:
            self._known.append(frame)

    def begin(self, before: Frame) -> None:
        """Note the screen before an action. What differs from the kept frames changed without an action."""
        now = self._clock.now()
        self._carets.clear()
        self._restless = [one for one in self._restless if now - one[0] < _RESTLESS_S]
        for known in self._known:
            if known.area.overlap(before.area) == known.area:
                areas = merged(changed_tiles(known, part_of(before, known.area)))
                self._carets += [area for area in areas if _is_cursor(area)]
                self._restless += [(now, _grown(area, TILE_PX)) for area in areas]
        self._known.clear()

    def may_tell(self, window: Window, changed: Sequence[Rect]) -> bool:
        """True if the window changed anywhere, apart from areas that also change without an action."""
        return bool(self._caused(window, changed))

    async def of(
        self,
        window: Window,
        before: Frame,
        after: Frame,
        changed: Sequence[Rect],
        place: Rect | None,
    ) -> tuple[Fact, ...]:
        """Return what proves the effect; () if nothing does. Raises ToolFailed if OCR does not work."""
        parts = self._caused(window, changed)
        told = await self._texts_changed(window, before, after, parts) if parts else []
        bounds = bounds_of(parts)
        if not told and place is not None:
            near = [part for part in parts if part.overlap(_grown(place, _NEAR_PX))]
            spots = [spot for part in near for spot in spots_in(before, after, part)]
            told = [Remark("A mark there changed.")] if any(is_mark(before, after, spot) for spot in spots) else []
        if (
            not told
            and place is None
            and is_terminal(window.app)
            and bounds
            and bounds.width <= _CURSOR_PX < bounds.height
        ):
            told = [Remark("The cursor went to another line.")]
        return tuple(told[:_MOST_TEXTS])

    def _caused(self, window: Window, changed: Sequence[Rect]) -> list[Rect]:
        """Without areas that also change without an action."""
        # Ignore the cursor, because a terminal fills it when it gets the keyboard: it is no clock.
        spared = [_grown(caret, TILE_PX) for caret in self._carets] if is_terminal(window.app) else []
        restless = [area for _, area in self._restless if area not in spared]
        # A clock's text moves as a whole where it gets longer, as from 9 to 10.
        lines = [line for line in merged(changed, 1) if any(_is_beside(line, area) for area in restless)]
        tiles = [tile for tile in changed if not any(map(tile.overlap, (*restless, *lines)))]
        return [part for tile in merged(tiles) if (part := tile.overlap(window.area))]


def _is_beside(line: Rect, restless: Rect) -> bool:
    """Return whether a changed area touches one that changes by itself and is about as tall: it then belongs to it.

    `restless` has a margin of one tile on each side.
    """
    return line.overlap(restless) is not None and line.height <= restless.height - 2 * TILE_PX + _LETTER_PX


def _is_cursor(area: Rect) -> bool:
    return max(area.width, area.height) <= _CURSOR_PX


def spots_in(before: Frame, after: Frame, part: Rect) -> list[Rect]:
    """Return the separate areas that changed in a part, such as the dots of two radio buttons."""
    from PIL import Image, ImageChops

    size = (part.width, part.height)
    pictures = (Image.frombytes("RGBX", size, part_of(frame, part).bgrx).convert("RGB") for frame in (before, after))
    changed = ImageChops.difference(*pictures).convert("L").point([0] + [255] * 255)
    spots: list[Rect] = []
    for top, bottom in _runs(changed.getprojection()[1]):
        sides = _runs(changed.crop((0, top, part.width, bottom)).getprojection()[0])
        spots += [Rect(part.x + left, part.y + top, right - left, bottom - top) for left, right in sides]
    return spots


def _runs(line: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of changed pixels. Gaps of a few pixels belong to it."""
    places = [place for place, has_changed in enumerate(line) if has_changed]
    breaks = [at for at in range(1, len(places)) if places[at] - places[at - 1] > _MARK_GAP_PX + 1]
    for first, after in pairwise([0, *breaks, len(places)] if places else []):
        yield places[first], places[after - 1] + 1


def is_mark(before: Frame, after: Frame, area: Rect) -> bool:
    """True if the change is as small as a tick and not only a frame, which would just show the focus."""
    least, most = _MARK_PX
    if not (least <= area.width <= most and least <= area.height <= most):
        return False
    middle = Rect(area.x + area.width // 4, area.y + area.height // 4, area.width // 2, area.height // 2)
    return part_of(before, middle).bgrx != part_of(after, middle).bgrx


def _stand_alike(one: Rect, other: Rect) -> bool:
    return abs(one.x - other.x) <= _SAME_PLACE_PX and abs(one.y - other.y) <= _SAME_PLACE_PX


def _grown(area: Rect, by_px: int) -> Rect:
    return Rect(area.x - by_px, area.y - by_px, area.width + 2 * by_px, area.height + 2 * by_px)
