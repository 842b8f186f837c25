"""The tray's icon and menu, where the desktop has a tray."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPointF, Qt
from PySide6.QtGui import QAction, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QSystemTrayIcon

from app.ui.menu import Actions, menu_for
from app.ui.notifications.worth import Note
from app.ui.orb.painting import Look, paint
from app.ui.orb.state import Orb
from app.ui.presenter.view import View
from app.ui.theme import Theme

_SIDE_PX = 64


class Tray(QObject):
    """Follows the view: the icon is the orb in its state."""

    def __init__(self, theme: Theme, actions: Actions, name: str) -> None:
        super().__init__()
        self._theme = theme
        self._icons: dict[Orb, QIcon] = {}
        self._icon = QSystemTrayIcon(self._drawn(Orb.IDLE), self)
        self._icon.setToolTip(name)
        self._menu = menu_for(actions, is_open=False, running=True)
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(lambda why: self._pressed(why, actions.toggle))
        self._icon.messageClicked.connect(actions.toggle)
        self._icon.show()

    @property
    def entries(self) -> list[QAction]:
        return self._menu.actions()

    def show_view(self, view: View) -> None:
        self._icon.setIcon(self._drawn(view.orb))

    def restyle(self, theme: Theme) -> None:
        """The orb's other colours."""
        self._theme = theme
        self._icons.clear()
        self._icon.setIcon(self._drawn(Orb.IDLE))

    def show_note(self, note: Note) -> bool:
        """A balloon from the icon; False where the tray shows none. A click on it opens the presence."""
        if not QSystemTrayIcon.supportsMessages():
            return False
        self._icon.showMessage(note.title, note.text, self._drawn(Orb.NEEDS_YOU if note.urgent else Orb.IDLE))
        return True

    def hide(self) -> None:
        self._icon.hide()

    def _drawn(self, state: Orb) -> QIcon:
        if state not in self._icons:
            picture = QPixmap(_SIDE_PX, _SIDE_PX)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            middle = QPointF(_SIDE_PX / 2, _SIDE_PX / 2)
            paint(painter, middle, _SIDE_PX - 4, Look(state, share=0.7), self._theme, shadow=False)
            painter.end()
            self._icons[state] = QIcon(picture)
        return self._icons[state]

    def _pressed(self, why: QSystemTrayIcon.ActivationReason, toggle: Callable[[], None]) -> None:
        if why is QSystemTrayIcon.ActivationReason.Trigger:
            toggle()


def has_tray() -> bool:
    return QSystemTrayIcon.isSystemTrayAvailable()
