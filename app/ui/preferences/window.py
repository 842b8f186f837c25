"""The settings: what is declared in the catalog appears here, with its words, bounds and default."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
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

from app.settings import store
from app.settings.catalog import Setting
from app.settings.store import Settings
from app.ui import icons
from app.ui.machine import Machine, NoMachine
from app.ui.preferences.fields import Field, words_label
from app.ui.preferences.findings import FindingsList
from app.ui.preferences.folders import Folders
from app.ui.preferences.keyrow import KeyRow
from app.ui.preferences.pages import Page, label, pages
from app.ui.style import font
from app.ui.theme import Theme

_PROVIDERS_WITH_KEYS = ("anthropic", "openai")


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

    def _add_page(self, page: Page) -> None:
        title = QCoreApplication.translate("Settings", page.title)
        glyph = icons.icon(page.glyph, self._theme.size("small_glyph"), self._theme.color("muted"))
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
            return [self._key(provider) for provider in _PROVIDERS_WITH_KEYS]
        if name == "findings":
            return [FindingsList(self._theme, self._machine)]
        return [Folders(self._theme)] if name == "folders" else []

    def _key(self, provider: str) -> KeyRow:
        row = KeyRow(self._theme, provider, self._machine)
        row.kept.connect(self.key_kept)
        self.editors[f"key.{provider}"] = row.field
        return row

    def _field(self, setting: Setting[Any]) -> Field:
        field = Field(self._theme, setting, self._settings[setting])
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
