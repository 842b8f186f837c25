"""The buttons of the presence: a small one with a glyph, and one with words."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.theme import drawing
from app.ui.theme.drawing import font
from app.ui.theme.theme import Theme


class GlyphButton(QAbstractButton):
    """A square with a glyph; `name` is read out and shown as its tip. `filled` stands on the accent colour."""

    def __init__(self, theme: Theme, glyph: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._glyph = glyph
        self._name = name
        self._count = 0
        self._chosen = False
        self.filled = False
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setFixedSize(self.sizeHint())
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def sizeHint(self) -> QSize:
        side = self._theme.size("icon_button")
        return QSize(side, side)

    def choose(self, *, chosen: bool) -> None:
        """What it opens is open."""
        self._chosen = chosen
        self.update()

    def set_count(self, count: int) -> None:
        """How many new things are behind it: a dot, and the number for who cannot see it."""
        if count != self._count:
            self._count = count
            self.setAccessibleName(f"{self._name} ({count})" if count else self._name)
            self.setToolTip(self.accessibleName())
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        ground = _ground(self, theme, filled=self.filled, down=self.isDown() or self._chosen)
        if ground is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ground)
            radius = box.height() / 2 if self.filled else theme.size("button_radius")
            painter.drawRoundedRect(box, radius, radius)
        side = theme.size("small_glyph")
        place = QRectF(box.center().x() - side / 2, box.center().y() - side / 2, side, side)
        color = theme.color("accent_ink" if self.filled and self.isEnabled() else "ink" if self._hot() else "muted")
        drawing.draw(painter, self._glyph, place, color)
        if self._count:
            _dot(painter, place, theme)
        if self.hasFocus():
            _ring(painter, box, theme, theme.size("button_radius"))

    def _hot(self) -> bool:
        return self.isEnabled() and (self.underMouse() or self.isDown() or self.hasFocus() or self._chosen)


class WordButton(QAbstractButton):
    """A button with words, outlined; `glyph` stands before them. `armed_share` draws a thin line that fills."""

    def __init__(self, theme: Theme, words: str, glyph: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._glyph = glyph
        self._armed_share = 1.0
        self.setText(words)
        self.setAccessibleName(words)
        self.setFont(font(theme, "text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        theme = self._theme
        glyph = theme.size("small_glyph") + theme.size("grid") if self._glyph else 0
        words = QFontMetricsF(font(theme, "text", strong=True)).horizontalAdvance(self.text())
        return QSize(round(words) + glyph + 2 * theme.size("padding") + 2, theme.size("button_height"))

    def set_armed(self, share: float) -> None:
        """How far the line at its bottom is filled, 0 to 1; it disappears at 1."""
        self._armed_share = share
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        radius = theme.size("button_radius")
        hot = self.isEnabled() and (self.underMouse() or self.isDown())
        painter.setPen(QPen(QColor(*theme.color("muted" if hot else "hairline")), 1))
        painter.setBrush(QColor(*theme.color("sunken" if self.isDown() else "raised" if hot else "paper")))
        painter.drawRoundedRect(box, radius, radius)
        if self.hasFocus():
            _ring(painter, box, theme, radius)
        self._paint_words(painter, box)
        if self._armed_share < 1.0:
            left = box.left() + radius
            width = (box.width() - 2 * radius) * self._armed_share
            painter.fillRect(QRectF(left, box.bottom() - 2, width, 2), QColor(*theme.color("muted")))

    def _paint_words(self, painter: QPainter, box: QRectF) -> None:
        theme = self._theme
        side, space = theme.size("small_glyph"), theme.size("grid")
        color = theme.color("ink" if self.isEnabled() else "muted")
        painter.setFont(font(theme, "text", strong=self.hasFocus()))
        words = painter.fontMetrics().horizontalAdvance(self.text())
        whole = words + (side + space if self._glyph else 0)
        x = box.center().x() - whole / 2
        if self._glyph:
            drawing.draw(painter, self._glyph, QRectF(x, box.center().y() - side / 2, side, side), color)
            x += side + space
        painter.setPen(QColor(*color))
        painter.drawText(QRectF(x, box.top(), words + 4, box.height()), Qt.AlignmentFlag.AlignVCenter, self.text())


class LinkButton(WordButton):
    """Words without a frame, for what is quieter than a button."""

    def sizeHint(self) -> QSize:
        words = QFontMetricsF(font(self._theme, "small")).horizontalAdvance(self.text())
        return QSize(
            round(words) + 2 * self._theme.size("grid"), self._theme.type("small").line + self._theme.size("grid")
        )

    def height_for(self, width: int) -> int:
        return self.sizeHint().height()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setFont(font(theme, "small"))
        hot = self.underMouse() or self.hasFocus()
        painter.setPen(QColor(*theme.color("ink" if hot else "muted")))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, self.text())


def _ground(button: QAbstractButton, theme: Theme, *, filled: bool, down: bool) -> QColor | None:
    if filled:
        return QColor(*theme.color("accent_fill" if button.isEnabled() else "hairline"))
    hot = button.isEnabled() and (button.underMouse() or down)
    return QColor(*theme.color("sunken" if down else "raised")) if hot else None


def _dot(painter: QPainter, glyph: QRectF, theme: Theme) -> None:
    """At the glyph's upper right, with a thin edge so that it shows on the glyph."""
    radius = theme.size("gap") / 2
    painter.setPen(QPen(QColor(*theme.color("paper")), 1.5))
    painter.setBrush(QColor(*theme.color("accent_fill")))
    painter.drawEllipse(glyph.topRight() + QPointF(-1, 2), radius, radius)


def _ring(painter: QPainter, box: QRectF, theme: Theme, radius: float) -> None:
    """Where the keyboard is."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*theme.color("accent")), 2))
    painter.drawRoundedRect(box, radius, radius)
