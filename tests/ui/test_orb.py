"""The orb: still when idle, moved by dragging, opened by a click, and solid only where it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.base.geometry import Point, Rect
from app.settings.tokens import THEMES
from app.ui.orb.painting import OrbFrame, paint
from app.ui.orb.state import Orb
from app.ui.orb.window import OrbWindow
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from app.ui.theme.theme import SCHEMES, Theme, load
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
    qtbot.waitUntil(lambda: not look.ticker.is_running)


def unpainted(qtbot: QtBot, orb: OrbWindow, while_ms: int) -> None:
    """Wait until nothing has painted the orb for so long: the server may ask for a last picture late."""
    paints = Paints()
    orb.installEventFilter(paints)

    def is_at_rest() -> bool:
        before = paints.count
        qtbot.wait(while_ms)
        return paints.count == before

    qtbot.waitUntil(is_at_rest)


def test_an_idle_orb_is_not_repainted_and_no_timer_runs(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    settled(qtbot, still)
    unpainted(qtbot, orb, 700)
    assert not still.ticker.is_running


@pytest.mark.long
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
    qtbot.waitUntil(lambda: paints.count > 3)
    orb.show_state(Orb.IDLE)
    qtbot.waitUntil(lambda: not look.ticker.is_running)


def test_with_reduced_motion_nothing_turns(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    orb.show_state(Orb.THINKING)
    settled(qtbot, still)
    assert not still.ticker.is_running


def rim_and_body(orb: OrbWindow) -> tuple[QColor, QColor]:
    """The colour at the orb's lower edge, and inside it."""
    image, middle = orb.grab().toImage(), orb.rect().center()
    edge = orb.theme.size("orb") // 2 - 1
    return image.pixelColor(middle.x(), middle.y() + edge), image.pixelColor(middle.x(), middle.y() + edge // 2)


def rim_width(orb: OrbWindow, tone: QColor) -> int:
    """How many pixels have the tone's colour, from the orb's middle down."""
    image, middle = orb.grab().toImage(), orb.rect().center()
    return sum(image.pixelColor(middle.x(), y) == tone for y in range(middle.y(), orb.height()))


def test_while_something_is_said_the_rim_has_the_tones_hue_and_the_body_its_own(
    qtbot: QtBot, orb: OrbWindow, still: Look
) -> None:
    silent = rim_and_body(orb)
    seen = set()
    for tone in still.theme.tones:
        orb.utter(tone, "word")
        rim, body = rim_and_body(orb)
        assert (rim, body) == (QColor(*still.theme.tone(tone)), silent[1])
        seen.add(rim.name())
    assert len(seen) == len(still.theme.tones)
    qtbot.waitUntil(lambda: rim_and_body(orb) == silent, timeout=5000)


def test_with_reduced_motion_the_rim_does_not_pulse(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    settled(qtbot, still)
    paints = Paints()
    orb.installEventFilter(paints)
    silent, widths, tone = rim_and_body(orb), set(), QColor(*still.theme.tone("calm"))
    before = paints.count
    orb.utter("calm", "three words here")

    def is_silent() -> bool:
        widths.add(rim_width(orb, tone))
        return rim_and_body(orb) == silent

    qtbot.waitUntil(is_silent, timeout=5000)
    assert len(widths - {0}) == 1
    assert not still.ticker.is_running
    assert paints.count > before


@pytest.mark.long
def test_the_rim_pulses_once_a_word_and_then_nothing_moves(qtbot: QtBot, look: Look) -> None:
    orb = OrbWindow(look.theme, look.around, look.ticker)
    qtbot.addWidget(orb)
    orb.show()
    settled(qtbot, look)
    tone, widths = QColor(*look.theme.tone("serious")), [0]
    orb.utter("serious", " ".join(["unforgettable" * 2] * 3))

    def is_over() -> bool:
        widths.append(rim_width(orb, tone))
        return widths[-1] == 0 and len(set(widths)) > 2

    qtbot.waitUntil(is_over, timeout=10_000)
    narrow = min(set(widths) - {0})
    pulses = sum(one <= narrow < other for one, other in pairwise(widths))
    assert 2 <= pulses <= 3, widths  # a busy machine may miss one of three
    settled(qtbot, look)
    unpainted(qtbot, orb, 300)


@pytest.mark.parametrize("is_open", [True, False], ids=["in the bubble", "beside the orb"])
def test_what_wisp_says_colours_the_rim(qtbot: QtBot, presence: Presence, *, is_open: bool) -> None:
    silent = rim_and_body(presence.orb)[0]
    presence.inbox.receive(agent_events.TurnStarted("t1", "Save it"))
    if is_open:
        presence.open()
    qtbot.waitUntil(lambda: is_open or presence.stage.caption.isVisible())
    presence.inbox.receive(agent_events.SayDelta("s1", "excited", "It is saved."))
    tone = QColor(*presence.theme.tone("excited"))
    qtbot.waitUntil(lambda: rim_and_body(presence.orb)[0] == tone)
    presence.inbox.receive(agent_events.TurnEnded("t1", agent_events.Outcome.FINISHED, "It is saved."))
    qtbot.waitUntil(lambda: rim_and_body(presence.orb)[0] == silent, timeout=5000)


def test_every_state_looks_different(qtbot: QtBot, orb: OrbWindow, still: Look) -> None:
    seen = {}
    for state in Orb:
        orb.show_state(state)
        settled(qtbot, still)
        seen[state] = bytes(orb.grab().toImage().constBits())
    assert len(set(seen.values())) == len(Orb)


def small(state: Orb, look: Theme, side: int = 24) -> list[QColor]:
    """The pixels of a small orb in this state, as in a tray or a header."""
    image = QImage(side, side, QImage.Format.Format_RGB32)
    image.fill(QColor(*look.color("paper")))
    painter = QPainter(image)
    paint(painter, QPointF(side / 2, side / 2), side, OrbFrame(state, share=0.7), look, shadow=False)
    painter.end()
    return [image.pixelColor(x, y) for x in range(side) for y in range(side)]


def apart(one: QColor, other: QColor) -> int:
    """How far apart two colours are, 0 to 255, in the channel that differs most."""
    channels = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)  # type: ignore[index]
    return max(abs(a - b) for a, b in channels)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["", *THEMES])
def test_all_states_are_told_apart_at_24_pixels(qapp: QApplication, kind: str, scheme: str) -> None:
    look = load(scheme, kind=kind)
    pictures = {state: small(state, look) for state in Orb}
    for one, other in combinations(Orb, 2):
        differing = sum(apart(a, b) > 40 for a, b in zip(pictures[one], pictures[other], strict=True))
        assert differing > 0.15 * 24 * 24, (one, other, differing)


@pytest.mark.parametrize(("kind", "is_solid"), [("", False), ("neo-brutalist", True)])
def test_the_theme_gives_the_orb_its_body_which_alone_takes_clicks(
    qtbot: QtBot, still: Look, kind: str, *, is_solid: bool
) -> None:
    orb = OrbWindow(load("light", kind=kind), still.around, still.ticker)
    qtbot.addWidget(orb)
    assert orb.body_path().contains(orb.body().topLeft() + QPointF(1, 1)) is is_solid
    assert (small(Orb.IDLE, orb.theme)[0] != QColor(*orb.theme.color("paper"))) is is_solid


@pytest.mark.parametrize("state", [Orb.NEEDS_YOU, Orb.ERROR])
def test_neither_a_question_nor_a_failure_is_red(orb: OrbWindow, state: Orb) -> None:
    orb.show_state(state)
    image = orb.grab().toImage()
    red = QColor(*orb.theme.color("bad"))
    places = ((x, y) for x in range(image.width()) for y in range(image.height()))
    assert min(apart(image.pixelColor(x, y), red) for x, y in places) > 20


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
