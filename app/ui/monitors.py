"""Notices that monitors came, went, moved or changed their size; told once for all that changed together."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QScreen

_QUIET_MS = 100
"""One plug changes many things, one after the other."""


class Monitors(QObject):
    """`changed` comes when there has been no further change for a moment."""

    changed = Signal()

    def __init__(self, application: QGuiApplication) -> None:
        super().__init__()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_QUIET_MS)
        self._soon.timeout.connect(self.changed)
        application.screenAdded.connect(self._added)
        application.screenRemoved.connect(lambda _: self._soon.start())
        application.primaryScreenChanged.connect(lambda _: self._soon.start())
        for screen in application.screens():
            self._watch(screen)

    def _added(self, screen: QScreen) -> None:
        self._watch(screen)
        self._soon.start()

    def _watch(self, screen: QScreen) -> None:
        screen.geometryChanged.connect(lambda _: self._soon.start())
        screen.availableGeometryChanged.connect(lambda _: self._soon.start())
