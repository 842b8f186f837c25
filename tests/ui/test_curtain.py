"""Out of the way of captures and clicks: looked at through the X server, not through our own eyes."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from Xlib import X
from Xlib.display import Display

from app.base.geometry import Point, Rect
from app.ui.orb.window import OrbWindow
from app.ui.theme.appearance import Look
from app.ui.windows.curtain import QtCurtain, X11Curtain
from app.ui.windows.floating import Marked, WindowDeps
from app.ui.windows.stage import Stage
from app.ui.windows.x_connection import XConnection
from tests.ui.fake_agent import hand_now

BELOW = (12, 200, 34)


class Below(QWidget):
    """A plain window of one colour that counts the clicks it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.clicks = 0
        self.setStyleSheet("background: rgb({}, {}, {})".format(*BELOW))
        self.setGeometry(200, 200, 400, 300)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.clicks += 1


@pytest.fixture
def below(qtbot: QtBot) -> Iterator[Below]:
    made = Below()
    qtbot.addWidget(made)
    made.show()
    qtbot.waitActive(made)
    qtbot.waitUntil(lambda: pixel(378, 328) == BELOW)  # or what is not painted yet passes for the orb
    return made


@pytest.fixture
def orb(qtbot: QtBot, still: Look, below: Below) -> Iterator[OrbWindow]:
    hand_now("mousemove", 900, 700)  # nothing hovers
    made = OrbWindow(still.theme, still.around, still.ticker)
    made.put(Rect(350, 300, 56, 56))
    made.show()
    qtbot.waitExposed(made)
    qtbot.waitUntil(lambda: pixel(378, 328) != BELOW)
    yield made
    made.close()


@pytest.fixture
def curtain(still: Look) -> Iterator[X11Curtain]:
    made = X11Curtain(still.around, XConnection())
    yield made
    made.close()


def pixel(x: int, y: int) -> tuple[int, int, int]:
    display = Display()
    try:
        blue, green, red, _ = display.screen().root.get_image(x, y, 1, 1, X.ZPixmap, 0xFFFFFFFF).data
    finally:
        display.close()
    return red, green, blue


def in_a_thread(qtbot: QtBot, job: object) -> None:
    """Do it on another thread, as the desktop's thread does, while the GUI lives on."""
    thread = threading.Thread(target=job)  # type: ignore[arg-type]
    thread.start()
    qtbot.waitUntil(lambda: not thread.is_alive())


def test_it_knows_where_our_windows_are(orb: OrbWindow, curtain: X11Curtain) -> None:
    assert curtain.covers(Rect(370, 320, 10, 10))
    assert not curtain.covers(Rect(10, 10, 50, 50))


def test_a_hidden_window_covers_nothing(orb: OrbWindow, curtain: X11Curtain) -> None:
    orb.hide()
    assert not curtain.covers(Rect(370, 320, 10, 10))


def test_inside_there_is_nothing_of_ours_in_the_picture_and_afterwards_it_is_back(
    qtbot: QtBot, orb: OrbWindow, curtain: X11Curtain
) -> None:
    seen: list[tuple[int, int, int]] = []

    def capture() -> None:
        with curtain.drawn_back(Rect(200, 200, 400, 300)):
            seen.append(pixel(378, 328))
        seen.append(pixel(20, 20))

    before = pixel(378, 328)
    in_a_thread(qtbot, capture)
    assert seen[0] == BELOW
    qtbot.waitUntil(lambda: pixel(378, 328) == before)


def test_inside_a_click_reaches_what_is_below(qtbot: QtBot, orb: OrbWindow, below: Below, curtain: X11Curtain) -> None:
    clicked: list[bool] = []
    orb.clicked.connect(lambda: clicked.append(True))

    def click() -> None:
        with curtain.drawn_back(Rect(377, 327, 2, 2)):
            hand_now("mousemove", 378, 328, "click", 1)

    in_a_thread(qtbot, click)
    qtbot.waitUntil(lambda: below.clicks == 1)
    assert clicked == []
    hand_now("mousemove", 378, 328, "click", 1)
    qtbot.waitUntil(lambda: clicked == [True])


def test_a_window_without_a_shape_may_grow_afterwards(
    qtbot: QtBot, qapp: QApplication, below: Below, still: Look, curtain: X11Curtain
) -> None:
    grown = QWidget(None, Qt.WindowType.Tool | Qt.WindowType.FramelessWindowHint)
    qtbot.addWidget(grown)
    grown.setStyleSheet("background: rgb(250, 10, 90)")
    grown.setGeometry(300, 250, 60, 60)
    grown.show()
    qtbot.waitUntil(lambda: pixel(330, 280) == (250, 10, 90))
    with still.around.lock:
        still.around.shown.add(int(grown.winId()))

    def capture() -> None:
        with curtain.drawn_back(Rect(300, 250, 60, 60)):
            pass

    in_a_thread(qtbot, capture)
    grown.resize(60, 160)
    qtbot.waitUntil(lambda: pixel(330, 400) == (250, 10, 90))


def test_windows_elsewhere_stay(qtbot: QtBot, orb: OrbWindow, curtain: X11Curtain) -> None:
    before = pixel(378, 328)
    with curtain.drawn_back(Rect(10, 10, 20, 20)):
        assert pixel(378, 328) == before


def test_it_may_be_drawn_twice_and_comes_back_after_the_last(qtbot: QtBot, orb: OrbWindow, curtain: X11Curtain) -> None:
    area, before, seen = Rect(370, 320, 20, 20), pixel(378, 328), []

    def twice() -> None:
        with curtain.drawn_back(area):
            with curtain.drawn_back(area):
                pass
            seen.append(pixel(378, 328))

    in_a_thread(qtbot, twice)
    assert seen == [BELOW]
    qtbot.waitUntil(lambda: pixel(378, 328) == before)


def test_the_focus_stays_where_it_was(qtbot: QtBot, orb: OrbWindow, below: Below, curtain: X11Curtain) -> None:
    def capture() -> None:
        with curtain.drawn_back(Rect(0, 0, 1280, 800)):
            pass

    in_a_thread(qtbot, capture)
    assert below.isActiveWindow()


@pytest.mark.parametrize("kind", ["x11", "qt"])
def test_a_busy_gui_thread_cannot_hold_it_up(orb: OrbWindow, curtain: X11Curtain, kind: str) -> None:
    used = curtain if kind == "x11" else QtCurtain()
    done = threading.Event()

    def capture() -> None:
        used.covers(Rect(0, 0, 10, 10))
        with used.drawn_back(Rect(370, 320, 20, 20)):
            done.set()

    thread = threading.Thread(target=capture)
    thread.start()
    assert done.wait(3.0)  # this is the GUI thread: while it waits, no event is handled
    thread.join(3.0)
    assert not thread.is_alive()
    QApplication.processEvents()
    if isinstance(used, QtCurtain):
        used.close()


def _is_clicked_through(below: Below, x: int, y: int) -> bool:
    """Click there. A shape counts a moment after the first paint, and a click before it is lost."""
    hand_now("mousemove", x, y, "click", 1)
    QApplication.processEvents()
    return below.clicks > 0


def test_transparent_corners_let_clicks_through(qtbot: QtBot, orb: OrbWindow, below: Below) -> None:
    # A corner of the orb's square, outside its circle.
    qtbot.waitUntil(lambda: _is_clicked_through(below, 352, 302))


def test_with_a_compositor_the_shadow_lets_clicks_through_and_the_curtain_works(
    qtbot: QtBot, qapp: QApplication, below: Below, still: Look
) -> None:
    compositor = subprocess.Popen(["picom", "--backend", "xrender"], stderr=subprocess.DEVNULL)
    server = XConnection()
    around = WindowDeps(XConnection())
    try:
        qtbot.waitUntil(server.is_composited)
        around.look()
        assert around.composited
        orb = OrbWindow(still.theme, around, still.ticker)
        orb.put(Rect(350, 300, 56, 56))
        orb.show()
        qtbot.waitUntil(lambda: pixel(378, 328) != BELOW)
        qtbot.waitUntil(lambda: _is_clicked_through(below, 330, 328))
        seen: list[tuple[int, int, int]] = []
        curtain = X11Curtain(around, server)

        def capture() -> None:
            with curtain.drawn_back(Rect(200, 200, 400, 300)):
                seen.append(pixel(378, 328))

        in_a_thread(qtbot, capture)
        assert seen == [BELOW]
        orb.close()
    finally:
        compositor.terminate()
        compositor.wait(5)
        around.close()
        server.close()


def test_elsewhere_windows_become_transparent_and_let_input_through(qtbot: QtBot, orb: OrbWindow) -> None:
    curtain, seen = QtCurtain(), []
    window = orb.windowHandle()

    def capture() -> None:
        seen.append(curtain.covers(Rect(370, 320, 10, 10)))
        with curtain.drawn_back(Rect(370, 320, 10, 10)):
            seen.append(window.opacity())
            seen.append(bool(window.flags() & Qt.WindowType.WindowTransparentForInput))

    in_a_thread(qtbot, capture)
    assert seen == [True, 0.0, True]
    qtbot.waitUntil(lambda: window.opacity() == 1.0)
    assert not window.flags() & Qt.WindowType.WindowTransparentForInput
    curtain.close()


def test_a_window_that_goes_while_it_is_drawn_back_stays_gone(orb: OrbWindow, curtain: X11Curtain) -> None:
    with curtain.drawn_back(Rect(370, 320, 20, 20)):
        orb.close()
    assert not curtain.covers(Rect(370, 320, 20, 20))


def test_a_mark_is_on_the_screen_when_it_is_said_to_be_and_gone_when_it_is_taken_back(
    qtbot: QtBot, still: Look, below: Below, curtain: X11Curtain
) -> None:
    stage = Stage(still)
    still.around.shows_marks = True
    still.around.came_back.pointed.connect(stage.point_out)
    control = Rect(340, 330, 80, 30)
    places: list[Marked] = []
    seen: list[set[tuple[int, int, int]]] = []
    clear: list[bool] = []

    def point() -> None:
        asked = curtain.point_at(control, "Save", Point(0, 0))
        assert asked
        places.append(asked.result())
        seen.append(_colors(places[-1]))
        clear.append(not curtain.covers(control))
        hand_now("mousemove", 380, 345, "click", 1)
        curtain.unmark()

    accent = still.theme.color("accent")
    for _ in range(2):  # it shows again after it was taken back
        below.clicks = 0
        in_a_thread(qtbot, point)
        assert (accent.red, accent.green, accent.blue) in seen[-1]
        assert clear[-1]
        qtbot.waitUntil(lambda: _colors(places[-1]) == {BELOW})
        qtbot.waitUntil(lambda: below.clicks == 1)
    qtbot.waitUntil(lambda: not still.ticker.is_running)
    stage.orb.close()


def _colors(areas: tuple[Rect, ...]) -> set[tuple[int, int, int]]:
    """All that show in some areas of the screen."""
    display = Display()
    found: set[tuple[int, int, int]] = set()
    try:
        for area in areas:
            data = display.screen().root.get_image(*_bare(area), X.ZPixmap, 0xFFFFFFFF).data
            found |= {(data[at + 2], data[at + 1], data[at]) for at in range(0, len(data), 4)}
    finally:
        display.close()
    return found


def _bare(area: Rect) -> tuple[int, int, int, int]:
    return area.x, area.y, area.width, area.height
