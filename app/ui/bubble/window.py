"""The bubble: its window with header, thread and footer, and the small chip that stands for it."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QRect, QRectF, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetricsF,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.bubble.thread import Make, Thread
from app.ui.buttons import GlyphButton, WordButton
from app.ui.cards.contents import elapsed_words
from app.ui.orb.state import Orb
from app.ui.pages.listing import Page
from app.ui.presenter.view import View
from app.ui.presenter.wording import Row
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


class ReplyField(QAbstractButton):
    """A button to everybody who cannot see it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setText(QCoreApplication.translate("Bubble", "Say something…"))
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Write to Wisp"))
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

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
        painter.drawText(box.adjusted(inset, 0, -inset, 0), Qt.AlignmentFlag.AlignVCenter, self.text())


class BubbleWindow(Floating):
    """Never takes the focus by itself; `engage` lets the keyboard in when the person asks for it."""

    closed = Signal()
    reply_wanted = Signal()
    height_wanted = Signal()

    def __init__(self, theme: Theme, around: WindowDeps, make: Make, name: str) -> None:
        super().__init__(theme, around)
        self.setAccessibleName(name)
        self.header = Header(theme, self, name)
        self.header.closed.connect(self.closed)
        self.thread_view = Thread(theme, make, self)
        self.thread_view.wanted_height_changed.connect(lambda _: self.height_wanted.emit())
        self.reply = ReplyField(theme, self)
        self.reply.clicked.connect(self.reply_wanted)
        self.stop_button = self.header.stop
        self._page: Page | None = None
        self._may_write = True

    @property
    def page(self) -> Page | None:
        """What shows instead of the thread."""
        return self._page

    def show_view(self, view: View, rows: tuple[Row, ...]) -> None:
        """Show this state of things."""
        self.header.show_view(view)
        self.thread_view.show_rows(rows)

    def show_page(self, page: Page | None, button: GlyphButton | None = None) -> None:
        """Show a page, which belongs to a button of the header, instead of the thread; None shows the thread again."""
        self.header.show_page(button)
        if page is self._page:
            return
        if self._page is not None:
            self._page.hide()
        self._page = page
        if page is not None:
            page.setParent(self)
            page.show()
        self.thread_view.setVisible(page is None)
        self.reply.setVisible(page is None and self._may_write)
        self._arrange()
        self.height_wanted.emit()

    def set_footer(self, *, shown: bool) -> None:
        """With a footer there is a way to the composer; without one the composer itself is open."""
        self._may_write = shown
        wanted = shown and self._page is None
        if self.reply.isHidden() == wanted:
            self.reply.setVisible(wanted)
            self._arrange()
            self.height_wanted.emit()

    def wanted_size(self, most: int) -> QSize:
        """The body's size: as high as the thread or the page, at most `most`."""
        theme, header = self.theme, self.header.wanted_height
        inner = self._page.wanted_height if self._page is not None else self.thread_view.wanted_height
        height = header + inner + self._footer() + theme.size("gap")
        return QSize(theme.size("bubble_width"), max(min(height, most), header))

    def engage(self) -> None:
        """Let the keyboard in: the person has asked for it."""
        self._accept_focus(accepts=True)
        self.activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        elif event.key() == Qt.Key.Key_F6:
            self.reply_wanted.emit()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: FBT001 - Qt's signature
        """Tab goes as the eye does, from top to bottom: rows of the thread are made in any order."""
        stops = [child for child in self.findChildren(QWidget) if _may_be_reached(child)]
        stops.sort(key=lambda child: (child.mapTo(self, child.rect().topLeft()).toTuple())[::-1])
        if not stops:
            return False
        now = self.focusWidget()
        index = stops.index(now) + (1 if forward else -1) if now in stops else 0
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        stops[index % len(stops)].setFocus(reason)
        self.thread_view.bring_into_sight(stops[index % len(stops)])
        return True

    def hideEvent(self, event: QHideEvent) -> None:
        self._accept_focus(accepts=False)
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paint_base(QPainter(self))

    def _accept_focus(self, *, accepts: bool) -> None:
        window = self.windowHandle()
        if window is not None:
            window.setFlag(Qt.WindowType.WindowDoesNotAcceptFocus, not accepts)

    def _footer(self) -> int:
        return 0 if self.reply.isHidden() else self.theme.size("footer_height") + self.theme.size("gap")

    def _arrange(self) -> None:
        theme, body = self.theme, self.body().toRect()
        header, inset = self.header.wanted_height, theme.size("padding")
        self.header.setGeometry(body.x(), body.y(), body.width(), header)
        top, footer = body.y() + header, self._footer()
        inner = max(body.bottom() + 1 - top - footer, 0)
        if self._page is not None:
            self._page.setGeometry(body.x(), top, body.width(), max(inner - theme.size("gap"), 0))
        else:
            self.thread_view.setGeometry(body.x(), top, body.width(), inner)
        field = theme.size("footer_height") - theme.size("gap")
        self.reply.setGeometry(
            body.x() + inset, body.bottom() + 1 - inset + theme.size("grid") - field, body.width() - 2 * inset, field
        )


def _may_be_reached(child: QWidget) -> bool:
    reached = bool(child.focusPolicy() & Qt.FocusPolicy.TabFocus) and child.focusProxy() is None
    return reached and child.isVisible() and child.isEnabled()
