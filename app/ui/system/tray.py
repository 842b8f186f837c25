"""The tray icon and its menu, on desktops with a tray."""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, QPointF, Qt
from PySide6.QtGui import QAction, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.agent.agent_events import Outcome
from app.base.clipping import clip_line
from app.base.values import dataclass, field
from app.ui.machine import NoPresences, Presences
from app.ui.orb.painting import OrbFrame, paint
from app.ui.orb.state import Orb
from app.ui.presenter.cards import last_act
from app.ui.presenter.view import SpokenItem, TurnOutcome, View
from app.ui.presenter.wording import unmarked
from app.ui.theme.drawing import Menu
from app.ui.theme.theme import Theme


@dataclass(frozen=True, slots=True)
class Actions:
    """What the entries of the tray menu do."""

    toggle: Callable[[], None]
    stop: Callable[[], None]
    settings: Callable[[], None]
    quit: Callable[[], None]
    presences: Presences = field(default_factory=NoPresences)


def menu_for(actions: Actions, *, is_open: bool, running: bool, menu: QMenu | None = None) -> QMenu:
    """Return a menu for the current state. `is_open`: the bubble is open; `running`: a turn runs.

    With `menu`, the entries are added to that menu.
    """
    menu, tr = menu if menu is not None else QMenu(), QCoreApplication.translate
    menu.addAction(tr("Menu", "Close") if is_open else tr("Menu", "Open"), actions.toggle)
    stop = menu.addAction(tr("Menu", "Stop"), actions.stop)
    stop.setEnabled(running)
    menu.addSeparator()
    _add_presences(menu, actions.presences)
    menu.addAction(tr("Menu", "Settings"), actions.settings)
    menu.addAction(tr("Menu", "Quit"), actions.quit)
    return menu


def _add_presences(menu: QMenu, presences: Presences) -> None:
    """Add a menu to switch to another presence, if there are several. This one is marked."""
    entries = presences.entries()
    if len(entries) < 2:
        return
    title = QCoreApplication.translate("Menu", "Wisps")
    switch = menu.submenu(title) if isinstance(menu, Menu) else menu.addMenu(title)
    for entry in entries:
        action = switch.addAction(entry.name.replace("&", "&&"), partial(presences.show, entry.id))
        action.setCheckable(True)
        action.setChecked(entry.is_this)
        action.setEnabled(not entry.is_this)


_CHARS = 240


@dataclass(frozen=True, slots=True)
class Note:
    """A notification: a short headline and a text. `urgent`: Wisp waits for the person."""

    title: str
    text: str
    urgent: bool = False


def worth_telling(before: View, after: View) -> Note | None:
    """Return a notification if `after` needs one that `before` did not: a question, or the end of a turn, that the
    person does not see in the bubble; else None."""
    tr = QCoreApplication.translate
    asked = after.open_approval
    if asked is not None and before.open_approval is None and not before.attended:
        return Note(tr("Notifications", "Wisp needs your answer"), clip_line(asked.sentence, _CHARS), urgent=True)
    if after.attended or not (before.running and not after.running):
        return None
    words = _last_words(after)
    if after.orb is Orb.ERROR:
        return Note(tr("Notifications", "That did not work"), words)
    if after.orb is Orb.NEEDS_YOU:
        return Note(tr("Notifications", "Wisp has a question"), words, urgent=True)
    return Note(tr("Notifications", "Done"), words)


def _last_words(view: View) -> str:
    if told := last_act(view):
        return clip_line(told, _CHARS)
    for item in reversed(view.items):
        if isinstance(item, TurnOutcome) and item.outcome is not Outcome.STOPPED:
            return clip_line(unmarked(item.text), _CHARS)
        if isinstance(item, SpokenItem):
            return clip_line(unmarked(item.text), _CHARS)
    return ""


_SIDE_PX = 64


class Tray(QObject):
    """The tray icon: the orb in its current state."""

    def __init__(self, theme: Theme, actions: Actions, name: str) -> None:
        super().__init__()
        self._theme = theme
        self._icons: dict[Orb, QIcon] = {}
        self._icon = QSystemTrayIcon(self._drawn(Orb.IDLE), self)
        self._icon.setToolTip(name)
        self._actions = actions
        self.menu = QMenu()
        self._fill()
        # Whenever it opens, because presences come, go and take other names.
        self.menu.aboutToShow.connect(self._fill)
        self._icon.setContextMenu(self.menu)
        self._icon.activated.connect(lambda why: self._pressed(why, actions.toggle))
        self._icon.messageClicked.connect(actions.toggle)
        self._icon.show()

    @property
    def name(self) -> str:
        """The name that shows at the icon."""
        return self._icon.toolTip()

    @property
    def entries(self) -> list[QAction]:
        return self.menu.actions()

    def show_view(self, view: View) -> None:
        self._icon.setIcon(self._drawn(view.orb))

    def restyle(self, theme: Theme, name: str) -> None:
        """Paint the orb in the colours of this theme, and show this name."""
        self._theme = theme
        self._icon.setToolTip(name)
        self._icons.clear()
        self._icon.setIcon(self._drawn(Orb.IDLE))

    def show_note(self, note: Note) -> bool:
        """Show the notification at the icon. Returns False if the tray cannot. A click on the notification opens the
        presence."""
        if not QSystemTrayIcon.supportsMessages():
            return False
        self._icon.showMessage(note.title, note.text, self._drawn(Orb.NEEDS_YOU if note.urgent else Orb.IDLE))
        return True

    def hide(self) -> None:
        self._icon.hide()

    def _fill(self) -> None:
        self.menu.clear()
        menu_for(self._actions, is_open=False, running=True, menu=self.menu)

    def _drawn(self, state: Orb) -> QIcon:
        if state not in self._icons:
            picture = QPixmap(_SIDE_PX, _SIDE_PX)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            middle = QPointF(_SIDE_PX / 2, _SIDE_PX / 2)
            paint(painter, middle, _SIDE_PX - 4, OrbFrame(state, share=0.7), self._theme, shadow=False)
            painter.end()
            self._icons[state] = QIcon(picture)
        return self._icons[state]

    def _pressed(self, why: QSystemTrayIcon.ActivationReason, toggle: Callable[[], None]) -> None:
        if why is QSystemTrayIcon.ActivationReason.Trigger:
            toggle()


def has_tray() -> bool:
    return QSystemTrayIcon.isSystemTrayAvailable()


if TYPE_CHECKING:
    from dbus_fast.aio import MessageBus

_log = logging.getLogger(__name__)
_SERVICE = "org.freedesktop.Notifications"
_BUS = "org.freedesktop.DBus"
_PATH = "/org/freedesktop/Notifications"
_SYSTEM_DECIDES = -1
_CRITICAL, _NORMAL = 2, 1
_DEFAULT = "default"


class BusNotifier:
    """Shows notifications over D-Bus, and connects when the first one comes. Each replaces the one before."""

    def __init__(self, name: str, clicked: Callable[[], None]) -> None:
        self._name = name
        self._clicked = clicked
        self._bus: MessageBus | None = None
        self._shown = 0
        self._reads_markup = False

    async def show(self, note: Note) -> bool:
        """Show the notification. Returns False if the desktop has no notification service."""
        from dbus_fast import Variant
        from dbus_fast.errors import DBusError, InvalidAddressError

        try:
            if self._bus is None or not self._bus.connected:
                await self._connect()
            urgency = Variant("y", _CRITICAL if note.urgent else _NORMAL)
            hints = {"urgency": urgency, "desktop-entry": Variant("s", "wisp")}
            text = html.escape(note.text, quote=False) if self._reads_markup else note.text
            body = [self._name, self._shown, "", note.title, text, [_DEFAULT, ""], hints, _SYSTEM_DECIDES]
            answer = await self._call(_SERVICE, _PATH, "Notify", "susssasa{sv}i", body)
        except (OSError, EOFError, DBusError, InvalidAddressError) as error:
            _log.info("No notification could be shown: %s", error)
            return False
        self._shown = answer[0] if answer else 0
        return bool(answer)

    def rename(self, name: str) -> None:
        """Show the next notifications as those of a program of this name."""
        self._name = name

    def close(self) -> None:
        """Close the connection."""
        if self._bus is not None and self._bus.connected:
            self._bus.disconnect()
        self._bus = None

    async def _connect(self) -> None:
        from dbus_fast import Message, MessageType
        from dbus_fast.aio import MessageBus

        def heard(message: Message) -> None:
            is_ours = bool(message.body) and message.body[0] == self._shown
            if message.message_type is MessageType.SIGNAL and message.member == "ActionInvoked" and is_ours:
                self._clicked()

        self._bus = await MessageBus().connect()
        self._bus.add_message_handler(heard)
        rule = f"type='signal',interface='{_SERVICE}',member='ActionInvoked'"
        await self._call(_BUS, "/org/freedesktop/DBus", "AddMatch", "s", [rule])
        abilities = await self._call(_SERVICE, _PATH, "GetCapabilities", "", [])
        self._reads_markup = bool(abilities) and "body-markup" in abilities[0]

    async def _call(self, service: str, path: str, member: str, signature: str, body: list[Any]) -> list[Any]:
        """Call a method of a D-Bus service and return its answer; [] if it answers with an error."""
        from dbus_fast import Message, MessageType

        assert self._bus is not None
        # Both services name their interface like themselves.
        answer = await self._bus.call(Message(service, path, service, member, signature=signature, body=body))
        return list(answer.body) if answer is not None and answer.message_type is MessageType.METHOD_RETURN else []


Show = Callable[[Note], Awaitable[bool]]
"""Shows a note; False where it cannot."""


class Notifier(QObject):
    """Shows notifications. `ways` are tried in order until one succeeds. Needs a running event loop."""

    def __init__(self, ways: tuple[Show, ...], *, on: bool) -> None:
        super().__init__()
        self.on = on
        self._ways = ways
        self._seen = View()
        self._telling: set[asyncio.Task[None]] = set()

    def show_view(self, view: View) -> None:
        """Show a notification if this view needs one that the view before did not."""
        note = worth_telling(self._seen, view) if self.on else None
        self._seen = view
        if note is not None:
            task = asyncio.ensure_future(self._tell(note))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell(self, note: Note) -> None:
        for show in self._ways:
            if await show(note):
                return
