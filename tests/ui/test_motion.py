"""The surface frame by frame: it grows out of the orb, no frame is empty, and its bar and its field never move."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.base.geometry import Rect
from app.features.apps.library import AppLibrary
from app.settings.store import Settings
from app.ui import application
from app.ui.buttons import BarChoice
from app.ui.composer.home import HomeView
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from tests.support.gallery import samples
from tests.support.pages import collection, list_pages
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.conftest import without_a_compositor
from tests.ui.fake_agent import FakeAgent

pytestmark = without_a_compositor


_PAGES = ("history", "news", "usage", "apps", "planned", "memory", "servers")


@pytest.fixture
def presence(qapp: QApplication, tmp_path: Path, own_data_folder: Path) -> Iterator[Presence]:
    """One that moves, with all of its pages."""
    look = application.look_of(qapp, Settings({"presence.scheme": "light"}, {}))
    kept = {name: collection(name, tmp_path) for name in ("planned", "memory", "servers")}
    made = Presence(look, collections={**kept, "apps": AppLibrary()}, pages=list_pages())
    made.show()
    yield made
    made.close()
    made.orb.close()
    look.around.close()


def _on_screen(part: QWidget) -> Rect:
    corner = part.mapToGlobal(QPoint(0, 0))
    return Rect(corner.x(), corner.y(), part.width(), part.height())


_LOOKS_AT_REST = 30


class Frames:
    """What the screen shows of the bar and of the field's row, and where Qt says that they are."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence
        self._server = presence.around.server
        self._close = _on_screen(presence.bubble.header.close_button)
        self.bars: set[bytes] = set()
        self.places: set[tuple[int, int]] = set()
        self.heights: list[int] = []

    def take(self) -> None:
        assert self._server is not None
        pixels = bytearray(self._server.pixels(self._close))
        del pixels[3::4]  # because the fourth byte of a pixel may be anything
        self.bars.add(bytes(pixels))
        bar = _on_screen(self._presence.bubble.header)
        self.places.add((bar.x, bar.y))
        self.heights.append(self._presence.bubble.body_rect().height)
        assert self._presence.bubble.body_rect().overlap(self._presence.orb.rest_rect()) is None

    async def during(self, seconds: float) -> None:
        limit = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < limit:
            self.take()
            await asyncio.sleep(0.008)


async def _at_rest(presence: Presence) -> Frames:
    """Frames from where the bar has not changed for a while: a compositor may still fade it in."""
    for _ in range(20):
        frames = Frames(presence)
        await frames.during(0.4)
        if len(frames.bars) == 1:
            return Frames(presence)
    raise AssertionError("the bar never came to rest")


async def _grown(presence: Presence) -> None:
    """Until the surface has had one size for many turns of the event loop: those get slow with the machine."""
    looks, before = 0, None
    while looks < _LOOKS_AT_REST:
        await asyncio.sleep(0.01)
        now = presence.bubble.body_rect() if presence.bubble.isVisible() else None
        looks, before = (looks + 1 if now is not None and now == before else 0), now


@pytest.mark.long
def test_from_the_first_words_to_an_answer_and_a_page_no_frame_is_empty_and_the_bar_never_moves(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.open()
        await until(lambda: presence.composer.field.hasFocus() and presence.bubble.isActiveWindow())
        presence.bubble.composer.field.setPlainText("go")
        frames = await _at_rest(presence)
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Return)
        await frames.during(0.5)
        agent.tell(*samples.cards())
        await frames.during(0.6)
        heights = frames.heights[:]
        for page in ("usage", "usage"):
            presence.open_page(page)
            await frames.during(0.4)
        assert len(frames.places) == 1
        assert heights[-1] > heights[0]
        assert len(frames.bars) == 1
        if presence.around.composited:
            assert len(set(heights)) > 4  # on the way there are heights between the first and the last

    drive(person())


class PaintedFrames(QObject):
    """Notes at every painting of the surface where its body, its bar and its field are on the screen."""

    def __init__(self, presence: Presence) -> None:
        super().__init__()
        self._presence = presence
        self.bodies: list[Rect] = []
        self.bars: set[tuple[int, int]] = set()
        self.fields: set[tuple[int, int]] = set()
        self.is_solid = True
        presence.bubble.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint:
            self._note()
        return False

    def _note(self) -> None:
        """Where the display has the window counts, because Qt learns it late."""
        bubble, server = self._presence.bubble, self._presence.around.server
        assert server is not None
        if (window := server.shown_at(int(bubble.winId()))) is None:
            return
        for part, places in ((bubble.header, self.bars), (bubble.composer.field, self.fields)):
            corner = part.mapTo(bubble, QPoint(0, 0))
            places.add((window.x + corner.x(), window.y + corner.y()))
        body = bubble.body().toAlignedRect()
        self.bodies.append(Rect(window.x + body.x(), window.y + body.y(), body.width(), body.height()))
        self.is_solid = self.is_solid and bubble.windowOpacity() == 1.0

    def forget(self) -> None:
        self.bodies, self.bars, self.fields = [], set(), set()


_LARGEST_STEP = 0.5
"""The largest part of its way that an edge may go in one frame: however slow the machine is, no frame covers more than
24 ms, and of 120 ms that slow down these are 49 % of the way."""


def _is_within(inner: Rect, outer: Rect) -> bool:
    """Whether one is inside the other, but for a pixel of rounding."""
    shared = inner.overlap(outer)
    return shared is not None and inner.width - shared.width <= 1 and inner.height - shared.height <= 1


def _is_steady(bodies: list[Rect], whole: Rect) -> bool:
    """Whether each is within the next one, and no edge jumps."""
    way = whole.height - bodies[0].height
    return all(
        _is_within(one, other) and other.height - one.height <= way * _LARGEST_STEP + 1
        for one, other in pairwise(bodies)
    )


@pytest.mark.long
def test_it_grows_out_of_the_orb_and_shrinks_back_into_it_without_a_jump(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        orb, painted = presence.orb.rest_rect(), PaintedFrames(presence)
        for writes in (False, True, False):
            painted.forget()
            presence.open() if writes else presence.unfold()
            await _grown(presence)
            whole, opening = presence.bubble.body_rect(), painted.bodies
            assert opening[-1] == whole
            bars, fields = painted.bars, painted.fields
            painted.forget()
            presence.close()
            await until(lambda: not presence.bubble.isVisible())
            closing = painted.bodies[::-1]
            assert presence.orb.rest_rect() == orb
            assert painted.is_solid
            if not presence.around.composited:
                assert set(opening) == {whole}  # because no frame in between would be whole there
                continue
            assert len(set(opening)) > 4 and _is_steady(opening, whole), opening
            assert len(set(closing)) > 2 and _is_steady(closing, whole), closing
            assert (len(bars | painted.bars), len(fields | painted.fields)) == (1, 1)
            for seed in (opening[0], closing[0]):  # a busy machine may miss the frame beside the orb
                step = _LARGEST_STEP * (whole.height - orb.height)
                assert max(seed.width, seed.height) <= orb.width * 2 + step
                assert abs(seed.center.y - orb.center.y) <= orb.height + step

    drive(person())


@pytest.mark.long
def test_pages_swap_inside_a_frame_of_one_size_and_bar_and_field_keep_their_place(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.open()
        await _grown(presence)
        painted, bodies = PaintedFrames(presence), set()
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        await _grown(presence)
        for page in _PAGES:
            presence.open_page(page)
            assert presence.bubble.page is not None
            await _grown(presence)
            bodies.add(presence.bubble.body_rect())
        presence.open_page(_PAGES[-1])
        await _grown(presence)
        assert presence.bubble.page is None
        assert len(bodies) == 1
        assert painted.bodies
        assert (len(painted.bars), len(painted.fields)) == (1, 1)

    drive(person())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_pixel_of_what_is_behind_shows_through_the_ground(
    qapp: QApplication, presence: Presence, agent: FakeAgent, drive: Drive, scheme: str
) -> None:
    loud = QWidget()
    loud.setWindowFlag(Qt.WindowType.BypassWindowManagerHint)
    loud.setGeometry(qapp.primaryScreen().geometry())

    def inside() -> bytes:
        """The screen inside the body, without the hairline and the corners that a window cannot smooth."""
        body, edge = presence.bubble.body_rect(), presence.theme.size("radius")
        server = presence.around.server
        assert server is not None
        pixels = bytearray(server.pixels(Rect(body.x + edge, body.y + 2, body.width - 2 * edge, body.height - 4)))
        del pixels[3::4]  # because the fourth byte of a pixel may be anything
        return bytes(pixels)

    async def behind(color: str) -> bytes:
        """What the ground shows while the whole screen behind has that colour."""
        loud.setStyleSheet(f"background: {color}")
        corner = Rect(0, 0, 1, 1)
        server, expected = presence.around.server, bytes(reversed(bytes.fromhex(color[1:])))
        assert server is not None
        await until(lambda: server.pixels(corner)[:3] == expected)
        for _ in range(_LOOKS_AT_REST):
            before = inside()
            await asyncio.sleep(0.05)
            if inside() == before:
                return before
        raise AssertionError("the surface never came to rest")

    async def person() -> None:
        if scheme == "dark":
            presence.restyle(application.look_of(qapp, Settings({"presence.scheme": "dark"}, {}), presence.stage._look))
        loud.show()
        loud.lower()
        agent.tell(*samples.answer())
        await until(lambda: presence.inbox.view.items)
        presence.unfold()
        await _grown(presence)
        assert await behind("#ff00ff") == await behind("#00ff00")
        loud.close()

    drive(person())
    loud.deleteLater()


def test_closing_and_opening_again_in_the_middle_ends_open(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        presence.open()
        await _grown(presence)
        whole = presence.bubble.body_rect()
        presence.close()
        assert not presence.is_open
        await asyncio.sleep(0.04)
        presence.open()
        assert presence.is_open
        await until(lambda: presence.bubble.body_rect() == whole)
        presence.close()
        await until(lambda: not presence.bubble.isVisible())

    drive(person())


def test_the_field_that_is_clicked_is_the_field_that_is_typed_in(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        presence.unfold()
        await _grown(presence)
        assert not presence.bubble.isActiveWindow()
        before = presence.composer.body_rect()
        qtbot.mouseClick(presence.composer.field.viewport(), Qt.MouseButton.LeftButton)
        await until(lambda: presence.bubble.isActiveWindow() and presence.composer.field.hasFocus())
        qtbot.keyClicks(presence.composer.field, "hello")
        assert presence.composer.field.toPlainText() == "hello"
        assert presence.composer.body_rect() == before

    drive(person())


def test_the_empty_field_offers_what_fits_and_the_last_tasks_and_arrow_and_return_choose(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.stage.recent = ("Send Anna the letter",)
        presence.open()
        await until(presence.composer.field.hasFocus)
        home = presence.bubble.home
        assert [line.text() for line in home.lines][:1] == ["Send Anna the letter"]
        assert 3 <= len(home.lines) <= 6
        qtbot.keyClick(presence.composer.field, Qt.Key.Key_Up)
        await until(home.lines[-1].hasFocus)
        qtbot.keyClick(home.lines[-1], Qt.Key.Key_Up)
        await until(home.lines[-2].hasFocus)
        qtbot.keyClick(home.lines[-2], Qt.Key.Key_X)
        await until(lambda: presence.composer.field.hasFocus() and presence.composer.field.toPlainText() == "x")
        presence.composer.field.clear()
        chosen = home.lines[0]
        chosen.setFocus()
        qtbot.keyClick(chosen, Qt.Key.Key_Return)
        await until(lambda: agent.sent == ["Send Anna the letter"])
        assert agent.own == [""]  # because it was pressed, not typed
        assert not home.isVisible()

    drive(person())


@pytest.mark.parametrize("is_below", [False, True])
def test_a_task_is_offered_once_and_each_group_stands_below_its_heading(
    qtbot: QtBot, still: Look, *, is_below: bool
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    home = HomeView(still.theme, window)
    home.put_below(is_below=is_below)
    recent = ("which windows are  OPEN?", "Send Anna the letter", "Which windows are open?", "An older one")
    home.offer("some program", "Program", recent, has_model=False)
    groups = [line.suggestion.group for line in home.lines]
    texts = [line.text() for line in home.lines if line.suggestion.group == "Recent"]
    assert sorted(texts) == ["Send Anna the letter", "which windows are  OPEN?"]
    assert [text for text in (line.text().casefold() for line in home.lines) if "which windows" in text] == [
        "which windows are  open?"
    ]
    assert [group for group, _ in groupby(groups)] == (["Program", "Recent"] if is_below else ["Recent", "Program"])
    assert {line.suggestion.about for line in home.lines} == {""}


def test_where_the_list_stands_below_the_field_what_fits_best_is_on_top_and_up_leads_back(
    qtbot: QtBot, presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        presence.open()
        await until(presence.composer.field.hasFocus)
        home, field = presence.bubble.home, presence.composer.field
        above = [line.text() for line in home.lines]
        presence.close()
        await until(lambda: not presence.bubble.isVisible())
        presence.orb.put(Rect(900, 20, 56, 56))
        presence.open()
        await until(lambda: field.hasFocus() and home.y() > presence.composer.y())
        assert [line.text() for line in home.lines] == above[::-1]
        qtbot.keyClick(field, Qt.Key.Key_Down)
        await until(home.lines[0].hasFocus)
        qtbot.keyClick(home.lines[0], Qt.Key.Key_Down)
        await until(home.lines[1].hasFocus)
        for line in home.lines[1::-1]:
            qtbot.keyClick(line, Qt.Key.Key_Up)
        await until(field.hasFocus)

    drive(person())


def test_what_is_chosen_in_the_bar_is_passed_on(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    modes = BarChoice("trust.mode", "What runs", "ask", (("ask", "Asks first"), ("plan", "Only looks")))

    async def person() -> None:
        chosen: list[tuple[str, str]] = []
        presence.stage.setting_chosen.connect(lambda key, value: chosen.append((key, value)))
        presence.stage.show_choices((modes,))
        presence.open()
        (chip,) = presence.bubble.header.choices
        assert (chip.text(), chip.accessibleName()) == ("Asks first", "What runs: Asks first")
        menu = chip.menu()
        menu.actions()[1].trigger()
        assert chosen == [("trust.mode", "plan")]

    drive(person())
