"""The surface beside the orb, wherever the orb is and however large the screen: 200 places from a fixed seed."""

from __future__ import annotations

import asyncio
import random

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.base.geometry import Rect, Size
from app.settings.store import Settings
from app.ui.machine import NoMachine
from app.ui.orb.window import OrbWindow
from app.ui.preferences.window import SettingsWindow
from app.ui.presence import Presence
from app.ui.theme.theme import Theme
from app.ui.welcome import WelcomeWindow
from app.ui.windows.orb_placement import OrbPlacement, first_place, snapped
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.conftest import without_a_compositor
from tests.ui.fake_agent import FakeAgent

pytestmark = without_a_compositor

_PLACES = 200
_SEED = 20_261_125
_LOOKED_AT = 6
_STANDS = 25
_DESKTOP = 0x3A4250
"""The colour of the private desktop where no window is: red, green and blue."""


class PartOfTheScreen(OrbPlacement):
    """A monitor of another size, in the corner of the real one."""

    def __init__(self, orb: OrbWindow, theme: Theme, free: Rect) -> None:
        super().__init__(orb, theme)
        self._free = free

    def screen(self) -> Rect:
        return self._free


def _placed(presence: Presence, chance: random.Random) -> Rect:
    """Put the orb somewhere on a screen of some size, as a person may leave it. Returns the screen."""
    whole, theme = QGuiApplication.primaryScreen().availableGeometry(), presence.theme
    free = Rect(0, 0, chance.randint(640, whole.width()), chance.randint(480, whole.height()))
    side = theme.size("orb")
    wanted = Rect(chance.randint(0, free.width - side), chance.randint(0, free.height - side), side, side)
    presence.stage.placement = PartOfTheScreen(presence.orb, theme, free)
    presence.orb.put(snapped(wanted, free, theme.size("screen_gap"), theme.size("snap")))
    presence.stage.place()
    return free


def _small_screen(presence: Presence, free: Rect) -> None:
    """Let the presence take a part of the screen for the whole, with the orb where it first stands."""
    theme = presence.theme
    side = theme.size("orb")
    presence.stage.placement = PartOfTheScreen(presence.orb, theme, free)
    presence.orb.put(first_place(free, Size(side, side), theme.size("screen_gap")))
    presence.stage.place()


def _frame(window: QWidget) -> Rect:
    """Where the window is with the window manager's frame."""
    frame = window.frameGeometry()
    return Rect(frame.x(), frame.y(), frame.width(), frame.height())


@pytest.mark.parametrize("kind", [SettingsWindow, WelcomeWindow])
@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1024, 768)])
def test_another_window_of_wisp_opens_where_neither_orb_nor_bubble_covers_it(
    presence: Presence, agent: FakeAgent, drive: Drive, kind: type[QWidget], width: int, height: int
) -> None:
    free = Rect(0, 0, width, height)

    async def person() -> None:
        _small_screen(presence, free)
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        presence.open()
        await until(presence.bubble.isVisible)
        window = SettingsWindow(presence.theme, Settings({}, {})) if kind is SettingsWindow else None
        window = window or WelcomeWindow(presence.theme, NoMachine())
        presence.stage.show_beside(window)
        await until(lambda: window.isActiveWindow() and _frame(window) != Rect(*window.geometry().getRect()))
        frame, bubble = _frame(window), presence.bubble
        assert frame.overlap(presence.orb.rest_rect()) is None
        assert frame.x >= 0 and frame.right <= free.right
        # Where there is no room beside it, the bubble gives way.
        assert presence.is_open is (width == 1366)
        assert not presence.is_open or frame.overlap(bubble.body_rect()) is None, (frame, bubble.body_rect())
        moved = window.pos() - QPoint(window.x(), 0)
        window.move(moved)
        await until(lambda: window.pos() == moved)
        presence.stage.show_beside(window)
        assert window.pos() == moved
        window.close()
        window.deleteLater()

    drive(person())


def _bar(presence: Presence) -> tuple[int, int]:
    corner = presence.bubble.header.mapToGlobal(QPoint(0, 0))
    return corner.x(), corner.y()


@pytest.mark.long
def test_at_two_hundred_places_it_is_on_the_screen_beside_the_orb_and_its_bar_stays_while_pages_change(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    chance = random.Random(_SEED)

    async def person() -> None:
        agent.tell(*samples.finished())
        await until(lambda: presence.inbox.view.items)
        presence.open()
        await until(presence.bubble.isVisible)
        for number in range(_PLACES):
            free, bars = _placed(presence, chance), set()
            for page in ("usage", "usage") if number % 2 else ("history", "usage"):
                presence.open_page(page)
                body, orb = presence.bubble.body_rect(), presence.orb.rest_rect()
                inside = (
                    free.x <= body.x and free.y <= body.y and body.right <= free.right and body.bottom <= free.bottom
                )
                assert (inside, body.overlap(orb)) == (True, None), (number, free, body, orb)
                bars.add(_bar(presence))
            assert len(bars) == 1, (number, free, bars)
            await asyncio.sleep(0)

    drive(person())


def _is_shown(presence: Presence) -> bool:
    """Whether the display shows the surface, which may be later than Qt says so."""
    server = presence.around.server
    assert server is not None
    return server.shown_at(presence.stage.surface_id()) is not None


def _holes(presence: Presence) -> int:
    """How many pixels between the composer and what is beside it show the desktop."""
    server, body, bar = presence.around.server, presence.bubble.body_rect(), presence.composer.body_rect()
    assert server is not None
    edge = bar.y if bar.y > body.y + body.height // 2 else bar.bottom
    strip = Rect(
        body.x + body.width // 2, max(edge - 10, body.y + 4), 24, min(20, body.bottom - 4 - max(edge - 10, body.y + 4))
    )
    pixels = server.pixels(strip)
    found = (int.from_bytes(pixels[at : at + 3], "little") for at in range(0, len(pixels), 4))
    return sum(one == _DESKTOP for one in found)


@pytest.mark.long
def test_no_frame_shows_a_hole_between_the_composer_and_the_thread_while_it_grows_and_pages_change(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    chance = random.Random(_SEED)

    async def frames(count: int) -> None:
        for _ in range(count):
            assert _holes(presence) == 0
            await asyncio.sleep(0.008)

    async def rest() -> None:
        """Until it has stood there for a while: window managers show it later, and compositors fade it in."""
        whole = 0
        while whole < _STANDS:
            whole = whole + 1 if presence.bubble.isVisible() and _holes(presence) == 0 else 0
            await asyncio.sleep(0.008)

    async def person() -> None:
        for _ in range(_LOOKED_AT):
            presence.inbox.change(lambda _: type(presence.inbox.view)())
            _placed(presence, chance)
            presence.open()
            await rest()
            agent.tell(*samples.cards())
            await frames(12)
            for page in ("usage", "usage"):
                presence.open_page(page)
                await frames(6)
            presence.close()
            await until(lambda: not _is_shown(presence))

    drive(person())
