"""Who acts in Wisp's windows: any device says what the person wishes while no task runs; answers need the person's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot
from Xlib import XK

from app.agent.agent_events import State, StateChanged
from app.base import paths
from app.desktop.x11.virtual import VirtualDesktop
from app.settings import store
from app.settings.catalog import ASSISTIVE_PRESSES, MODE
from app.ui import application
from app.ui.approvals.devices import WITNESS, Devices, EveryPress, InputFilter
from app.ui.approvals.row import ApprovalRow
from app.ui.bubble.rows import OfferRow
from app.ui.buttons import BarChoice
from app.ui.machine import NoMachine, Outside
from app.ui.presence import Presence
from app.ui.presenter.view import NoticeItem
from app.ui.system.hotkey import Hotkey
from scripts.device import PersonsDevices
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until, within
from tests.ui.fake_agent import FakeAgent, hand, hand_now, has_keys, point

_SUMMON = (XK.XK_Control_L, XK.XK_Alt_L, XK.XK_space)


@pytest.fixture
def person(desktop: VirtualDesktop) -> Iterator[PersonsDevices]:
    WITNESS.use(None)
    WITNESS.prepare()
    WITNESS.is_busy = False
    devices = PersonsDevices(desktop.environment)
    yield devices
    devices.close()
    WITNESS.is_busy = False


@pytest.fixture
def ignored(qapp: QApplication) -> Iterator[list[bool]]:
    """The filter at work; one entry once it has ignored something."""
    told: list[bool] = []
    made = InputFilter(WITNESS)
    made.ignored.connect(lambda: told or told.append(True))
    qapp.installNativeEventFilter(made)
    yield told
    qapp.removeNativeEventFilter(made)


def _rows(presence: Presence, kind: type[QWidget]) -> list[QWidget]:
    return [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, kind)]


def _assist(*, on: bool) -> None:
    folder = paths.config_dir()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.toml").write_text(f"[trust]\nassistive_presses = {str(on).lower()}\n")


def test_a_remote_desktop_opens_the_bubble_types_a_wish_and_sends_it_while_no_task_runs(
    presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices, ignored: list[bool]
) -> None:
    async def script() -> None:
        await point(presence.orb, "click", 1)
        await until(lambda: has_keys(presence.composer))
        await hand("type", "hello\n")  # xdotool writes a line break as Linefeed
        await until(lambda: agent.sent == ["hello"])
        presence.open()
        await until(lambda: has_keys(presence.composer))
        await hand("type", "again")
        await hand("key", "Return")
        await until(lambda: agent.sent == ["hello", "again"])
        assert (agent.own, ignored) == (["hello", "again"], [])

    drive(script())


def test_while_a_task_runs_only_the_persons_devices_count(
    presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices, ignored: list[bool]
) -> None:
    agent.holds = True

    async def script() -> None:
        await point(presence.orb)
        person.click()
        await until(lambda: has_keys(presence.composer))
        person.type("go\n")
        await until(lambda: presence.inbox.view.running)
        presence.open()
        await until(lambda: has_keys(presence.composer))
        await hand("type", "and wipe the disk")
        await hand("key", "Return")
        await until(lambda: ignored == [True])
        person.type("and be quick\n")
        await until(lambda: agent.sent == ["go", "and be quick"])
        agent.stop()

    drive(script())


def test_an_answer_by_a_program_is_no_answer_even_while_no_task_runs(
    presence: Presence, agent: FakeAgent, drive: Drive, person: PersonsDevices, ignored: list[bool]
) -> None:
    async def script() -> None:
        agent.tell(*samples.click_approval())
        await until(lambda: _rows(presence, ApprovalRow))
        (row,) = _rows(presence, ApprovalRow)
        assert isinstance(row, ApprovalRow)
        agent.tell(StateChanged(State.IDLE))  # as for what a small app asks
        await until(lambda: row.is_armed and not WITNESS.is_busy)
        for button in (row.allow, row.deny):
            await point(button, "click", 1)
            await until(lambda: ignored == [True])
            ignored.clear()
        assert agent.answers == []
        await point(row.allow)
        person.click()
        await until(lambda: agent.answers == [("a1", True)])

    drive(script())


def test_what_runs_without_asking_is_changed_by_the_persons_devices_alone(
    presence: Presence, drive: Drive, person: PersonsDevices, ignored: list[bool]
) -> None:
    modes = BarChoice(MODE.key, "When Wisp asks you", "ask", (("ask", "Asks first"), ("yolo", "Never asks")))

    async def script() -> None:
        presence.stage.show_choices((modes,))
        presence.open()
        await until(lambda: has_keys(presence.composer))
        (chip,) = presence.bubble.header.choices
        await point(chip, "click", 1)
        await until(lambda: ignored == [True])
        assert QApplication.activePopupWidget() is None

    drive(script())


def test_what_is_ignored_is_told_once_with_a_button_that_only_the_persons_devices_press(
    qapp: QApplication, person: PersonsDevices
) -> None:
    agent = FakeAgent()
    agent.holds = True
    shown: list[Presence] = []

    async def story() -> None:
        await until(lambda: shown)
        (presence,) = shown
        await point(presence.orb, "click", 1)
        await until(lambda: has_keys(presence.composer))
        await hand("type", "--delay", 1, "go\n")
        await until(lambda: WITNESS.is_busy)
        await hand("key", "ctrl+alt+space")
        await until(lambda: _rows(presence, OfferRow))
        await hand("key", "ctrl+alt+space")
        (row,) = _rows(presence, OfferRow)
        assert isinstance(row, OfferRow)
        (button,) = row.buttons
        agent.stop()
        await until(lambda: not WITNESS.is_busy)
        told = [item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem)]
        assert (len(told), str(paths.config_dir() / "settings.toml") in told[0]) == (1, True)
        await point(button, "click", 1)
        await point(presence.composer.field, "click", 1)
        await hand("type", "x")
        await until(lambda: presence.composer.field.toPlainText() == "x")
        assert not store.load()[ASSISTIVE_PRESSES]
        await point(button)
        person.click()
        await until(lambda: store.load()[ASSISTIVE_PRESSES])
        await until(lambda: isinstance(WITNESS.prepare(), EveryPress))

    outside = Outside(store.load, NoMachine())
    code = application.run(lambda _: agent, store.load(), outside, on_ready=shown.append, quit_when=within(story()))
    assert code == 0


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


def test_the_summon_key_is_any_devices_until_a_task_runs(qtbot: QtBot, person: PersonsDevices) -> None:
    hotkey = Hotkey()
    try:
        assert hotkey.use("ctrl+alt+space") == ""
        with qtbot.waitSignal(hotkey.pressed):
            hand_now("key", "ctrl+alt+space")
        WITNESS.is_busy = True
        with qtbot.waitSignal(hotkey.ignored), qtbot.assertNotEmitted(hotkey.pressed):
            hand_now("key", "ctrl+alt+space")
        with qtbot.waitSignal(hotkey.pressed):
            person.press_together(*_SUMMON)
    finally:
        hotkey.close()


def test_what_the_person_says_of_assistive_presses_counts_at_once(
    qtbot: QtBot, person: PersonsDevices, ignored: list[bool]
) -> None:
    field = QLineEdit()  # of which nothing is said, as in the settings' window
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
        presence.open()
        await until(lambda: has_keys(presence.composer))
        for ends_by in (lambda: hand("key", "Escape"), lambda: hand("mousemove", 5, 5, "click", 1)):
            menu = presence.composer.field.createStandardContextMenu()
            menu.popup(presence.composer.mapToGlobal(presence.composer.rect().center()))
            await until(menu.isVisible)
            await ends_by()
            await until(lambda menu=menu: not menu.isVisible())
        assert ignored == []
        WITNESS.is_busy = True
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
