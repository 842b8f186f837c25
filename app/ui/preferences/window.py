"""The settings: what is declared in the catalog appears here, with its words, bounds and default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.base import paths
from app.settings import store
from app.settings.catalog import Setting
from app.settings.providers import with_keys
from app.settings.store import Settings
from app.ui.machine import Machine, NoMachine
from app.ui.preferences.fields import PreferencesPage, SettingField, label, pages, words_label
from app.ui.preferences.findings import FindingsList, KeyRow
from app.ui.theme import drawing
from app.ui.theme.drawing import font
from app.ui.theme.theme import Theme


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


class SettingsWindow(QWidget):
    """A choice is written as soon as it is made; what is wrong with one, and from when it counts, is said below."""

    changed = Signal(str)
    key_kept = Signal(str)
    welcome_wanted = Signal()

    def __init__(self, theme: Theme, settings: Settings, machine: Machine | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._settings = settings
        self._machine = machine or NoMachine()
        self.editors: dict[str, QWidget] = {}
        self.setWindowTitle(QCoreApplication.translate("Settings", "Settings"))
        # Do not quit, because the presence lives on when this window closes.
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.note = words_label(theme, "", quiet=True)
        self.index = QListWidget()
        self.index.setObjectName("index")
        self.index.setFont(font(theme, "text"))
        self.index.setIconSize(QSize(theme.size("small_glyph"), theme.size("small_glyph")))
        self.index.setFixedWidth(theme.size("index_width"))
        self.index.setAccessibleName(QCoreApplication.translate("Settings", "Pages"))
        self._stack = QStackedWidget()
        for page in pages():
            self._add_page(page)
        self.index.currentRowChanged.connect(self._show_page)
        welcome = QPushButton(QCoreApplication.translate("Settings", "Show the welcome again"))
        welcome.clicked.connect(self.welcome_wanted)
        self._lay_out(welcome)
        self.index.setCurrentRow(0)
        self.resize(theme.size("settings_width"), theme.size("settings_height"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def say(self, words: str) -> None:
        """A sentence at the bottom."""
        self.note.setText(words)

    def _lay_out(self, welcome: QPushButton) -> None:
        inset, gap = self._theme.size("padding"), self._theme.size("gap")
        below = QHBoxLayout()
        below.addWidget(self.note, 1)
        below.addWidget(welcome)
        right = QVBoxLayout()
        right.setSpacing(gap)
        right.addWidget(self._stack, 1)
        right.addLayout(below)
        row = QHBoxLayout(self)
        row.setContentsMargins(inset, inset, inset, inset)
        row.setSpacing(inset)
        row.addWidget(self.index)
        row.addLayout(right, 1)

    def _add_page(self, page: PreferencesPage) -> None:
        title = QCoreApplication.translate("Settings", page.title)
        glyph = drawing.icon(page.glyph, self._theme.size("small_glyph"), self._theme.color("muted"))
        self.index.addItem(QListWidgetItem(glyph, title))
        inner, theme = QWidget(), self._theme
        box = QVBoxLayout(inner)
        room = theme.size("padding")  # at the side of the scroll bar
        left, right = (room, 0) if self.isRightToLeft() else (0, room)
        box.setContentsMargins(left, 0, right, room)
        box.setSpacing(theme.size("padding"))
        heading = words_label(theme, title)
        heading.setFont(font(theme, "heading", strong=True))
        box.addWidget(heading)
        main, rest = ([self._field(setting) for setting in some] for some in (page.main, page.rest))
        for widget in (*main, *self._extra(page.extra), *rest):
            box.addWidget(widget)
        box.addStretch()
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        self._stack.addWidget(area)

    def _extra(self, name: str) -> list[QWidget]:
        if name == "keys":
            return [self._key(row.id) for row in with_keys()]
        if name == "findings":
            return [FindingsList(self._theme, self._machine)]
        return [Folders(self._theme)] if name == "folders" else []

    def _key(self, provider: str) -> KeyRow:
        row = KeyRow(self._theme, provider, self._machine)
        row.kept.connect(self.key_kept)
        self.editors[f"key.{provider}"] = row.field
        return row

    def _field(self, setting: Setting[Any]) -> SettingField:
        field = SettingField(self._theme, setting, self._settings[setting])
        field.chosen.connect(lambda value: self._keep(setting, value))
        self.editors[setting.key] = field.editor
        return field

    def _show_page(self, number: int) -> None:
        self._stack.setCurrentIndex(number)
        page = self._stack.widget(number)
        for findings in page.findChildren(FindingsList) if page else ():
            findings.ask_once()

    def _keep(self, setting: Setting[Any], value: Any) -> None:
        try:
            store.save(setting, value)
        except (ValueError, OSError) as error:
            self.say(f"{label(setting)}: {error}")
            return
        self.say(QCoreApplication.translate("Settings", "Kept."))
        self.changed.emit(setting.key)
