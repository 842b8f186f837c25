"""Turn pixels into the picture that a model is sent: exactly within its budget, legible, and fast to make.

Measured on 1920x1080 to 1456x819, processor time: QPainter's bilinear filter takes 4 ms, QImage's smooth scaling 14,
Pillow's LANCZOS 60. OCR reads the bilinear result as well as the others if a screen is scaled down by a quarter (0.1 to
0.3 more errors in a hundred characters than after LANCZOS, which has 0.3 more than the original). Below
`_SMOOTH_BELOW`, bilinear scaling drops thin strokes. Pillow's JPEG takes 4 ms, QImage's 15. So QtGui scales (without a
GUI), Pillow encodes, and no pixels are copied in between.
"""

from __future__ import annotations

import io
import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from app.base.errors import ToolMisuse
from app.base.geometry import Geometry, Point, Rect, Size
from app.base.values import dataclass, field, replace
from app.desktop.backends import Frame

if TYPE_CHECKING:
    from PIL import Image
    from PySide6.QtGui import QImage

_PATCH_PX = 28
_QUALITY = 78
_SAMPLED_ROWS = 16
_SMOOTH_BELOW = 0.6


@dataclass(frozen=True, slots=True)
class PictureBudget:
    """The largest picture a model accepts unscaled: longest side in pixels, and tokens (patches of 28 pixels)."""

    # because the API scales larger pictures down itself: https://docs.anthropic.com/en/docs/vision
    long_edge_px: int = 1568
    tokens: int = 1568

    def fits(self, size: Size) -> bool:
        return max(size.width, size.height) <= self.long_edge_px and tokens_of(size) <= self.tokens


@dataclass(frozen=True, slots=True)
class Capture:
    """A picture of a part of the screen. `cursor` is in picture pixels, None if the pointer is elsewhere.

    `taken` is the time on the desktop's clock, in seconds. `frame` holds the original pixels, 8 MB for a large screen,
    so only the newest captures keep it. `window` is the ref of the window that it shows; "" for a part of the screen.
    """

    id: str
    geometry: Geometry
    data: bytes
    media_type: str
    cursor: tuple[int, int] | None
    taken: float
    label: str
    frame: Frame | None = field(repr=False, compare=False)
    window: str = ""

    @property
    def pixels(self) -> Frame:
        """The pixels that the picture was made from. Raises ToolMisuse if they were dropped."""
        if self.frame is None:
            raise ToolMisuse(f"Capture {self.id} is too old to compare with. Take a new screen_capture.")
        return self.frame


def tokens_of(size: Size) -> int:
    """What a picture of this size costs a Claude model."""
    # Claude counts one token for each patch of 28 pixels: https://platform.claude.com/docs/en/build-with-claude/vision
    return math.ceil(size.width / _PATCH_PX) * math.ceil(size.height / _PATCH_PX)


def fitted(size: Size, budget: PictureBudget) -> Size:
    """The largest with the same proportions, at most the original size."""
    if budget.fits(size):
        return size
    # Search by bisection, because rounding each side makes the token count jump: a formula would miss it by a patch.
    low, high = 1, max(size.width, size.height)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if budget.fits(_with_long_edge(size, middle)) else (low, middle - 1)
    return _with_long_edge(size, low)


def _with_long_edge(size: Size, long_edge: int) -> Size:
    factor = long_edge / max(size.width, size.height)
    return Size(max(round(size.width * factor), 1), max(round(size.height * factor), 1))


def decoded(data: bytes) -> Frame:
    """With its corner at 0,0."""
    from PIL import Image

    picture = Image.open(io.BytesIO(data)).convert("RGB")
    return Frame(Rect(0, 0, *picture.size), picture.tobytes("raw", "BGRX"))


def encoded(frame: Frame, sent: Size) -> bytes:
    """Encode the frame as a JPEG of the size `sent`."""
    from PIL import Image

    area = frame.area
    if sent == area.size or not _scaler.is_loaded:
        whole = Image.frombuffer("RGB", (area.width, area.height), frame.bgrx, "raw", "BGRX", 0, 1)
        if sent == area.size:
            return _jpeg(whole)
        data = _jpeg(whole.resize((sent.width, sent.height), Image.Resampling.BILINEAR))
        _scaler.load()
        return data
    from PySide6.QtGui import QImage

    picture = QImage(frame.bgrx, area.width, area.height, area.width * 4, QImage.Format.Format_RGB32)
    turned = _scaled(picture, sent).convertToFormat(QImage.Format.Format_RGBX8888)  # as the encoder takes them
    buffer = turned.constBits()
    return _jpeg(Image.frombuffer("RGBX", (sent.width, sent.height), buffer, "raw", "RGBX", 0, 1))  # type: ignore[arg-type]


def lossless(frame: Frame) -> bytes:
    """Encode the frame as a PNG of its own size."""
    from PIL import Image

    file = io.BytesIO()
    size = (frame.area.width, frame.area.height)
    Image.frombuffer("RGB", size, frame.bgrx, "raw", "BGRX", 0, 1).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _jpeg(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()


class _Scaler:
    """Loads Qt on a separate thread, because loading takes longer than scaling a picture with Pillow.

    Until it is loaded, Pillow scales the pictures.
    """

    def __init__(self) -> None:
        self._loading: threading.Thread | None = None
        self.is_loaded = False

    def load(self) -> None:
        """Start the thread that loads Qt, at the first call only."""
        if self._loading is None:
            self._loading = threading.Thread(target=self._load, name="picture scaler")
            self._loading.start()

    def _load(self) -> None:
        import PySide6.QtGui  # noqa: F401

        self.is_loaded = True


_scaler = _Scaler()


def _scaled(picture: QImage, sent: Size) -> QImage:
    from PySide6.QtCore import QRect, Qt
    from PySide6.QtGui import QImage, QPainter

    if sent.width < picture.width() * _SMOOTH_BELOW:
        exactly, smooth = Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
        return picture.scaled(sent.width, sent.height, exactly, smooth)
    small = QImage(sent.width, sent.height, QImage.Format.Format_RGB32)
    painter = QPainter(small)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.drawImage(QRect(0, 0, sent.width, sent.height), picture)
    painter.end()
    return small


def cursor_in(geometry: Geometry, pointer: Point | None) -> tuple[int, int] | None:
    """None if the pointer is outside the picture, or nobody knows where it is."""
    return geometry.to_picture(pointer) if pointer and geometry.region.contains(pointer) else None


TILE_PX = 32
_BYTES = 4


def changed_tiles(before: Frame, after: Frame, *, at_least: int = 1) -> list[Rect]:
    """Return where pixels differ, at most one rectangle for each tile, in screen pixels.

    Both frames show the same area. A colour channel (0 to 255) must differ by `at_least`.
    """
    if before.bgrx == after.bgrx:
        return []
    bands = _changed_bands(before, after)
    return [tile for band in bands for tile in _tiles(before, after, band, at_least)]


def _changed_bands(before: Frame, after: Frame) -> Iterator[Rect]:
    area, row = after.area, after.area.width * _BYTES
    for top in range(0, area.height, TILE_PX):
        height = min(TILE_PX, area.height - top)
        part = slice(top * row, (top + height) * row)
        if before.bgrx[part] != after.bgrx[part]:
            yield Rect(area.x, area.y + top, area.width, height)


def _tiles(before: Frame, after: Frame, band: Rect, at_least: int) -> Iterator[Rect]:
    from PIL import Image, ImageChops

    row, first = after.area.width * _BYTES, band.y - after.area.y
    part = slice(first * row, (first + band.height) * row)
    size = (band.width, band.height)
    difference = ImageChops.difference(
        Image.frombytes("RGBX", size, before.bgrx[part]), Image.frombytes("RGBX", size, after.bgrx[part])
    ).convert("RGB")
    if at_least > 1:
        difference = difference.point([level if level >= at_least else 0 for level in range(256)] * 3)
    bounds = difference.getbbox()
    if bounds is None:
        return
    for left in range(bounds[0] - bounds[0] % TILE_PX, bounds[2], TILE_PX):
        right = min(left + TILE_PX, band.width)
        found = difference.crop((left, 0, right, band.height)).getbbox()
        if found:
            x0, y0, x1, y1 = found
            yield Rect(band.x + left + x0, band.y + y0, x1 - x0, y1 - y0)


def bounds_of(areas: Iterable[Rect]) -> Rect | None:
    """None if there are no areas."""
    found = list(areas)
    if not found:
        return None
    left, top = min(a.x for a in found), min(a.y for a in found)
    return Rect(left, top, max(a.right for a in found) - left, max(a.bottom for a in found) - top)


def merged(areas: Iterable[Rect], gap: int = TILE_PX) -> list[Rect]:
    """Join areas that lie within `gap` pixels of each other. Returns the joined areas, sorted from the top left."""
    regions: list[Rect] = []
    for area in areas:
        grown = area
        while near := [r for r in regions if _near(r, grown, gap)]:
            regions = [r for r in regions if r not in near]
            grown = bounds_of([grown, *near]) or grown
        regions.append(grown)
    return sorted(regions, key=lambda r: (r.y, r.x))


def _near(one: Rect, other: Rect, gap: int) -> bool:
    wide = Rect(one.x - gap, one.y - gap, one.width + 2 * gap, one.height + 2 * gap)
    return wide.overlap(other) is not None


def part_of(frame: Frame, area: Rect) -> Frame:
    """`area` lies inside the frame."""
    if area == frame.area:
        return frame
    row = frame.area.width * _BYTES
    left = (area.x - frame.area.x) * _BYTES
    first = area.y - frame.area.y
    starts = ((first + y) * row + left for y in range(area.height))
    rows = (frame.bgrx[start : start + area.width * _BYTES] for start in starts)
    return Frame(area, b"".join(rows))


def patched(frame: Frame, part: Frame) -> Frame:
    pixels, row, width = bytearray(frame.bgrx), frame.area.width * _BYTES, part.area.width * _BYTES
    first = (part.area.y - frame.area.y) * row + (part.area.x - frame.area.x) * _BYTES
    for y in range(part.area.height):
        start = first + y * row
        pixels[start : start + width] = part.bgrx[y * width : (y + 1) * width]
    return replace(frame, bgrx=pixels, hidden=tuple(dict.fromkeys((*frame.hidden, *part.hidden))))


def blackened(frame: Frame, parts: Iterable[Rect]) -> Frame:
    """`parts` are in screen pixels."""
    pixels, row = bytearray(frame.bgrx), frame.area.width * _BYTES
    for shown in filter(None, (part.overlap(frame.area) for part in parts)):
        black = bytes(shown.width * _BYTES)
        for y in range(shown.y - frame.area.y, shown.bottom - frame.area.y):
            start = y * row + (shown.x - frame.area.x) * _BYTES
            pixels[start : start + len(black)] = black
    return replace(frame, bgrx=pixels)


_INK_LEVEL = 40
_INK_LEAST = 40
_INK_SIDE_PX = 6
_SAMPLE_PX = 32


def ink_of(frame: Frame) -> Rect | None:
    """Return the area (screen pixels) in which a frame shows something other than its background colour.

    Returns None if the frame is blank or shows only a thin line.
    """
    from PIL import Image, ImageChops

    size = (frame.area.width, frame.area.height)
    picture = Image.frombytes("RGB", size, bytes(frame.bgrx), "raw", "BGRX")
    sample = picture.resize((_SAMPLE_PX, _SAMPLE_PX), Image.Resampling.NEAREST).tobytes()
    colours = Counter(sample[place : place + 3] for place in range(0, len(sample), 3))
    background = colours.most_common(1)[0][0]
    red, green, blue = ImageChops.difference(picture, Image.new("RGB", size, tuple(background))).split()
    difference = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    ink = difference.point([255 if level >= _INK_LEVEL else 0 for level in range(256)])
    bounds = ink.getbbox()
    if bounds is None or ink.histogram()[255] < _INK_LEAST:
        return None
    left, top, right, bottom = bounds
    if min(right - left, bottom - top) < _INK_SIDE_PX:
        return None
    return Rect(frame.area.x + left, frame.area.y + top, right - left, bottom - top)


def is_black(frame: Frame) -> bool:
    """True if every pixel is black, as after a failed or forbidden capture."""
    row = frame.area.width * _BYTES
    some = range(0, len(frame.bgrx), max(row * (frame.area.height // _SAMPLED_ROWS), row, 1))
    # Check a few rows first, because they decide nearly always and a strided copy of the whole takes milliseconds.
    rows = chain((frame.bgrx[start : start + row] for start in some), [frame.bgrx])
    return not any(any(part[channel::_BYTES]) for part in rows for channel in range(_BYTES - 1))
