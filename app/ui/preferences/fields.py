"""One setting in the window: its name, its meaning, and a field for its type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QValidator,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QDoubleSpinBox,
    QGridLayout,
    QLineEdit,
    QRadioButton,
    QSpinBox,
    QWidget,
)

from app.base import resources
from app.base.values import dataclass
from app.settings.catalog import ALL, VOICE, Setting
from app.settings.providers import providers
from app.ui.buttons import DrawnButton, PushButton, is_return
from app.ui.theme import drawing
from app.ui.theme.theme import Theme


class Switch(DrawnButton):
    """An on/off switch, large enough for touch. The knob's side and the colour both show the value."""

    def __init__(self, theme: Theme, *, on: bool) -> None:
        super().__init__()
        self._theme = theme
        self.setCheckable(True)
        self.setChecked(on)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        side = self._theme.size("switch")
        return QSize(side * 7 // 4 + 4, side + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        radius = track.height() / 2
        on = self.isChecked()
        painter.setBrush(QColor(*theme.color("accent_fill" if on else "raised")))
        painter.setPen(QPen(QColor(*theme.color("accent_fill" if on else "muted")), 1))
        painter.drawRoundedRect(track, radius, radius)
        at_the_end = on is (self.layoutDirection() is Qt.LayoutDirection.LeftToRight)
        x = track.right() - radius if at_the_end else track.left() + radius
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*theme.color("accent_ink" if on else "muted")))
        painter.drawEllipse(QPointF(x, track.center().y()), radius * 0.66, radius * 0.66)
        if self.hasFocus():
            _focus(painter, QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75), theme, radius + 1)


class Radio(QRadioButton):
    """A row of few values, all visible, of which one is chosen."""

    def __init__(self, theme: Theme, words: str) -> None:
        super().__init__(words)
        self._theme = theme
        self.setMinimumHeight(theme.size("switch") + 4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_return(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        theme = self._theme
        words = QFontMetrics(self.font()).horizontalAdvance(self.text())
        return QSize(words + theme.size("glyph") + theme.size("gap") + 4, theme.size("switch") + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = theme.size("small_glyph")
        right_to_left = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        x = self.width() - side - 2 if right_to_left else 2
        box = QRectF(x, (self.height() - side) / 2, side, side)
        on, able = self.isChecked(), self.isEnabled()
        painter.setPen(QPen(QColor(*theme.color("accent_fill" if on else "muted" if able else "hairline")), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(box.adjusted(1, 1, -1, -1))
        if on:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(*theme.color("accent_fill")))
            painter.drawEllipse(box.adjusted(4.5, 4.5, -4.5, -4.5))
        if self.hasFocus():
            _focus(painter, box.adjusted(-1, -1, 1, 1), theme, side)
        room = theme.size("glyph") + theme.size("gap")
        words = self.rect().adjusted(0 if right_to_left else room, 0, -room if right_to_left else 0, 0)
        painter.setPen(QColor(*theme.color("ink" if able else "muted")))
        align = Qt.AlignmentFlag.AlignVCenter | (
            Qt.AlignmentFlag.AlignRight if right_to_left else Qt.AlignmentFlag.AlignLeft
        )
        painter.drawText(words, align | Qt.AlignmentFlag.AlignAbsolute, self.text())

    def hitButton(self, place: object) -> bool:
        return self.isEnabled()


class Choice(QComboBox):
    """A drop-down list. The mouse wheel never changes its value; it scrolls the page."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        theme, painter = self._theme, QPainter(self)
        side = theme.size("small_glyph")
        right_to_left = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        x = theme.size("gap") if right_to_left else self.width() - side - theme.size("gap")
        painter.translate(x + side / 2, self.height() / 2)
        painter.rotate(90)
        drawing.draw(painter, "chevron", QRectF(-side / 2, -side / 2, side, side), theme.color("muted"))


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit in which a number is shown: its sign `text`, and how many of the setting's own units make one of it
    (`holds`)."""

    text: str = ""
    holds: int = 1


class Whole(QSpinBox):
    """A field for a whole number."""

    def __init__(self, theme: Theme, unit: Unit) -> None:
        super().__init__()
        self._unit = unit
        self.setSuffix(_suffix(unit))
        self.setSingleStep(unit.holds)
        self.setGroupSeparatorShown(True)
        # The style sheet's padding does not reach the line inside.
        self.lineEdit().setTextMargins(theme.count("grid"), 0, theme.count("grid"), 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def textFromValue(self, value: int) -> str:
        if self._unit.holds == 1:
            return super().textFromValue(value)
        return self.locale().toString(value / self._unit.holds, "g", 6)

    def valueFromText(self, text: str) -> int:
        if self._unit.holds == 1:
            return super().valueFromText(text)
        value, _ = self.locale().toDouble(text.removesuffix(self.suffix()).strip())
        return round(value * self._unit.holds)

    def validate(self, text: str, place: int) -> tuple[QValidator.State, str, int]:
        if self._unit.holds == 1:
            return super().validate(text, place)
        _, is_number = self.locale().toDouble(text.removesuffix(self.suffix()).strip())
        return (QValidator.State.Acceptable if is_number else QValidator.State.Intermediate), text, place


class Broken(QDoubleSpinBox):
    """A field for a decimal number, with as many decimals as the number needs."""

    def __init__(self, theme: Theme, unit: Unit) -> None:
        super().__init__()
        self._unit = unit
        self.setSuffix(_suffix(unit))
        self.setSingleStep(unit.holds)
        self.setGroupSeparatorShown(True)
        # The style sheet's padding does not reach the line inside.
        self.lineEdit().setTextMargins(theme.count("grid"), 0, theme.count("grid"), 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def textFromValue(self, value: float) -> str:
        text, point = super().textFromValue(value / self._unit.holds), self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text

    def valueFromText(self, text: str) -> float:
        return super().valueFromText(text) * self._unit.holds


def _suffix(unit: Unit) -> str:
    return f" {QCoreApplication.translate('Settings', unit.text)}" if unit.text else ""


_MODIFIERS = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


class KeyField(QLineEdit):
    """A field that shows the key combination which the person presses in it. Backspace or Delete empties the field."""

    def __init__(self, keys: str) -> None:
        super().__init__(keys)
        self.setReadOnly(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setPlaceholderText(QCoreApplication.translate("Settings", "Click here, then press the keys"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_alone = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        is_function_key = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
        if event.key() in _MODIFIERS:
            return
        if is_alone and event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            self._take("")
        elif is_alone and not is_function_key:
            super().keyPressEvent(event)  # because a key alone would be taken from every program
        else:
            pressed = QKeySequence(event.keyCombination()).toString(QKeySequence.SequenceFormat.PortableText)
            self._take(pressed.lower().replace("meta+", "super+"))

    def _take(self, keys: str) -> None:
        self.setText(keys)
        self.editingFinished.emit()


class VoiceField(QLineEdit):
    """A field that offers the voices of the system, and completes a part of their names.

    They are looked up when the person first clicks or types here, because that may start the system's speech service.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._offered: QCompleter | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._offer().setCompletionPrefix("")
        self._offer().complete()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        popup = self._offer().popup()
        if popup is not None and popup.isVisible() and is_return(event):
            event.ignore()  # so that it chooses in the list: a part of a name is none
        else:
            super().keyPressEvent(event)

    def _offer(self) -> QCompleter:
        if self._offered is not None:
            return self._offered
        from app.ui.system.speech import QtEngine

        try:
            names = QtEngine().voices()
        except ValueError:  # because nothing can speak here, which is told when it is to speak
            names = []
        self._offered = made = QCompleter(names, self)
        made.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        made.setFilterMode(Qt.MatchFlag.MatchContains)
        made.activated.connect(self._choose)
        self.setCompleter(made)
        if (popup := made.popup()) is not None:
            popup.setFont(self.font())
        return made

    def _choose(self, name: str) -> None:
        self.setText(name)
        self.editingFinished.emit()


def _focus(painter: QPainter, box: QRectF, theme: Theme, radius: float) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*theme.color("accent")), 1.5))
    painter.drawRoundedRect(box, radius, radius)


@dataclass(frozen=True, slots=True)
class PreferencesPage:
    """A page of settings. `extra` names what the page shows besides: keys, search engines, findings,
    grants or folders."""

    title: str
    glyph: str
    main: tuple[Setting[Any], ...]
    rest: tuple[Setting[Any], ...] = ()
    extra: str = ""

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        return (*self.main, *self.rest)


def _table() -> resources.Table:
    return resources.table("preferences.toml", resources.Table)


def pages() -> list[PreferencesPage]:
    """Return all pages, in order."""
    tables: list[dict[str, Any]] = _table()["page"]
    known = {setting.key: setting for setting in ALL}
    named = {key for table in tables for key in table.get("settings", ())}
    made = []
    for table in tables:
        main = tuple(known[key] for key in table.get("settings", ()))
        rest = tuple(s for s in ALL if s.group in table.get("groups", ()) and s.key not in named)
        made.append(PreferencesPage(table["title"], table["glyph"], main, rest, table.get("extra", "")))
    placed = {setting.key for page in made for setting in page.settings}
    left = [setting for setting in ALL if setting.key not in placed]
    for group in dict.fromkeys(setting.group for setting in left):
        made.append(PreferencesPage(group.capitalize(), "gear", tuple(s for s in left if s.group == group)))
    return made


def label(setting: Setting[Any]) -> str:
    """Return a setting's name for people, translated."""
    return QCoreApplication.translate("Settings", english_label(setting))


def english_label(setting: Setting[Any]) -> str:
    """Return a setting's English name from the table; if it has none there, its key in plain words."""
    name = setting.key.partition(".")[2].replace("_", " ")
    found: str = _table()["labels"].get(setting.key, name[:1].upper() + name[1:])
    return found


def choice_label(name: str) -> str:
    """Return the translated name of one value of a setting."""
    return QCoreApplication.translate("Settings", english_choice(name))


def english_choice(name: str) -> str:
    if name in providers():
        return providers()[name].label
    found: str = _table()["choices"].get(name, name) if name else "automatic"
    return found


def about(setting: Setting[Any]) -> str:
    """Return what a setting does, translated."""
    return QCoreApplication.translate("Settings", english_about(setting))


def english_about(setting: Setting[Any]) -> str:
    """Return what a setting does, in a person's words from the table; without them, the catalog's description."""
    found: str = _table()["abouts"].get(setting.key, setting.description)
    return found


_MOST = 2_000_000_000


class SettingField(QWidget):
    """The field of one setting. `chosen` carries the new value once the person has finished the change."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, setting: Setting[Any], current: Any) -> None:
        super().__init__()
        self._theme = theme
        self._shown = current
        self.editor, self._value, is_wide = self._made(setting, current)
        self.editor.setObjectName(setting.key)
        self.editor.setAccessibleName(label(setting))
        self.editor.setAccessibleDescription(about(setting))
        name, meaning = (
            drawing.words_label(theme, label(setting), strong=True),
            drawing.words_label(theme, about(setting), quiet=True),
        )
        name.setBuddy(self.editor)  # because Qt tells screen readers the choice as a combo box's own name
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
        """Return the widget to edit the setting, a function that reads its value, and whether the widget has a line
        of its own."""
        if isinstance(setting.default, bool):
            check = Switch(self._theme, on=bool(current))
            check.toggled.connect(self._tell)
            return check, check.isChecked, False
        if setting.choices:
            choice = Choice(self._theme)
            for name in setting.choices:
                choice.addItem(choice_label(name), name)
            choice.setCurrentIndex(setting.choices.index(current))
            choice.setMinimumWidth(self._theme.size("field_width"))
            choice.activated.connect(self._tell)
            return choice, choice.currentData, False
        if isinstance(setting.default, (int, float)):
            spin = _number(self._theme, setting, current)
            spin.setMinimumWidth(self._theme.size("field_width"))
            spin.editingFinished.connect(self._tell)
            return spin, spin.value, False
        is_key = setting.key in _table()["keys"]
        kind = KeyField if is_key else VoiceField if setting.key == VOICE.key else QLineEdit
        line = kind(str(current))
        if not is_key:
            line.setPlaceholderText(str(setting.default))
        line.editingFinished.connect(self._tell)
        return line, line.text, True

    def _tell(self) -> None:
        value = self._value()
        if value != self._shown:
            self._shown = value
            self.chosen.emit(value)


def _number(theme: Theme, setting: Setting[Any], current: Any) -> QSpinBox | QDoubleSpinBox:
    unit = Unit(**_table()["units"].get(setting.key, {}))
    spin: QSpinBox | QDoubleSpinBox = Whole(theme, unit) if isinstance(setting.default, int) else Broken(theme, unit)
    kind = int if isinstance(setting.default, int) else float
    least = setting.minimum if setting.minimum is not None else -_MOST
    most = setting.maximum if setting.maximum is not None else _MOST
    spin.setRange(kind(least), kind(most))  # type: ignore[arg-type]
    spin.setValue(current)
    return spin


COMMAND = re.compile(r"(?:^|: )((?:sudo|pip|wisp|dbus-run-session|\./scripts/setup) .+)$")
"""The command at the end of what a finding says to do."""


def copy_button(command: str) -> PushButton:
    """Return a button that puts this command on the clipboard."""
    tr = QCoreApplication.translate
    made = PushButton(tr("Settings", "Copy the command"))
    made.setAccessibleDescription(command)

    def copy() -> None:
        QGuiApplication.clipboard().setText(command)
        made.setText(tr("Settings", "Copied."))

    made.clicked.connect(copy)
    return made
