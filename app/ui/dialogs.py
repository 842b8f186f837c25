"""The windows that a person asks for, the settings and the welcome, and what a choice made there changes at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.settings import catalog
from app.ui import autostart
from app.ui.machine import Outside
from app.ui.presence import Presence
from app.ui.system import System
from app.ui.welcome import once

if TYPE_CHECKING:
    from app.ui.preferences.window import SettingsWindow
    from app.ui.welcome.window import WelcomeWindow

_log = logging.getLogger(__name__)
_OURS = "presence"
"""The group whose settings need no other agent."""
_NEED_AN_AGENT = {catalog.NAME.key, catalog.PERSONALITY.key}
_AT_THE_NEXT_START = {catalog.LANGUAGE.key}


class Dialogs(QObject):
    """`agent_wanted`: what was chosen needs another agent than the one that is there."""

    agent_wanted = Signal()

    def __init__(self, presence: Presence, system: System, outside: Outside) -> None:
        super().__init__()
        self._presence = presence
        self._system = system
        self._reload = outside.reload
        self._machine = outside.machine
        self._settings: SettingsWindow | None = None
        self._welcome: WelcomeWindow | None = None
        presence.settings_wanted.connect(self.settings)

    def settings(self) -> None:
        """The settings' window, in front."""
        from app.ui.preferences.window import SettingsWindow

        if self._settings is None:
            made = SettingsWindow(self._presence.theme, self._reload(), self._machine)
            made.changed.connect(self._changed)
            made.key_kept.connect(lambda _: self.agent_wanted.emit())
            made.welcome_wanted.connect(self.welcome)
            self._settings = made
        self._settings.show()
        self._settings.raise_()
        self._settings.activateWindow()

    def welcome(self) -> None:
        """The welcome, in front. Shown once, it does not come again by itself."""
        from app.ui.welcome.window import WelcomeWindow

        if self._welcome is None:
            made = WelcomeWindow(self._presence.theme, self._machine, self._reload()[catalog.SUMMON_KEY])
            made.wished.connect(self._presence.send)
            made.chosen.connect(self.agent_wanted)
            made.left.connect(self._welcomed)
            self._presence.inbox.view_changed.connect(made.show_view)
            self._welcome = made
        self._welcome.begin()
        try:
            once.note_done()
        except OSError as error:
            _log.warning("The welcome will come again: %s", error)

    def _welcomed(self) -> None:
        if self._welcome is not None:
            self._presence.inbox.view_changed.disconnect(self._welcome.show_view)
            self._welcome.deleteLater()
            self._welcome = None

    def _changed(self, key: str) -> None:
        """A choice was written: let it count now, where it can."""
        settings = self._reload()
        tr = QCoreApplication.translate
        if key in _AT_THE_NEXT_START:
            self._say(tr("Settings", "Kept. It counts from the next start."))
            return
        if key == catalog.AUTOSTART.key:
            self._say(autostart.switched(on=settings[catalog.AUTOSTART]) or tr("Settings", "Kept."))
        elif key.startswith(f"{_OURS}."):
            self._system.apply(settings)
        if key in _NEED_AN_AGENT or not key.startswith(f"{_OURS}."):
            self._say(tr("Settings", "Kept. It counts from the next wish."))
            self.agent_wanted.emit()

    def _say(self, words: str) -> None:
        if self._settings is not None:
            self._settings.say(words)
