"""The orb: still when idle, moved by dragging, opened by a click, and solid only where it is drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.base.geometry import Point, Rect
from app.ui.orb.state import Orb
from app.ui.orb.window import OrbWindow
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from app.ui.windows import orb_placement


class Paints(QObject):
    """Counts how often a widget is painted."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.Paint
        return False


@pytest.fixture
def orb(qtbot: QtBot, still: Look) -> Iterator[OrbWindow]:
    made = OrbWindow(still.theme, still.around, still.ticker)
    made.put(Rect(300, 300, 56, 56))
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def settled(qtbot: QtBot, look: Look) -> None:
    qtbot.waitUntil(lambda: not look.ticker.is_running, timeout=5000)


def test_an_idle_orb_is_never_repainted_and_no_timer_runs(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    settled(qtbot, still)
    qtbot.wait(100)
    paints = Paints()
    orb.installEventFilter(paints)
    qtbot.wait(700)
    assert paints.count == 0
    assert not still.ticker.is_running


def test_it_breathes_at_first_and_then_is_still(qtbot: QtBot, look: Look) -> None:
    orb = OrbWindow(look.theme, look.around, look.ticker)
    qtbot.addWidget(orb)
    orb.show()
    orb.breathe()
    assert look.ticker.is_running
    qtbot.waitUntil(lambda: not look.ticker.is_running, timeout=15_000)


@pytest.mark.parametrize("state", [Orb.THINKING, Orb.BUSY, Orb.LISTENING])
def test_a_state_with_motion_moves_until_it_is_left(qtbot: QtBot, look: Look, state: Orb) -> None:
    orb = OrbWindow(look.theme, look.around, look.ticker)
    qtbot.addWidget(orb)
    orb.show()
    paints = Paints()
    orb.installEventFilter(paints)
    orb.show_state(state)
    qtbot.waitUntil(lambda: paints.count > 3, timeout=5000)
    orb.show_state(Orb.IDLE)
    qtbot.waitUntil(lambda: not look.ticker.is_running, timeout=5000)


def test_with_reduced_motion_nothing_turns(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    orb.show_state(Orb.THINKING)
    settled(qtbot, still)
    assert not still.ticker.is_running


def test_every_state_looks_different(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    seen = {}
    for state in Orb:
        orb.show_state(state)
        settled(qtbot, still)
        seen[state] = bytes(orb.grab().toImage().constBits())
    assert len(set(seen.values())) == len(Orb)


def test_every_state_is_read_out(orb: OrbWindow) -> None:
    said = set()
    for state in Orb:
        orb.show_state(Orb.IDLE if state is not Orb.IDLE else Orb.BUSY)
        orb.show_state(state)
        said.add(orb.accessibleDescription())
    assert len(said) == len(Orb)


def test_a_click_is_told_once(qtbot: QtBot, orb: OrbWindow) -> None:
    with qtbot.waitSignal(orb.clicked):
        qtbot.mouseClick(orb, Qt.MouseButton.LeftButton)


def test_dragging_moves_it_snaps_to_the_edge_and_is_remembered(qtbot: QtBot, presence: Presence) -> None:
    orb = presence.orb
    qtbot.waitExposed(orb)
    screen = QGuiApplication.primaryScreen().availableGeometry()
    start = orb.rect().center()
    qtbot.mousePress(orb, Qt.MouseButton.LeftButton, pos=start)
    target = QPoint(screen.left() + 60, screen.top() + 300)
    qtbot.mouseMove(orb, orb.mapFromGlobal(target))
    qtbot.mouseMove(orb, orb.mapFromGlobal(target))
    qtbot.mouseRelease(orb, Qt.MouseButton.LeftButton, pos=orb.mapFromGlobal(target))
    place = orb.rest_rect()
    assert (place.x, abs(place.center.y - target.y()) <= 1) == (screen.left() + 16, True)
    assert not presence.is_open
    name = orb_placement.layout_name([Rect(screen.x(), screen.y(), screen.width(), screen.height())])
    assert orb_placement.remembered(name) == Point(place.x, place.y)


def test_a_remembered_place_is_used_again(qtbot: QtBot, still: Look) -> None:
    screen = QGuiApplication.primaryScreen().availableGeometry()
    name = orb_placement.layout_name([Rect(screen.x(), screen.y(), screen.width(), screen.height())])
    orb_placement.remember(name, Point(100, 120))
    made = Presence(still)
    made.show()
    assert made.orb.rest_rect() == Rect(100, 120, 56, 56)
    made.orb.close()


def test_a_place_off_the_screen_is_brought_back(qtbot: QtBot, still: Look) -> None:
    screen = QGuiApplication.primaryScreen().availableGeometry()
    name = orb_placement.layout_name([Rect(screen.x(), screen.y(), screen.width(), screen.height())])
    orb_placement.remember(name, Point(90_000, -5))
    made = Presence(still)
    made.show()
    assert made.orb.rest_rect() == Rect(screen.right() + 1 - 56, 0, 56, 56)
    made.orb.close()


def test_it_never_takes_the_focus(qtbot: QtBot, orb: OrbWindow) -> None:
    qtbot.mouseClick(orb, Qt.MouseButton.LeftButton)
    assert not orb.isActiveWindow()
    assert orb.windowFlags() & Qt.WindowType.WindowDoesNotAcceptFocus
