"""The bubble's head: the name, what can be opened from here, and, while something runs, what that is and Stop."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt, Signal, SignalInstance
from PySide6.QtGui import QAccessible, QColor, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.ui.buttons import GlyphButton, WordButton
from app.ui.mirror import placed, put
from app.ui.orb.state import Orb
from app.ui.presenter.view import View
from app.ui.style import font
from app.ui.theme import Theme


class Header(QWidget):
    """`height_changed` says that the line of what runs has come or gone."""

    ROLE = QAccessible.Role.ToolBar
    history_wanted = Signal()
    news_wanted = Signal()
    usage_wanted = Signal()
    settings_wanted = Signal()
    minimised = Signal()
    closed = Signal()
    stop_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget, name: str) -> None:
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self._doing = ""
        self._orb = Orb.IDLE
        self._end = 0
        tr = QCoreApplication.translate
        self.history = self._button("history", tr("Bubble", "Conversations"), self.history_wanted)
        self.news = self._button("bell", tr("Bubble", "What happened"), self.news_wanted)
        self.usage = self._button("gauge", tr("Bubble", "Usage"), self.usage_wanted)
        self.settings = self._button("gear", tr("Bubble", "Settings"), self.settings_wanted)
        self.minimise = self._button("minus", tr("Bubble", "Minimise"), self.minimised)
        self.close_button = self._button("close", tr("Bubble", "Close"), self.closed)
        self.stop = WordButton(theme, tr("Bubble", "Stop"), "stop", self)
        self.stop.setToolTip(tr("Bubble", "Stop what Wisp is doing"))
        self.stop.clicked.connect(self.stop_wanted)
        self.stop.hide()

    @property
    def wanted_height(self) -> int:
        theme = self._theme
        return theme.size("header_height") + (0 if self.stop.isHidden() else theme.size("strip_height"))

    def show_view(self, view: View) -> None:
        self._doing = view.doing
        self._orb = view.orb
        self.news.set_count(view.unseen)
        self.stop.setVisible(view.running)
        self.setAccessibleName(f"{self._name}: {words}" if (words := self._words()) else self._name)
        self.update()

    def show_page(self, shown: GlyphButton | None) -> None:
        """Which of the buttons' pages is open."""
        for opener in (self.history, self.news, self.usage):
            opener.choose(chosen=opener is shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        theme = self._theme
        header, inset, grid = theme.size("header_height"), theme.size("padding"), theme.size("grid")
        x = self.width() - inset + grid
        groups = ((self.close_button, self.minimise), (self.settings, self.usage, self.news, self.history))
        for group in groups:
            for button in group:
                x -= button.width()
                place = QRect(x, (header - button.height()) // 2, button.width(), button.height())
                put(button, place, self.width())
            x -= theme.size("gap")
        stop = QRect(QPoint(self.width() - inset - self.stop.width(), header), self.stop.size())
        put(self.stop, stop, self.width())
        self._end = x

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inset, header = theme.size("padding"), theme.size("header_height")
        _, color, _ = theme.orb(self._orb.value)
        dot = theme.size("gap")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*color))
        whole, way = QRectF(self.rect()), self.layoutDirection()
        painter.drawEllipse(placed(QRectF(inset, header / 2 - dot / 2, dot, dot), whole, way))
        left = inset + dot + theme.size("gap")
        strong = font(theme, "title", strong=True)
        painter.setFont(strong)
        painter.setPen(QColor(*theme.color("ink")))
        place = QRectF(left, 0, self._end - left, header)
        name = QFontMetricsF(strong).elidedText(self._name, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(placed(place, whole, way), Qt.AlignmentFlag.AlignVCenter, name)
        used = left + QFontMetricsF(strong).horizontalAdvance(name) + theme.size("gap")
        if self.stop.isHidden():
            self._paint_words(painter, placed(QRectF(used, 0, self._end - used, header), whole, way))
        else:
            room = self.width() - inset - self.stop.width() - theme.size("gap") - left
            self._paint_words(painter, placed(QRectF(left, header, room, self.stop.height()), whole, way))

    def _paint_words(self, painter: QPainter, place: QRectF) -> None:
        theme, small = self._theme, font(self._theme, "small")
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        words = self._words()
        elided = QFontMetricsF(small).elidedText(words, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, elided)

    def _words(self) -> str:
        return self._doing or state_words(self._orb)

    def _button(self, glyph: str, name: str, pressed: SignalInstance) -> GlyphButton:
        button = GlyphButton(self._theme, glyph, name, self)
        button.clicked.connect(pressed)
        return button


def state_words(orb: Orb) -> str:
    """How things stand, where no single action says it."""
    tr = QCoreApplication.translate
    words = {
        Orb.THINKING: tr("State", "Thinking…"),
        Orb.BUSY: tr("State", "Working…"),
        Orb.LISTENING: tr("State", "Listening…"),
        Orb.NEEDS_YOU: tr("State", "Waiting for you"),
        Orb.DRIVING: tr("State", "Paused: you are driving"),
        Orb.ERROR: tr("State", "Something went wrong"),
    }
    return words.get(orb, "")
