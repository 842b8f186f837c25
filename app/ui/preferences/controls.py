"""Switches, radio buttons and fields, drawn from the theme's tokens like everything else of the presence."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDoubleSpinBox, QRadioButton, QSpinBox

from app.ui import icons
from app.ui.theme import Theme


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
        icons.draw(painter, "chevron", QRectF(-side / 2, -side / 2, side, side), theme.color("muted"))


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
