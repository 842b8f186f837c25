"""One setting: its name and meaning, and the field that fits its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDoubleSpinBox, QGridLayout, QLabel, QLineEdit, QSpinBox, QWidget

from app.settings.catalog import Setting
from app.ui.preferences import pages
from app.ui.preferences.controls import Broken, Choice, Switch, Whole
from app.ui.preferences.pages import about, label
from app.ui.style import font
from app.ui.theme import Theme

_MOST = 2_000_000_000


class Field(QWidget):
    """`chosen` carries the new value as soon as the person has made up their mind."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, setting: Setting[Any], current: Any) -> None:
        super().__init__()
        self._theme = theme
        self._shown = current
        self.editor, self._value, is_wide = self._made(setting, current)
        self.editor.setObjectName(setting.key)
        self.editor.setAccessibleName(label(setting))
        self.editor.setAccessibleDescription(about(setting))
        name, meaning = words_label(theme, label(setting), strong=True), words_label(theme, about(setting), quiet=True)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.size("padding"))
        grid.setVerticalSpacing(theme.count("grid") // 2)
        grid.setColumnStretch(0, 1)
        grid.addWidget(name, 0, 0)
        grid.addWidget(meaning, 1, 0)
        if is_wide:
            grid.setRowMinimumHeight(2, theme.count("grid"))
            grid.addWidget(self.editor, 3, 0, 1, 2)
        else:
            grid.addWidget(self.editor, 0, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignTrailing)

    def _made(self, setting: Setting[Any], current: Any) -> tuple[QWidget, Callable[[], Any], bool]:
        """The editor, how to read it, and whether it takes a line of its own."""
        if isinstance(setting.default, bool):
            check = Switch(self._theme, on=bool(current))
            check.toggled.connect(self._tell)
            return check, check.isChecked, False
        if setting.choices:
            choice = Choice(self._theme)
            for name in setting.choices:
                choice.addItem(pages.choice(name), name)
            choice.setCurrentIndex(setting.choices.index(current))
            choice.setMinimumWidth(self._theme.size("field_width"))
            choice.activated.connect(self._tell)
            return choice, choice.currentData, False
        if isinstance(setting.default, (int, float)):
            spin = _number(self._theme, setting, current)
            spin.setMinimumWidth(self._theme.size("field_width"))
            spin.editingFinished.connect(self._tell)
            return spin, spin.value, False
        line = QLineEdit(str(current))
        line.setPlaceholderText(str(setting.default))
        line.editingFinished.connect(self._tell)
        return line, line.text, True

    def _tell(self) -> None:
        value = self._value()
        if value != self._shown:
            self._shown = value
            self.chosen.emit(value)


def words_label(theme: Theme, words: str, *, strong: bool = False, quiet: bool = False) -> QLabel:
    """Plain text that wraps; `quiet` is small and muted."""
    made = QLabel(words)
    made.setFont(font(theme, "small" if quiet else "text", strong=strong))
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(True)
    if quiet:
        made.setObjectName("about")
    return made


def _number(theme: Theme, setting: Setting[Any], current: Any) -> QSpinBox | QDoubleSpinBox:
    spin: QSpinBox | QDoubleSpinBox = Whole(theme) if isinstance(setting.default, int) else Broken(theme)
    kind = int if isinstance(setting.default, int) else float
    least = setting.minimum if setting.minimum is not None else -_MOST
    most = setting.maximum if setting.maximum is not None else _MOST
    spin.setRange(kind(least), kind(most))  # type: ignore[arg-type]
    spin.setValue(current)
    return spin
