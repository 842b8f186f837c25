"""The presence as assistive technology finds it, and by keyboard alone: what can be focused or pressed says what it is,
Tab or the arrow keys come to it and round again, and Return and the space bar press it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QRadioButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.settings.store import Settings
from app.ui.buttons import BarChoice, PushButton
from app.ui.cards.card import CardRow
from app.ui.machine import CollectionEntry, MachineFinding, ModelServer, NoMachine
from app.ui.pages.pages import SearchedPage
from app.ui.preferences.sections import FindingsList
from app.ui.preferences.window import SettingsWindow
from app.ui.presence import Presence
from app.ui.presenter import offers
from app.ui.theme.appearance import Look
from app.ui.welcome import WelcomeWindow
from tests.support.gallery import samples
from tests.support.gallery.board import pages, past
from tests.support.observer import Seen, observe
from tests.support.pages import list_pages
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent, MemoryArchive

_ROLELESS = frozenset({"filler", "panel", "unknown", "invalid", "client widget", "frame", "drawing area"})
_PRESSED = frozenset({"push button", "toggle button", "check box", "radio button", "combo box", "list item", "image"})
# A bar is moved by what is focused in the area beside it, and a label's words are its content.
_PASSIVE = frozenset({"scroll bar", "label"})
_OF_CODE = re.compile(r"Q[A-Z]\w+|[a-z]+[._]\w+")
_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
_LONGEST_ROUND = 120
_SCENES: dict[str, Callable[[], samples.Events]] = {
    "cards": samples.cards,
    "finished": samples.finished,
    "approval": samples.approval,
    "question": samples.question,
    "trouble": samples.trouble,
    "web": samples.web,
    "changed": samples.changed,
    "checklist": samples.checklist,
}
_COLLECTIONS = ("planned", "memory", "servers", "apps", "extras")
_PAGES = ("history", "deleting", "news", "usage", *_COLLECTIONS)


class Kept:
    """A collection of two entries."""

    async def entries(self, _search: str) -> Sequence[CollectionEntry]:
        return [CollectionEntry(name, name, ("every day",), (name,), ("run",)) for name in ("Water the plants", "Post")]

    async def act(self, action: str, _key: str, _words: str = "", /) -> str:
        return action


class Machine(NoMachine):
    """A machine on which something is to mend, and with two models."""

    async def findings(self) -> Sequence[MachineFinding]:
        key = MachineFinding("Model", "fail", "There is no key.", "Enter a key.", "key.anthropic")
        return key, MachineFinding("Sound", "note", "No player.", "sudo apt install pulseaudio-utils")

    async def servers(self) -> Sequence[ModelServer]:
        return [ModelServer("Ollama", "http://localhost", ("small", "large"))]


@pytest.fixture
def presence(still: Look) -> Iterator[Presence]:
    made = Presence(still, collections=dict.fromkeys(_COLLECTIONS, Kept()), pages=list_pages())
    made.show()
    yield made
    made.close()
    made.orb.close()


async def seen_in(window: str) -> list[Seen]:
    """What shows in a window of ours and can have the keyboard or be pressed, as another program sees it.

    Text that is only read is left out: a click lets it be copied, and its words are its content.
    """
    # Nothing below what is hidden: Qt says that the lines of a list that is hidden show.
    seen = await asyncio.to_thread(observe, QApplication.applicationName(), window=window)
    usable = [
        node
        for node in seen
        if node.depth > 1
        and node.showing
        and "sensitive" in node.states
        and ("focusable" in node.states or node.actions)
        and node.role not in _PASSIVE
    ]
    return [node for node in usable if node.text is None or not node.text.strip() or "editable" in node.states]


def unsaid(nodes: list[Seen]) -> list[Seen]:
    """What has no name for people, no role that fits, or is the twin of something else."""
    classes = {type(widget).__name__ for widget in QApplication.allWidgets()}

    def is_said(node: Seen) -> bool:
        # The name of a combo box is its choice: what it chooses is said by its label.
        names = node.labels if node.role == "combo box" else (node.name,)
        fits = node.role in _PRESSED if "Press" in node.actions or "Toggle" in node.actions else True
        return any(name.strip() for name in names) and fits and node.role not in _ROLELESS

    twins = Counter((node.role, node.name, node.description) for node in nodes if node.role == "push button")
    return [
        node
        for node in nodes
        if not is_said(node)
        or node.name in classes
        or _OF_CODE.fullmatch(node.name)
        or twins[node.role, node.name, node.description] > 1
    ]


@dataclass(frozen=True)
class Round:
    """What Tab comes to: the widgets in their order, whether it comes to the first again, and all names, with those
    that the arrow keys come to within lists and groups of choices. `deaf`: a key that did not press a button."""

    stops: list[QWidget]
    comes_round: bool
    names: set[str]
    deaf: list[str]


def walked(window: QWidget, *, back: bool = False) -> Round:
    stops: list[QWidget] = []
    names: set[str] = set()
    deaf: list[str] = []
    shift = Qt.KeyboardModifier.ShiftModifier if back else Qt.KeyboardModifier.NoModifier
    now = window.focusWidget()
    while now is not None and now not in stops and len(stops) < _LONGEST_ROUND:
        stops.append(now)
        names.add(name_of(now))
        if isinstance(now, QListWidget):
            names |= {now.item(row).text() for row in range(now.count())}
        if isinstance(now, QComboBox):
            names |= {now.itemText(row) for row in range(now.count())}
        if isinstance(now, QRadioButton) and now.parentWidget() is not None:
            names |= {name_of(other) for other in now.parentWidget().findChildren(QRadioButton)}
        deaf += [f"{name_of(now)}: {key.name}" for key in _KEYS if not is_pressed_by(key, now)]
        QTest.keyClick(now, Qt.Key.Key_Tab, shift)
        now = window.focusWidget()
    return Round(stops, bool(stops) and now is stops[0], names, deaf)


def name_of(widget: QWidget) -> str:
    face = QAccessible.queryAccessibleInterface(widget)
    return face.text(QAccessible.Text.Name) if face is not None else ""


def is_pressed_by(key: Qt.Key, stop: QWidget) -> bool:
    """Whether the key presses what has the keyboard, if that is a button. It does not do what it is for meanwhile."""
    if isinstance(stop, CardRow):
        before = stop.expanded
        QTest.keyClick(stop, key)
        has_changed = stop.expanded is not before or before is None  # None: there is nothing to open
        QTest.keyClick(stop, key)
        return has_changed
    if not isinstance(stop, QAbstractButton):
        return True
    heard: list[bool] = []
    was_on = stop.isChecked()

    def hear() -> None:
        heard.append(stop.blockSignals(True))  # so that what follows, the click itself, has no effect

    stop.pressed.connect(hear)
    QTest.keyPress(stop, key)
    stop.setDown(False)
    stop.setChecked(was_on)
    stop.blockSignals(False)
    stop.pressed.disconnect(hear)
    return bool(heard)


async def hold(window: QWidget) -> None:
    """All that a person who sees nothing, or has no mouse, needs in this window."""
    nodes = await seen_in(name_of(window))
    assert nodes
    assert unsaid(nodes) == []
    there = walked(window)
    assert there.comes_round
    assert there.deaf == []
    assert [(node.role, node.name) for node in nodes if node.name not in there.names] == []
    back = walked(window, back=True)
    assert back.stops == [there.stops[0], *reversed(there.stops[1:])]


@pytest.mark.parametrize("scene", ["", *_SCENES, *_PAGES, "rewrite"])
def test_all_that_shows_in_the_bubble_can_be_reached_named_and_pressed(
    presence: Presence, agent: FakeAgent, drive: Drive, scene: str
) -> None:
    agent.archive = MemoryArchive({one: [] for one in past()})

    async def person() -> None:
        if scene in _PAGES:
            presence.inbox.change(lambda view: offers.kept(view, "warning", "The service is busy.", 0.0))
            presence.open_page("history" if scene == "deleting" else scene)
        elif scene == "rewrite":
            presence.stage.show_page(pages(presence.theme)[scene], presence.inbox.view)
        elif scene in _SCENES:
            agent.tell(*_SCENES[scene]())
            await until(lambda: presence.inbox.view.items)
        presence.stage.show_choices((BarChoice("model.provider", "Who answers", "a", (("a", "One"), ("b", "Other"))),))
        presence.open()
        field, page = presence.composer.field, presence.bubble.page
        await until(lambda: presence.bubble.isVisible() and field.hasFocus())
        await until(lambda: not scene or page or presence.bubble.thread_view.realised)
        if isinstance(page, SearchedPage):
            await until(page.list.count)
            if scene == "deleting":
                page.ask_to_delete(page.list.current_key())
        await hold(presence.bubble)

    drive(person())


def test_every_page_of_the_settings_can_be_walked(still: Look, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        window = SettingsWindow(still.theme, Settings({}, {}), Machine())
        window.show()
        try:
            for row in range(window.index.count()):
                window.index.setCurrentRow(row)
                window.index.setFocus()
                await until(lambda: all(not each.isVisible() or each.again.isEnabled() for each in findings(window)))
                await hold(window)
        finally:
            window.close()

    drive(person())


def findings(window: QWidget) -> list[FindingsList]:
    return window.findChildren(FindingsList)


def test_the_window_that_asks_who_answers_can_be_walked(still: Look, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        window = WelcomeWindow(still.theme, Machine())
        window.show()
        window.begin()
        await until(lambda: window.answerer.again.isEnabled() and window.findings.again.isEnabled())
        window.later.setFocus()
        await hold(window)
        window.close()

    drive(person())


def test_what_stands_on_the_screen_without_the_keyboard_can_be_pressed(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    async def person() -> None:
        agent.tell(*samples.at_work())
        await until(presence.stage.caption.isVisible)
        seen = await asyncio.to_thread(observe, QApplication.applicationName(), deepest=1)
        pressed = {node.name: node.role for node in seen if node.showing and "Press" in node.actions}
        words = presence.stage.caption.accessibleName()
        assert (pressed.get("Wisp"), pressed.get(words)) == ("push button", "push button")

    drive(person())


@pytest.mark.parametrize(
    ("key", "with_keys", "presses"),
    [
        (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, 1),
        (Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier, 1),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier, 0),
    ],
)
def test_return_presses_the_button_that_it_comes_to_and_none_that_gets_the_keyboard_by_it(
    qtbot: QtBot, key: Qt.Key, with_keys: Qt.KeyboardModifier, presses: int
) -> None:
    window, field, button, pressed = QWidget(), QLineEdit(), PushButton("Close"), list[bool]()
    row = QHBoxLayout(window)
    row.addWidget(field)
    row.addWidget(button)
    field.returnPressed.connect(lambda: field.setDisabled(True))
    button.clicked.connect(lambda: pressed.append(True))
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert (button.hasFocus(), pressed) == (True, [])
    QTest.keyClick(button, key, with_keys)
    assert len(pressed) == presses


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
def test_tab_goes_along_each_line_as_it_is_read(
    presence: Presence, agent: FakeAgent, drive: Drive, direction: Qt.LayoutDirection
) -> None:
    QApplication.setLayoutDirection(direction)

    async def person() -> None:
        agent.tell(*samples.approval())
        await until(lambda: presence.inbox.view.items)
        presence.open()
        await until(lambda: presence.bubble.isVisible() and presence.composer.field.hasFocus())
        places = [stop.mapToGlobal(stop.rect().topLeft()) for stop in walked(presence.bubble).stops]
        lines = [(one.x(), other.x()) for one, other in pairwise(places) if one.y() == other.y()]
        assert lines
        assert all((left < right) is (direction is Qt.LayoutDirection.LeftToRight) for left, right in lines)

    try:
        drive(person())
    finally:
        QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
