"""One setting: its name and meaning, and the field that fits its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QLineEdit,
    QRadioButton,
    QSpinBox,
    QWidget,
)

from app.base import resources
from app.base.values import dataclass
from app.settings.catalog import ALL, Setting
from app.settings.providers import providers
from app.ui.theme import drawing
from app.ui.theme.theme import Theme


class Switch(QAbstractButton):
    """On or off, at the touch of a finger. The knob's side tells as well as the colour."""

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
    """One of several."""

    def __init__(self, theme: Theme, words: str) -> None:
        super().__init__(words)
        self._theme = theme
        self.setMinimumHeight(theme.size("switch") + 4)

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
    """One of a list. Scrolling the page over it changes nothing."""

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


class Whole(QSpinBox):
    """A whole number, typed or changed with the arrow keys."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setGroupSeparatorShown(True)
        # The style sheet's padding does not reach the line inside.
        self.lineEdit().setTextMargins(theme.count("grid"), 0, theme.count("grid"), 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class Broken(QDoubleSpinBox):
    """A number with as many decimals as it needs."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setGroupSeparatorShown(True)
        # The style sheet's padding does not reach the line inside.
        self.lineEdit().setTextMargins(theme.count("grid"), 0, theme.count("grid"), 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def textFromValue(self, value: float) -> str:
        text, point = super().textFromValue(value), self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text


def _focus(painter: QPainter, box: QRectF, theme: Theme, radius: float) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*theme.color("accent")), 1.5))
    painter.drawRoundedRect(box, radius, radius)


@dataclass(frozen=True, slots=True)
class PreferencesPage:
    """`extra` names what stands between the main settings and the rest: keys, engines, findings or folders."""

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
    """All pages, in their order."""
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
    """A setting's name for people, translated."""
    return QCoreApplication.translate("Settings", english_label(setting))


def english_label(setting: Setting[Any]) -> str:
    """As the table has it, or else made of the key."""
    name = setting.key.partition(".")[2].replace("_", " ")
    found: str = _table()["labels"].get(setting.key, name[:1].upper() + name[1:])
    return found


def choice_label(name: str) -> str:
    """One of a setting's choices for people, translated."""
    return QCoreApplication.translate("Settings", english_choice(name))


def english_choice(name: str) -> str:
    if name in providers():
        return providers()[name].label
    found: str = _table()["choices"].get(name, name) if name else "automatic"
    return found


def about(setting: Setting[Any]) -> str:
    """What a setting does, translated."""
    return QCoreApplication.translate("Settings", setting.description)


_MOST = 2_000_000_000


class SettingField(QWidget):
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
        name, meaning = (
            drawing.words_label(theme, label(setting), strong=True),
            drawing.words_label(theme, about(setting), quiet=True),
        )
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
        line = QLineEdit(str(current))
        line.setPlaceholderText(str(setting.default))
        line.editingFinished.connect(self._tell)
        return line, line.text, True

    def _tell(self) -> None:
        value = self._value()
        if value != self._shown:
            self._shown = value
            self.chosen.emit(value)


def _number(theme: Theme, setting: Setting[Any], current: Any) -> QSpinBox | QDoubleSpinBox:
    spin: QSpinBox | QDoubleSpinBox = Whole(theme) if isinstance(setting.default, int) else Broken(theme)
    kind = int if isinstance(setting.default, int) else float
    least = setting.minimum if setting.minimum is not None else -_MOST
    most = setting.maximum if setting.maximum is not None else _MOST
    spin.setRange(kind(least), kind(most))  # type: ignore[arg-type]
    spin.setValue(current)
    return spin
