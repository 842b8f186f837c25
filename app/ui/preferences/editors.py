"""The widgets in which values of settings are edited: switches, radio buttons, lists, numbers, keys and voices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QValidator,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QCompleter,
    QDoubleSpinBox,
    QLineEdit,
    QRadioButton,
    QScrollArea,
    QSpinBox,
    QWidget,
)

from app.base.values import dataclass
from app.ui.buttons import DrawnButton, is_return
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
            paint_focus(painter, QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75), theme, radius + 1)


class Radio(QRadioButton):
    """One of few values, all visible, of which one is chosen."""

    def __init__(self, theme: Theme, words: str, value: str = "") -> None:
        super().__init__(words)
        self._theme = theme
        self.value = value
        self.setFont(drawing.font(theme, "text"))
        self.setMinimumHeight(theme.size("switch") + 4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_return(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Scroll to this button, because Qt does so for the Tab key only."""
        super().focusInEvent(event)
        around = self.parentWidget()
        while around is not None and not isinstance(around, QScrollArea):
            around = around.parentWidget()
        if around is not None:
            around.ensureWidgetVisible(self)

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
            paint_focus(painter, box.adjusted(-1, -1, 1, 1), theme, side)
        room = theme.size("glyph") + theme.size("gap")
        words = self.rect().adjusted(0 if right_to_left else room, 0, -room if right_to_left else 0, 0)
        painter.setPen(QColor(*theme.color("ink" if able else "muted")))
        align = Qt.AlignmentFlag.AlignVCenter | (
            Qt.AlignmentFlag.AlignRight if right_to_left else Qt.AlignmentFlag.AlignLeft
        )
        painter.drawText(words, align | Qt.AlignmentFlag.AlignAbsolute, self.text())

    def hitButton(self, place: QPoint) -> bool:
        return self.isEnabled() and self.rect().contains(place)


class RadioGroup(QWidget):
    """Some values, all visible, of which one is chosen. They stand in rows, as many in each as fit."""

    ROLE = QAccessible.Role.Grouping
    chosen = Signal()

    def __init__(self, theme: Theme, buttons: Sequence[Radio], current: str) -> None:
        super().__init__()
        self._theme = theme
        self._buttons = buttons
        self._group = QButtonGroup(self)
        for button in buttons:
            button.setParent(self)
            self._group.addButton(button)
        self.show_value(current)
        self._group.buttonClicked.connect(self._choose)
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def value(self) -> str:
        return next(button.value for button in self._buttons if button.isChecked())

    def show_value(self, value: str) -> None:
        chosen = next(button for button in self._buttons if button.value == value)
        chosen.setChecked(True)
        self.setFocusProxy(chosen)

    def _choose(self, chosen: Radio) -> None:
        self.setFocusProxy(chosen)
        self.chosen.emit()

    def sizeHint(self) -> QSize:
        most = self._theme.size("settings_width")
        return QSize(most, self.heightForWidth(most))

    def minimumSizeHint(self) -> QSize:
        hints = [button.sizeHint() for button in self._buttons]
        return QSize(max(hint.width() for hint in hints), max(hint.height() for hint in hints))

    def heightForWidth(self, width: int) -> int:
        return max(place.bottom() + 1 for place in self._places(width))

    def resizeEvent(self, event: QResizeEvent) -> None:
        for button, place in zip(self._buttons, self._places(self.width()), strict=True):
            drawing.put(button, place, self.width())

    def _places(self, width: int) -> list[QRect]:
        gap = self._theme.size("card_padding")
        places: list[QRect] = []
        for hint in (button.sizeHint() for button in self._buttons):
            x, y = (places[-1].right() + 1 + gap, places[-1].y()) if places else (0, 0)
            if places and x + hint.width() > width:
                x, y = 0, places[-1].bottom() + 1 + gap
            places.append(QRect(x, y, hint.width(), hint.height()))
        return places


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
        _show_unit(self, theme, unit)

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
        _show_unit(self, theme, unit)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def textFromValue(self, value: float) -> str:
        text, point = super().textFromValue(value / self._unit.holds), self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text

    def valueFromText(self, text: str) -> float:
        return super().valueFromText(text) * self._unit.holds


def _show_unit(field: Whole | Broken, theme: Theme, unit: Unit) -> None:
    field.setSuffix(f" {QCoreApplication.translate('Settings', unit.text)}" if unit.text else "")
    field.setSingleStep(unit.holds)
    field.setGroupSeparatorShown(True)
    # The style sheet's padding does not reach the line inside.
    field.lineEdit().setTextMargins(theme.count("grid"), 0, theme.count("grid"), 0)


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


LookUp = Callable[[Callable[[Sequence[str]], None]], None]
"""Looks up what a field may hold, and calls the function with it, at once or later."""


class OfferingField(QLineEdit):
    """A field that offers what it may hold, and completes a part of it.

    It is looked up at each click and when the person begins to type, because it may change, and take long.
    """

    def __init__(self, text: str, look_up: LookUp) -> None:
        super().__init__(text)
        self.setPlaceholderText(QCoreApplication.translate("Settings", "Click here to choose one"))
        self._look_up = look_up
        self._offered: QCompleter | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._look_up(self._offer)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._offered is None:
            self._look_up(self._take)
        popup = self._offered.popup() if self._offered is not None else None
        if popup is not None and popup.isVisible() and is_return(event):
            event.ignore()  # so that it chooses in the list: a part of a name is none
        else:
            super().keyPressEvent(event)

    def _offer(self, names: Sequence[str]) -> None:
        self._take(names)
        if self._offered is not None and self.window().focusWidget() is self:
            self._offered.setCompletionPrefix("")
            self._offered.complete()

    def _take(self, names: Sequence[str]) -> None:
        if not names:
            return
        self._offered = made = QCompleter(list(names), self)
        made.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        made.setFilterMode(Qt.MatchFlag.MatchContains)
        made.activated.connect(self._choose)
        self.setCompleter(made)
        if (popup := made.popup()) is not None:
            popup.setFont(self.font())

    def _choose(self, name: str) -> None:
        self.setText(name)
        self.editingFinished.emit()


def look_up_voices(found: Callable[[Sequence[str]], None]) -> None:
    """Look up the voices of the system. If nothing can speak here, there are none."""
    from app.ui.system.speech import QtEngine

    try:
        found(QtEngine().voices())
    except ValueError:  # because that is told when it is to speak
        found(())


def paint_focus(painter: QPainter, box: QRectF, theme: Theme, radius: float) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*theme.color("accent")), 1.5))
    painter.drawRoundedRect(box, radius, radius)
