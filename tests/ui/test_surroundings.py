"""What the desktop does to the presence: monitors that come and go, dark mode, large letters, little motion."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Self

import pytest
from dbus_fast import Message, MessageType, RequestNameReply, Variant
from dbus_fast.aio import MessageBus
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.base import paths
from app.base.geometry import Point, Rect
from app.settings import tokens
from app.settings.store import Settings
from app.ui import eventloop
from app.ui.presence import Look, Presence
from app.ui.presenter.view import NoticeItem
from app.ui.system import system as desktop_system
from app.ui.system.system import System, SystemPreferences
from app.ui.theme import appearance
from app.ui.windows import orb_placement
from tests.support.waiting import until, within

NO_KEY = {"presence.summon_key": ""}


def _xrandr(*words: str) -> None:
    subprocess.run(["xrandr", *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def two_monitors(qtbot: QtBot) -> Iterator[None]:
    """The screen's left half is a monitor of its own, and so is its right half."""
    _xrandr("--setmonitor", "left", "640/170x800/200+0+0", "screen")
    _xrandr("--setmonitor", "right", "640/170x800/200+640+0", "none")
    qtbot.waitUntil(lambda: len(QGuiApplication.screens()) == 2)
    yield
    for name in ("left", "right"):
        subprocess.run(["xrandr", "--delmonitor", name], check=False, capture_output=True, timeout=20)
    qtbot.waitUntil(lambda: [s.geometry().width() for s in QGuiApplication.screens()] == [1280])


@pytest.fixture
def open_presence(two_monitors: None, still: Look) -> Iterator[Presence]:
    """On the right monitor, with its bubble and its composer open."""
    made = Presence(still)
    made.show()
    made.stage.placement.settle(Rect(1100, 700, 56, 56))
    made.inbox.receive(agent_events.TurnStarted("t", "hello"))
    made.open()
    yield made
    made.close()
    made.orb.close()


def _rects(presence: Presence) -> list[Rect]:
    return [presence.orb.rest_rect(), presence.bubble.body_rect(), presence.composer.body_rect()]


def _inside(rect: Rect, screen: Rect) -> bool:
    return rect.overlap(screen) == rect


def test_a_monitor_unplugged_while_all_is_open_takes_nothing_with_it(qtbot: QtBot, open_presence: Presence) -> None:
    qtbot.waitUntil(lambda: open_presence.stage.is_open)
    _xrandr("--delmonitor", "right")
    left = Rect(0, 0, 640, 800)
    qtbot.waitUntil(lambda: all(_inside(rect, left) for rect in _rects(open_presence)))
    assert open_presence.is_open


def test_each_set_of_monitors_has_a_place_of_its_own(qtbot: QtBot, open_presence: Presence) -> None:
    on_two = open_presence.orb.rest_rect()
    _xrandr("--delmonitor", "right")
    qtbot.waitUntil(lambda: open_presence.orb.rest_rect().right <= 640)
    open_presence.stage.placement.settle(Rect(300, 0, 56, 56))
    on_one = open_presence.orb.rest_rect()
    _xrandr("--setmonitor", "right", "640/170x800/200+640+0", "none")
    qtbot.waitUntil(lambda: open_presence.orb.rest_rect() == on_two)
    _xrandr("--delmonitor", "right")
    qtbot.waitUntil(lambda: open_presence.orb.rest_rect() == on_one)
    assert orb_placement.remembered("640x800+0+0 640x800+640+0") == Point(on_two.x, on_two.y)


class Portal:
    """A settings portal on the private session bus, which says what a test has told it."""

    def __init__(self, *, answers: bool = True) -> None:
        self._answers = answers
        self._values: dict[tuple[str, str], Variant] = {}
        self._bus: MessageBus | None = None

    async def __aenter__(self) -> Self:
        self._bus = await MessageBus().connect()
        self._bus.add_message_handler(self._answer)
        assert await self._bus.request_name("org.freedesktop.portal.Desktop") is RequestNameReply.PRIMARY_OWNER
        return self

    def _answer(self, message: Message) -> Message | bool | None:
        if message.message_type is not MessageType.METHOD_CALL or message.member != "Read":
            return None
        if not self._answers:
            return True
        value = self._values.get((message.body[0], message.body[1]))
        if value is None:
            return Message.new_error(message, "org.freedesktop.portal.Error.NotFound", "no such setting")
        return Message.new_method_return(message, "v", [Variant("v", value)])

    async def tell(self, key: tuple[str, str], value: Variant) -> None:
        assert self._bus is not None
        self._values[key] = value
        name, path = "org.freedesktop.portal.Settings", "/org/freedesktop/portal/desktop"
        await self._bus.send(Message.new_signal(path, name, "SettingChanged", "ssv", [*key, value]))

    async def __aexit__(self, *_: object) -> None:
        assert self._bus is not None
        self._bus.disconnect()


ANIMATIONS = ("org.gnome.desktop.interface", "enable-animations")
SCHEME = ("org.freedesktop.appearance", "color-scheme")


@pytest.fixture
def followed(own_bus: None, qapp: QApplication, still: Look) -> Iterator[Presence]:
    presence, usual = Presence(still), qapp.font()
    presence.show()
    yield presence
    qapp.setFont(usual)
    presence.close()
    presence.orb.close()
    appearance.look_of(qapp, Settings({}, {}), still)


def test_the_systems_dark_mode_is_followed_while_it_runs(qapp: QApplication, still: Look, followed: Presence) -> None:
    async def story() -> int:
        async with Portal() as portal:
            await portal.tell(SCHEME, Variant("u", 1))
            with closing(System(qapp, followed, still, Settings(NO_KEY, {}))) as system:
                followed.open()
                await until(
                    lambda: followed.is_open and followed.orb.theme.scheme == followed.composer.theme.scheme == "dark"
                )
                await portal.tell(SCHEME, Variant("u", 2))
                await until(lambda: followed.theme.scheme == "light")
                system.apply(Settings({**NO_KEY, "presence.theme": "memphis", "presence.scheme": "dark"}, {}))
                assert (followed.theme.name, followed.theme.scheme) == ("memphis", "dark")
                assert tokens.shown_scheme() == "light", "it is the system's, for when none is chosen"
        return 0

    eventloop.run_until(qapp, within(story()))


def test_errors_of_the_persons_own_theme_file_are_told_once(
    qapp: QApplication, followed: Presence, still: Look
) -> None:
    (paths.config_dir() / "theme.toml").write_text('[colors]\naccent = "red"\nnothing = "#000000"\n')

    async def story() -> int:
        look = appearance.look_of(qapp, Settings({}, {}), still)
        with closing(System(qapp, followed, look, Settings(NO_KEY, {}))) as system:
            for theme in ("dark", "memphis"):
                system.apply(Settings({**NO_KEY, "presence.theme": theme}, {}))
        return 0

    eventloop.run_until(qapp, within(story()))
    told = [(item.level, item.sentence) for item in followed.inbox.view.items if isinstance(item, NoticeItem)]
    first = "theme.toml: colors.accent: 'red' is not a colour like #1A2B3C."
    assert told == [("info", f"{first} There are more mistakes in it: “wisp theme” in a terminal lists all.")]


def test_a_chosen_scheme_stays_whatever_the_system_does(qapp: QApplication) -> None:
    assert appearance.scheme_of(qapp, "light", dark=True) == "light"
    assert appearance.scheme_of(qapp, "system", dark=True) == "dark"


@pytest.mark.long
def test_larger_letters_of_the_system_make_all_of_it_larger(
    qapp: QApplication, still: Look, followed: Presence
) -> None:
    usual = qapp.font()

    async def story() -> int:
        with closing(System(qapp, followed, still, Settings(NO_KEY, {}))):
            before = followed.theme.size("orb")
            middle = followed.orb.rest_rect().center
            larger = qapp.font()
            larger.setPointSizeF(15.0)
            qapp.setFont(larger)
            await until(lambda: followed.theme.size("orb") > before and followed.orb.rest_rect().center == middle)
            qapp.setFont(usual)
            await until(lambda: followed.theme.size("orb") == before)
        return 0

    eventloop.run_until(qapp, within(story()))


def test_a_wish_for_little_motion_is_read_from_the_desktop_and_followed(own_bus: None, qapp: QApplication) -> None:
    told: list[bool] = []

    async def story() -> int:
        async with Portal() as portal:
            await portal.tell(ANIMATIONS, Variant("b", False))
            with closing(SystemPreferences(qapp)) as preferences:
                preferences.changed.connect(lambda: told.append(preferences.wanted.reduced))
                await preferences.follow()
                await until(lambda: told == [True])
                await portal.tell(ANIMATIONS, Variant("b", True))
                await until(lambda: told == [True, False])
        return 0

    eventloop.run_until(qapp, within(story()))


def test_a_portal_that_never_answers_is_not_waited_for(
    own_bus: None, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desktop_system, "_PORTAL_LIMIT_S", 0.2)

    async def story() -> int:
        async with Portal(answers=False):
            with closing(SystemPreferences(qapp)) as preferences:
                await preferences.follow()
                assert preferences.wanted == appearance.DesktopWishes()
        return 0

    eventloop.run_until(qapp, within(story(), 30.0))


def test_a_desktop_that_says_nothing_changes_nothing(qapp: QApplication) -> None:
    async def story() -> int:
        preferences = SystemPreferences(qapp)
        await preferences.follow()
        preferences.close()
        return int(preferences.wanted != appearance.DesktopWishes())

    assert eventloop.run_until(qapp, within(story())) == 0
