"""The surface frame by frame: it grows out of the orb, no frame is empty, and its bar and its field never move."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.base.geometry import Rect
from app.settings.store import Settings
from app.ui import application
from app.ui.buttons import BarChoice
from app.ui.gallery import samples
from app.ui.presence import Presence
from tests.support.waiting import until
from tests.ui.conftest import Drive, with_and_without_a_compositor
from tests.ui.fake_agent import FakeAgent

pytestmark = with_and_without_a_compositor


@pytest.fixture
def presence(qapp: QApplication) -> Iterator[Presence]:
    """One that moves."""
    look = application.look_of(qapp, Settings({"presence.theme": "light"}, {}))
    made = Presence(look)
    made.show()
    yield made
    made.close()
    made.orb.close()
    look.around.close()


def _on_screen(part: QWidget) -> Rect:
    corner = part.mapToGlobal(QPoint(0, 0))
    return Rect(corner.x(), corner.y(), part.width(), part.height())


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


def test_pages_swap_inside_a_frame_of_one_size(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        presence.open()
        bodies = set()
        for page in ("history", "news", "usage"):
            presence.open_page(page)
            await asyncio.sleep(0.35)
            bodies.add(presence.bubble.body_rect())
        assert len(bodies) == 1

    drive(person())


def test_closing_and_opening_again_in_the_middle_ends_open(presence: Presence, agent: FakeAgent, drive: Drive) -> None:
    async def person() -> None:
        presence.open()
        await asyncio.sleep(0.4)
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
        await asyncio.sleep(0.3)
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
