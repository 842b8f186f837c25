"""Where Wisp keeps things, and what leaves the computer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.base import paths
from app.ui.preferences.fields import words_label
from app.ui.theme import Theme


class Folders(QWidget):
    """A line for each folder with a button that opens it, and the promise about privacy."""

    def __init__(self, theme: Theme, open_folder: Callable[[Path], None] | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._open = open_folder or opened
        tr = QCoreApplication.translate
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(theme.size("gap"))
        box.addWidget(words_label(theme, tr("Settings", "Data folder"), strong=True))
        for words, folder in (
            (tr("Settings", "Conversations, memories, files it made"), paths.data_dir()),
            (tr("Settings", "Settings and rules"), paths.config_dir()),
            (tr("Settings", "Log, crash reports, window places: may be deleted"), paths.state_dir()),
        ):
            box.addLayout(self._line(words, folder))
        moved = tr("Settings", "To move all of it, start Wisp with WISP_DATA_DIR=/another/folder.")
        box.addWidget(words_label(theme, moved, quiet=True))
        box.addSpacing(theme.size("padding"))
        box.addWidget(words_label(theme, tr("Settings", "Privacy"), strong=True))
        for promise in (
            tr("Settings", "What you say and the pictures of the screen go to the model you chose, and nowhere else."),
            tr("Settings", "The offline provider and models on this computer send nothing to anybody."),
            tr("Settings", "There is no telemetry. Crash reports stay here until you send one yourself."),
        ):
            box.addWidget(words_label(theme, promise, quiet=True))

    def _line(self, words: str, folder: Path) -> QHBoxLayout:
        row, texts = QHBoxLayout(), QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(words_label(self._theme, words))
        texts.addWidget(words_label(self._theme, str(folder), quiet=True))
        button = QPushButton(QCoreApplication.translate("Settings", "Open"))
        button.setAccessibleDescription(str(folder))
        button.clicked.connect(lambda: self._open(folder))
        row.addLayout(texts, 1)
        row.addWidget(button)
        return row


def opened(folder: Path) -> None:
    """Show a folder in the system's own program."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
