"""The bubble's head: the name, what can be opened from here, and, while something runs, what that is and Stop."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QRect, QRectF, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetricsF,
    QHideEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from app.ui.buttons import GlyphButton, WordButton
from app.ui.cards.contents import elapsed_words
from app.ui.orb.state import Orb
from app.ui.presenter.view import View
from app.ui.theme.drawing import font, placed, put
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps


class Header(QWidget):
    """One line of constant height. While a turn runs, Stop stands where the pages' buttons are otherwise."""

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
        return self._theme.size("header_height")

    def show_view(self, view: View) -> None:
        self._doing = view.doing
        self._orb = view.orb
        self.news.set_count(view.unseen)
        if self.stop.isHidden() is view.running:
            for page in (self.history, self.usage, self.settings):
                page.setVisible(not view.running)
            self.stop.setVisible(view.running)
            self._arrange()
        words = view.doing or self._words()
        self.setAccessibleName(f"{self._name}: {words}" if words else self._name)
        self.update()

    def show_page(self, shown: GlyphButton | None) -> None:
        """Which of the buttons' pages is open."""
        for opener in (self.history, self.news, self.usage):
            opener.choose(chosen=opener is shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        theme = self._theme
        header, inset, grid = theme.size("header_height"), theme.size("padding"), theme.size("grid")
        x = self.width() - inset + grid
        groups = ((self.close_button, self.minimise), (self.settings, self.usage, self.news, self.history, self.stop))
        for group in groups:
            for button in group:
                if button.isHidden():
                    continue
                x -= button.width()
                place = QRect(x, (header - button.height()) // 2, button.width(), button.height())
                put(button, place, self.width())
            x -= theme.size("gap")
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
        self._paint_words(painter, placed(QRectF(used, 0, self._end - used, header), whole, way))

    def _paint_words(self, painter: QPainter, place: QRectF) -> None:
        theme, small = self._theme, font(self._theme, "small")
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        words = self._words()
        elided = QFontMetricsF(small).elidedText(words, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, elided)

    def _words(self) -> str:
        """How things stand, unless a step in the thread says it already."""
        return state_words(self._orb) if not self._doing or self._orb is Orb.NEEDS_YOU else ""

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


class ChipWindow(Floating):
    """`clicked` is the press. Once the turn has ended it says how, for a while, and goes."""

    ROLE = QAccessible.Role.Button
    clicked = Signal()

    def __init__(self, theme: Theme, around: WindowDeps) -> None:
        super().__init__(theme, around)
        self._view = View()
        self._words = ""
        self._elapsed = ""
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._seconds = QTimer(self)
        self._seconds.setInterval(1000)
        self._seconds.timeout.connect(self._tell)
        self._end = QTimer(self)
        self._end.setSingleShot(True)
        self._end.setInterval(theme.ms("notice_hides"))
        self._end.timeout.connect(self.hide)

    def show_view(self, view: View) -> None:
        """Say how things stand now."""
        self._view = view
        if view.running:
            self._end.stop()
            self._seconds.start()
        else:
            self._seconds.stop()
            self._end.start()
        self._tell()

    def press(self) -> None:
        """What a click does."""
        self.clicked.emit()

    def body_size(self) -> QSize:
        return QSize(self.theme.size("minimised_width"), self.theme.size("minimised_height"))

    def hideEvent(self, event: QHideEvent) -> None:
        self._seconds.stop()
        self._end.stop()
        super().hideEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.press()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        body, gap, dot = self.body(), theme.size("gap"), theme.size("gap")
        _, color, _ = theme.orb(self._view.orb.value)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*color))
        left = body.left() + theme.size("card_padding")
        way = self.layoutDirection()
        painter.drawEllipse(placed(QRectF(left, body.center().y() - dot / 2, dot, dot), body, way))
        small = font(theme, "small")
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        right = body.right() - theme.size("card_padding")
        wide = QFontMetricsF(small).horizontalAdvance(self._elapsed)
        place = QRectF(right - wide, body.top(), wide + 1, body.height())
        painter.drawText(placed(place, body, way), Qt.AlignmentFlag.AlignVCenter, self._elapsed)
        painter.setPen(QColor(*theme.color("ink")))
        room = QRectF(left + dot + gap, body.top(), right - wide - gap - left - dot - gap, body.height())
        elided = QFontMetricsF(small).elidedText(self._words, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(placed(room, body, way), Qt.AlignmentFlag.AlignVCenter, elided)

    def _tell(self) -> None:
        view, tr = self._view, QCoreApplication.translate
        done = tr("State", "Done") if view.orb in (Orb.IDLE, Orb.SLEEP) else state_words(view.orb)
        self._words = (view.doing or state_words(view.orb)) if view.running else done
        self._elapsed = elapsed_words(time.monotonic() - view.since) if view.running else ""
        self.setAccessibleName(f"{self._words} {self._elapsed}".strip())
        self.update()
