"""Pictures within a model's budget."""

from __future__ import annotations

import io
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PySide6.QtCore import QThread

from app.base.clock import SystemClock
from app.base.errors import NeedsPerson
from app.base.geometry import Geometry, Point, Rect, Size
from app.desktop.backends import Frame, NoCurtain, Window
from app.desktop.capture import PictureBudget, cursor_in, encoded, fitted, tokens_of
from app.desktop.headless import HeadlessDesktop
from app.desktop.screen_capture import ScreenCapture
from app.desktop.takeover import StopFlag

_sides = st.integers(min_value=1, max_value=8000)
_budgets = st.builds(PictureBudget, st.integers(200, 3000), st.integers(100, 5000))


@pytest.mark.parametrize(
    ("size", "tokens"),
    [(Size(1024, 768), 1036), (Size(1280, 720), 1196), (Size(1366, 768), 1372), (Size(1920, 1080), 2691)],
)
def test_tokens_are_counted_as_the_vendor_does(size: Size, tokens: int) -> None:
    assert tokens_of(size) == tokens


@pytest.mark.parametrize(
    ("screen", "budget", "sent"),
    [
        (Size(1280, 800), PictureBudget(), Size(1280, 800)),
        (Size(1920, 1080), PictureBudget(), Size(1456, 819)),
        (Size(3840, 2160), PictureBudget(), Size(1456, 819)),
        (Size(1920, 1080), PictureBudget(2576, 4784), Size(1920, 1080)),
        (Size(3840, 2160), PictureBudget(2576, 4784), Size(2576, 1449)),
    ],
)
def test_screens_are_sent_as_large_as_the_budget_allows(screen: Size, budget: PictureBudget, sent: Size) -> None:
    assert fitted(screen, budget) == sent


@given(_sides, _sides, _budgets)
def test_no_picture_is_ever_over_the_budget_or_enlarged(width: int, height: int, budget: PictureBudget) -> None:
    sent = fitted(Size(width, height), budget)
    assert budget.fits(sent) or sent.width == 1 or sent.height == 1
    assert sent.width <= width
    assert sent.height <= height


@given(st.integers(300, 4000), st.integers(300, 4000), st.floats(0, 0.999), st.floats(0, 0.999))
def test_a_point_comes_back_within_a_pixel_of_the_picture(width: int, height: int, x: float, y: float) -> None:
    geometry = Geometry(Rect(-100, 50, width, height), fitted(Size(width, height), PictureBudget()))
    column, row = int(x * geometry.sent.width), int(y * geometry.sent.height)
    back = geometry.to_picture(geometry.to_screen(column, row))
    assert abs(back[0] - column) <= 1
    assert abs(back[1] - row) <= 1


def test_a_picture_scaled_on_another_thread_leaves_qts_windows_to_this_one() -> None:
    area = Rect(0, 0, 400, 200)
    scaling = threading.Thread(target=lambda: encoded(Frame(area, bytes(400 * 200 * 4)), Size(200, 100)))
    scaling.start()
    scaling.join()
    assert QThread.isMainThread()


def test_a_frame_becomes_a_jpeg_of_the_size_asked_for() -> None:
    area = Rect(0, 0, 400, 200)
    red = bytes((0, 0, 255, 0))
    picture = Image.open(io.BytesIO(encoded(Frame(area, red * area.size.area), Size(200, 100))))
    assert (picture.format, picture.size) == ("JPEG", (200, 100))
    assert all(abs(seen - wanted) < 8 for seen, wanted in zip(picture.getpixel((100, 50)), (255, 0, 0), strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", [Size(608, 304), Size(400, 200), Size(304, 152)])
def test_thin_strokes_survive_every_scale(sent: Size) -> None:
    area = Rect(0, 0, 800, 400)
    row = (bytes((0, 0, 0, 0)) + bytes((255, 255, 255, 0)) * 7) * 100
    picture = Image.open(io.BytesIO(encoded(Frame(area, bytearray(row * 400)), sent))).convert("L")
    middle = picture.crop((0, sent.height // 2, sent.width, sent.height // 2 + 1)).tobytes()
    strokes = [x for x in range(1, sent.width - 1) if middle[x] == min(middle[x - 1 : x + 2]) and middle[x] < 225]
    assert abs(len(strokes) - 100) <= 1


def test_an_odd_width_is_not_sheared() -> None:
    area = Rect(0, 0, 301, 100)
    row = bytes((0, 0, 0, 0)) * 150 + bytes((255, 255, 255, 0)) * 151
    picture = Image.open(io.BytesIO(encoded(Frame(area, row * 100), Size(151, 50)))).convert("L")
    assert all(picture.getpixel((10, y)) < 20 and picture.getpixel((140, y)) > 230 for y in range(0, 50, 7))  # type: ignore[operator]


def test_the_pointer_is_told_in_the_pictures_pixels() -> None:
    geometry = Geometry(Rect(100, 0, 200, 100), Size(100, 50))
    assert cursor_in(geometry, Point(150, 20)) == (25, 10)
    assert cursor_in(geometry, Point(50, 20)) is None


@pytest.mark.parametrize("shows", [False, True, None])
async def test_black_behind_a_window_is_a_picture_only_where_captures_show_what_is_drawn(*, shows: bool | None) -> None:
    async def shows_drawing() -> bool:
        return bool(shows)

    area = Rect(0, 0, 80, 50)
    desktop = HeadlessDesktop(Frame(area, bytes(4 * area.size.area)))
    desktop.opened = [Window("w1", "Notes", "editor", area)]
    backend = replace(desktop.backend(StopFlag()), shows_drawing=None if shows is None else shows_drawing)
    screen = ScreenCapture(backend, NoCurtain(), SystemClock())
    if shows:
        assert (await screen.capture(area, "screen", PictureBudget())).geometry.region == area
    else:
        with pytest.raises(NeedsPerson):
            await screen.capture(area, "screen", PictureBudget())
