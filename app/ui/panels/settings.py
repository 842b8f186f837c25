"""The settings, made from the catalog: what is declared there appears here, with its words, bounds and default."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.settings import secrets, store
from app.settings.catalog import ALL, Setting
from app.settings.store import Settings
from app.ui.style import font
from app.ui.theme import Theme

_PROVIDERS_WITH_KEYS = ("anthropic", "openai")
_MOST = 2_000_000_000

Editor = tuple[QWidget, Callable[[], Any]]


class SettingsWindow(QWidget):
    """A choice is written as soon as it is made; what is wrong with one is said beside it."""

    changed = Signal(str)

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self._theme = theme
        self._settings = settings
        self.editors: dict[str, QWidget] = {}
        self.setWindowTitle(QCoreApplication.translate("Settings", "Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.note = QLabel()
        self.note.setObjectName("about")
        self.note.setFont(font(theme, "small"))
        self.note.setWordWrap(True)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self._tabs = QTabWidget()
        self._tabs.setDocumentMode(True)
        self._tabs.tabBar().setDrawBase(False)
        for group, members in groupby(ALL, key=lambda setting: setting.group):
            self._tabs.addTab(self._page(group, list(members)), self._title(group))
        box = QVBoxLayout(self)
        inset = theme.size("padding")
        box.setContentsMargins(inset, inset, inset, inset)
        box.setSpacing(theme.size("gap"))
        box.addWidget(self._tabs)
        box.addWidget(self.note)
        self.resize(theme.size("settings_width"), theme.size("settings_height"))
        self._say(QCoreApplication.translate("Settings", "Changes count from the next start."))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _title(self, group: str) -> str:
        return QCoreApplication.translate("Settings", group.capitalize())

    def _page(self, group: str, members: list[Any]) -> QScrollArea:
        page, theme = QWidget(), self._theme
        form = QFormLayout(page)
        form.setSpacing(theme.size("gap"))
        form.setContentsMargins(*[theme.size("card_padding")] * 4)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for setting in members:
            self._add(form, setting)
        if group == "model":
            for provider in _PROVIDERS_WITH_KEYS:
                self._add_key(form, provider)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(page)
        return area

    def _add(self, form: QFormLayout, setting: Setting[Any]) -> None:
        editor, value = self._editor(setting)
        editor.setAccessibleName(_label(setting))
        editor.setAccessibleDescription(setting.description)
        editor.setObjectName(setting.key)
        self.editors[setting.key] = editor
        words = QLabel(_label(setting))
        words.setFont(font(self._theme, "text", strong=True))
        form.addRow(words, editor)
        about = QLabel(setting.description)
        about.setFont(font(self._theme, "small"))
        about.setWordWrap(True)
        about.setTextFormat(Qt.TextFormat.PlainText)
        about.setObjectName("about")
        form.addRow(about)
        self._connect(editor, lambda: self._keep(setting, value()))

    def _editor(self, setting: Setting[Any]) -> Editor:
        """The field that fits the setting's type, and how to read it."""
        current = self._settings[setting]
        if isinstance(setting.default, bool):
            check = QCheckBox()
            check.setChecked(bool(current))
            return check, check.isChecked
        if setting.choices:
            choice = QComboBox()
            for name in setting.choices:
                choice.addItem(name or QCoreApplication.translate("Settings", "automatic"), name)
            choice.setCurrentIndex(setting.choices.index(current))
            return choice, choice.currentData
        if isinstance(setting.default, (int, float)):
            return _number(setting, current)
        line = QLineEdit(str(current))
        line.setPlaceholderText(str(setting.default))
        return line, line.text

    def _connect(self, editor: QWidget, keep: Callable[[], None]) -> None:
        if isinstance(editor, QCheckBox):
            editor.toggled.connect(lambda _: keep())
        elif isinstance(editor, QComboBox):
            editor.activated.connect(lambda _: keep())
        elif isinstance(editor, (QSpinBox, QDoubleSpinBox, QLineEdit)):
            editor.editingFinished.connect(keep)

    def _add_key(self, form: QFormLayout, provider: str) -> None:
        tr = QCoreApplication.translate
        field, button = QLineEdit(), QPushButton(tr("Settings", "Keep"))
        field.setEchoMode(QLineEdit.EchoMode.Password)
        field.setObjectName(f"key.{provider}")
        known = bool(secrets.key_of(provider))
        field.setPlaceholderText(tr("Settings", "a key is kept") if known else tr("Settings", "no key yet"))
        field.setAccessibleName(tr("Settings", "Key for {provider}").format(provider=provider))
        self.editors[f"key.{provider}"] = field
        button.clicked.connect(lambda: self._keep_key(provider, field))
        field.returnPressed.connect(button.click)
        row = QHBoxLayout()
        row.addWidget(field)
        row.addWidget(button)
        words = QLabel(tr("Settings", "Key for {provider}").format(provider=provider))
        strong = QFont(font(self._theme, "text", strong=True))
        words.setFont(strong)
        form.addRow(words, row)

    def _keep(self, setting: Setting[Any], value: Any) -> None:
        try:
            store.save(setting, value)
        except (ValueError, OSError) as error:
            self._say(f"{_label(setting)}: {error}")
            return
        self.changed.emit(setting.key)
        self._say(QCoreApplication.translate("Settings", "Kept. Changes count from the next start."))

    def _keep_key(self, provider: str, field: QLineEdit) -> None:
        key = field.text().strip()
        if not key:
            return
        tr = QCoreApplication.translate
        try:
            where = secrets.keep(provider, key)
        except OSError as error:
            self._say(str(error))
            return
        field.clear()
        field.setPlaceholderText(tr("Settings", "a key is kept"))
        places = {"keyring": tr("Settings", "The key is in the system's keyring.")}
        self._say(places.get(where, tr("Settings", "The key is in a file that only you can read.")))

    def _say(self, words: str) -> None:
        self.note.setText(words)


def _label(setting: Setting[Any]) -> str:
    name = setting.key.partition(".")[2].replace("_", " ")
    return QCoreApplication.translate("Settings", name[:1].upper() + name[1:])


def _number(setting: Setting[Any], current: Any) -> Editor:
    spin: QSpinBox | QDoubleSpinBox = QSpinBox() if isinstance(setting.default, int) else QDoubleSpinBox()
    kind = int if isinstance(setting.default, int) else float
    least = setting.minimum if setting.minimum is not None else -_MOST
    most = setting.maximum if setting.maximum is not None else _MOST
    spin.setRange(kind(least), kind(most))  # type: ignore[arg-type]
    spin.setValue(current)
    spin.setGroupSeparatorShown(True)
    return spin, spin.value
