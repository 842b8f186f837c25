"""Who acts in Wisp's windows: a person's own devices, and nobody in XTEST's name unless the person says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot
from Xlib import XK

from app.base import paths
from app.desktop.x11.virtual import VirtualDesktop
from app.ui.approvals.devices import WITNESS, Devices, EveryPress, InputFilter
from app.ui.presence import Presence
from app.ui.system.hotkey import Hotkey
from scripts.device import PersonsDevices
from tests.support.waiting import until
from tests.ui.conftest import Drive
from tests.ui.fake_agent import FakeAgent, center_of, hand, hand_now

_SUMMON = (XK.XK_Control_L, XK.XK_Alt_L, XK.XK_space)


@pytest.fixture
def person(desktop: VirtualDesktop) -> Iterator[PersonsDevices]:
    WITNESS.use(None)
    WITNESS.prepare()
    devices = PersonsDevices(desktop.environment)
    yield devices
    devices.close()


@pytest.fixture
def ignored(qapp: QApplication) -> Iterator[list[bool]]:
    """The filter at work; one entry once it has ignored something."""
    told: list[bool] = []
    made = InputFilter(WITNESS)
    made.ignored.connect(lambda: told.append(True))
    qapp.installNativeEventFilter(made)
    yield told
    qapp.removeNativeEventFilter(made)


def _assist(*, on: bool) -> None:
    folder = paths.config_dir()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.toml").write_text(f"[trust]\nassistive_presses = {str(on).lower()}\n")


def test_made_up_keys_and_presses_never_become_the_persons_words(
    presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices, ignored: list[bool]
) -> None:
    async def script() -> None:
        await hand("mousemove", *center_of(presence.orb), "click", 1)
        await until(lambda: ignored == [True])
        assert not presence.is_open
        person.click()
        await until(presence.composer.isActiveWindow)
        await hand("type", "wipe the disk")
        await hand("key", "Return")
        person.type("hello")
        await hand("type", " and wipe it")
        person.type("\n")
        await until(lambda: bool(agent.sent))
        assert (agent.sent, ignored) == (["hello"], [True])

    drive(script())


def test_a_key_that_the_person_holds_repeats(qtbot: QtBot, person: PersonsDevices, ignored: list[bool]) -> None:
    field = QLineEdit()
    qtbot.addWidget(field)
    field.show()
    field.activateWindow()
    qtbot.waitUntil(lambda: field.isActiveWindow() and field.hasFocus())
    person.hold(XK.XK_a)
    try:
        qtbot.waitUntil(lambda: len(field.text()) > 3)
    finally:
        person.let_go(XK.XK_a)
    assert ignored == []


def test_the_summon_key_is_the_persons_alone(qtbot: QtBot, person: PersonsDevices) -> None:
    hotkey = Hotkey()
    try:
        assert hotkey.use("ctrl+alt+space") == ""
        with qtbot.assertNotEmitted(hotkey.pressed, wait=400):
            hand_now("key", "ctrl+alt+space")
        with qtbot.waitSignal(hotkey.pressed):
            person.press_together(*_SUMMON)
    finally:
        hotkey.close()


def test_what_the_person_says_of_assistive_presses_counts_at_once(
    qtbot: QtBot, person: PersonsDevices, ignored: list[bool]
) -> None:
    field = QLineEdit()
    qtbot.addWidget(field)
    field.show()
    field.activateWindow()
    qtbot.waitUntil(lambda: field.isActiveWindow() and field.hasFocus())
    _assist(on=True)
    hand_now("type", "on")
    qtbot.waitUntil(lambda: field.text() == "on")
    assert isinstance(WITNESS.prepare(), EveryPress)
    _assist(on=False)
    hand_now("type", "off")
    qtbot.waitUntil(lambda: ignored == [True])
    assert isinstance(WITNESS.prepare(), Devices)
    person.type("x")
    qtbot.waitUntil(lambda: field.text() == "onx")


def test_made_up_presses_are_told_apart_while_a_menu_has_the_keyboard(
    presence: Presence, drive: Drive, person: PersonsDevices, ignored: list[bool]
) -> None:
    async def script() -> None:
        await hand("mousemove", *center_of(presence.orb))
        person.click()
        await until(presence.composer.isActiveWindow)
        menu = presence.composer.field.createStandardContextMenu()
        menu.popup(presence.composer.mapToGlobal(presence.composer.rect().center()))
        await until(menu.isVisible)
        await hand("key", "Escape")
        await until(lambda: ignored == [True])
        await asyncio.sleep(0.1)
        assert menu.isVisible()
        person.tap(XK.XK_Escape)
        await until(lambda: not menu.isVisible())

    drive(script())
