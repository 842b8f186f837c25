"""The bubble: a header that says what happens now, the thread, and a footer that leads to the composer."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.ui.bubble.thread import Make, Thread
from app.ui.buttons import GlyphButton, WordButton
from app.ui.floating import Floating, Surroundings
from app.ui.presenter.folding import Row
from app.ui.presenter.view import Orb, View
from app.ui.style import font
from app.ui.theme import Theme


class BubbleWindow(Floating):
    """Never takes the focus by itself; `engage` lets the keyboard in when the person asks for it."""

    closed = Signal()
    minimised = Signal()
    settings_wanted = Signal()
    stop_wanted = Signal()
    reply_wanted = Signal()
    height_wanted = Signal()

    def __init__(self, theme: Theme, around: Surroundings, make: Make, name: str) -> None:
        super().__init__(theme, around)
        self._name = name
        self._doing = ""
        self._orb = Orb.IDLE
        self.setAccessibleName(name)
        tr = QCoreApplication.translate
        self.thread_view = Thread(theme, make, self)
        self.thread_view.wanted_height_changed.connect(lambda _: self.height_wanted.emit())
        self.close_button = GlyphButton(theme, "close", tr("Bubble", "Close"), self)
        self.close_button.clicked.connect(self.closed)
        self.minimise_button = GlyphButton(theme, "minus", tr("Bubble", "Minimise"), self)
        self.minimise_button.clicked.connect(self.minimised)
        self.settings_button = GlyphButton(theme, "gear", tr("Bubble", "Settings"), self)
        self.settings_button.clicked.connect(self.settings_wanted)
        self.stop_button = WordButton(theme, tr("Bubble", "Stop"), "stop", self)
        self.stop_button.setToolTip(tr("Bubble", "Stop what Wisp is doing"))
        self.stop_button.clicked.connect(self.stop_wanted)
        self.stop_button.hide()
        self.reply = ReplyField(theme, self)
        self.reply.pressed.connect(self.reply_wanted)

    def show_view(self, view: View, rows: tuple[Row, ...]) -> None:
        """Show this state of things."""
        self._doing = view.doing
        self._orb = view.orb
        self.stop_button.setVisible(view.running)
        self.thread_view.show_rows(rows)
        self._arrange()
        self.update(0, 0, self.width(), self.margin + self.theme.size("header_height"))

    def set_footer(self, *, shown: bool) -> None:
        """With a footer there is a way to the composer; without one the composer itself is open."""
        if self.reply.isHidden() == shown:
            self.reply.setVisible(shown)
            self._arrange()
            self.height_wanted.emit()

    def wanted_size(self, most: int) -> QSize:
        """The body's size: as high as the thread, at most `most`."""
        theme = self.theme
        height = theme.size("header_height") + self.thread_view.wanted_height + self._footer() + theme.size("gap")
        return QSize(theme.size("bubble_width"), max(min(height, most), theme.size("header_height")))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        body = self.body()
        inset, header = theme.size("padding"), theme.size("header_height")
        _, color, _ = theme.orb(self._orb.value)
        dot = theme.size("gap")
        middle = body.top() + header / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*color))
        painter.drawEllipse(QRectF(body.left() + inset, middle - dot / 2, dot, dot))
        left = body.left() + inset + dot + theme.size("gap")
        strong = font(theme, "title", strong=True)
        painter.setFont(strong)
        painter.setPen(QColor(*theme.color("ink")))
        name_width = QFontMetricsF(strong).horizontalAdvance(self._name)
        painter.drawText(QRectF(left, body.top(), name_width + 2, header), Qt.AlignmentFlag.AlignVCenter, self._name)
        self._paint_doing(painter, QRectF(left + name_width + theme.size("gap"), body.top(), 0, header))

    def _paint_doing(self, painter: QPainter, place: QRectF) -> None:
        theme = self.theme
        first = self.settings_button if self.stop_button.isHidden() else self.stop_button
        place.setRight(first.x() - theme.size("gap"))
        small = font(theme, "small")
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        words = self._doing or _state_words(self._orb)
        elided = QFontMetricsF(small).elidedText(words, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, elided)

    def _footer(self) -> int:
        return 0 if self.reply.isHidden() else self.theme.size("footer_height") + self.theme.size("gap")

    def _arrange(self) -> None:
        theme, body = self.theme, self.body().toRect()
        header, inset = theme.size("header_height"), theme.size("padding")
        x = body.right() + 1 - inset + theme.size("grid")
        buttons: tuple[QWidget, ...] = (self.close_button, self.minimise_button, self.settings_button, self.stop_button)
        for button in buttons:
            if button is self.stop_button and button.isHidden():
                continue
            x -= button.width()
            button.move(x, body.y() + (header - button.height()) // 2)
            x -= theme.size("grid") if button is not self.settings_button else theme.size("gap")
        top = body.y() + header
        footer = self._footer()
        self.thread_view.setGeometry(body.x(), top, body.width(), max(body.bottom() + 1 - top - footer, 0))
        field = theme.size("footer_height") - theme.size("gap")
        self.reply.setGeometry(
            body.x() + inset, body.bottom() + 1 - inset + theme.size("grid") - field, body.width() - 2 * inset, field
        )


class ReplyField(QWidget):
    """Looks like the field one writes into; pressing it opens the real one."""

    pressed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._words = QCoreApplication.translate("Bubble", "Say something…")
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Write to Wisp"))
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.pressed.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QColor(*theme.color("accent" if self.hasFocus() else "hairline")))
        painter.setBrush(QColor(*theme.color("raised")))
        painter.drawRoundedRect(box, theme.size("card_radius"), theme.size("card_radius"))
        painter.setFont(font(theme, "text"))
        painter.setPen(QColor(*theme.color("muted")))
        inset = theme.size("card_padding")
        painter.drawText(box.adjusted(inset, 0, -inset, 0), Qt.AlignmentFlag.AlignVCenter, self._words)


def _state_words(orb: Orb) -> str:
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
