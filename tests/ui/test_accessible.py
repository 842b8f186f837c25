"""The presence as assistive technology finds it, and by keyboard alone: what can be focused says what it is, and Tab
or the arrow keys come to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QListWidget, QRadioButton, QWidget

from app.settings.store import Settings
from app.ui.gallery import samples
from app.ui.gallery.board import past
from app.ui.preferences.window import SettingsWindow
from app.ui.presence import Presence
from app.ui.theme.appearance import Look
from tests.support.observer import Seen, observe
from tests.support.waiting import until
from tests.ui.conftest import Drive
from tests.ui.fake_agent import FakeAgent, MemoryArchive

_ROLELESS = frozenset({"filler", "panel", "unknown", "invalid", "client widget", "frame"})
_LONGEST_ROUND = 120
_SCENES: dict[str, Callable[[], samples.Events]] = {
    "cards": samples.cards,
    "finished": samples.finished,
    "approval": samples.approval,
    "question": samples.question,
    "trouble": samples.trouble,
    "web": samples.web,
}


async def focusable(window: str) -> list[Seen]:
    """What shows in a window of ours and can have the keyboard, as another program sees it.

    Text that is only read is left out: a click lets it be copied, and its words are its content.
    """
    seen = await asyncio.to_thread(observe, QApplication.applicationName())
    found: list[Seen] = []
    inside, hidden = False, 99
    for node in seen:
        if node.depth > hidden:
            continue  # because Qt says that the lines of a list that is hidden show
        hidden = 99 if node.showing else node.depth
        if node.depth == 1:
            inside = node.name == window and node.showing
        elif inside and node.showing and {"focusable", "sensitive"} <= node.states:
            is_read = node.text is not None and node.text.strip() and "editable" not in node.states
            found += [] if is_read else [node]
    return found


def walked(window: QWidget) -> set[str]:
    """The names of all that Tab comes to, and the arrow keys within lists and groups of choices."""
    names: set[str] = set()
    seen: list[QWidget] = []
    for _ in range(_LONGEST_ROUND):
        now = window.focusWidget()
        if now is None or now in seen:
            break
        seen.append(now)
        names.add(name_of(now))
        if isinstance(now, QListWidget):
            names |= {now.item(row).text() for row in range(now.count())}
        if isinstance(now, QComboBox):
            names |= {now.itemText(row) for row in range(now.count())}
        if isinstance(now, QRadioButton) and now.parentWidget() is not None:
            names |= {name_of(other) for other in now.parentWidget().findChildren(QRadioButton)}
        QTest.keyClick(now, Qt.Key.Key_Tab)
    return names


def name_of(widget: QWidget) -> str:
    face = QAccessible.queryAccessibleInterface(widget)
    return face.text(QAccessible.Text.Name) if face is not None else ""


def unsaid(nodes: list[Seen]) -> list[Seen]:
    return [node for node in nodes if not node.name.strip() or node.role in _ROLELESS]


@pytest.mark.parametrize("scene", ["", *_SCENES, "history", "usage"])
def test_all_that_can_have_the_keyboard_has_a_name_and_a_role_and_tab_comes_to_it(
    presence: Presence, agent: FakeAgent, drive: Drive, scene: str
) -> None:
    agent.archive = MemoryArchive({one: [] for one in past()})

    async def person() -> None:
        if scene in ("history", "usage"):
            presence.open_page(scene)
        elif scene:
            agent.tell(*_SCENES[scene]())
            await until(lambda: presence.inbox.view.items)
        presence.open()
        field = presence.composer.field
        await until(lambda: presence.bubble.isVisible() and field.hasFocus())
        await until(lambda: not scene or presence.bubble.page or presence.bubble.thread_view.realised)
        nodes = await focusable(presence.bubble.accessibleName())
        assert nodes
        assert unsaid(nodes) == []
        names = walked(presence.bubble)
        assert [(node.role, node.name) for node in nodes if node.name not in names] == []

    drive(person())


def test_every_page_of_the_settings_can_be_walked(still: Look, presence: Presence, drive: Drive) -> None:
    async def person() -> None:
        window = SettingsWindow(still.theme, Settings({}, {}))
        window.show()
        try:
            for row in range(window.index.count()):
                window.index.setCurrentRow(row)
                window.index.setFocus()
                nodes = await focusable(window.windowTitle())
                assert nodes
                assert unsaid(nodes) == []
                names = walked(window)
                assert [(node.role, node.name) for node in nodes if node.name not in names] == []
        finally:
            window.close()

    drive(person())
