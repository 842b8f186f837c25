"""The bubble: a header that says what happens now, the thread or a page, and a footer that leads to the composer."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui.bubble.header import Header
from app.ui.bubble.thread import Make, Thread
from app.ui.buttons import GlyphButton
from app.ui.pages.listing import Page
from app.ui.presenter.view import View
from app.ui.presenter.wording import Row
from app.ui.theme.drawing import font
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps


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
        before = self.header.wanted_height
        self.header.show_view(view)
        self.thread_view.show_rows(rows)
        if self.header.wanted_height != before:
            self._arrange()
            self.height_wanted.emit()

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
