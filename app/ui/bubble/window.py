"""The surface that holds thread, pages and composer and grows out of the orb."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from app.base.geometry import Rect
from app.ui.bubble.thread import Make, Thread
from app.ui.composer.home import HomeView
from app.ui.composer.window import ComposerView
from app.ui.pages.listing import Page
from app.ui.presenter.view import View
from app.ui.presenter.wording import Row
from app.ui.theme.motion import Growth, Ticker, fade_in, fade_out
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps
from app.ui.windows.orb_placement import Arrangement

_LONGEST_STEP_S = 0.034


class BubbleWindow(Floating):
    """The surface: what happened, a page or nothing, and beside it the composer, which never moves.

    It never takes the focus by itself; `engage` lets the keyboard in when the person asks for it.
    """

    closed = Signal()
    height_wanted = Signal()

    def __init__(self, theme: Theme, around: WindowDeps, ticker: Ticker, make: Make, words: tuple[str, str]) -> None:
        """`words` are its name and what stands in the empty field."""
        super().__init__(theme, around)
        name, placeholder = words
        self._ticker = ticker
        self._step = f"grow {id(self)}"
        self._growth: Growth | None = None
        self._placed: Rect | None = None
        self._most = 0
        self._leaving = False
        self._above = True
        self.setAccessibleName(name)
        self._frame = QWidget(self)
        self._sheet = QWidget(self._frame)
        self.thread_view = Thread(theme, make, self._sheet)
        self.thread_view.wanted_height_changed.connect(lambda _: self.height_wanted.emit())
        self.thread_view.hide()
        self.composer = ComposerView(theme, placeholder, name, self._sheet)
        self.composer.height_wanted.connect(self.height_wanted)
        self.composer.keyboard_wanted.connect(self.engage)
        self.header = self.composer.header
        self.header.closed.connect(self.closed)
        self.stop_button = self.header.stop
        self.home = HomeView(theme, self._sheet)
        self.home.typed.connect(self._type)
        self.composer.choosing.connect(self.home.enter)
        self._page: Page | None = None
        self._has_rows = False

    @property
    def page(self) -> Page | None:
        """What shows instead of the thread."""
        return self._page

    @property
    def is_leaving(self) -> bool:
        """Whether it is on its way to being hidden."""
        return self._leaving

    def show_view(self, view: View, rows: tuple[Row, ...]) -> None:
        """Show this state of things."""
        self.header.show_view(view)
        self.thread_view.show_rows(rows)
        if self._has_rows is not bool(rows):
            self._has_rows = bool(rows)
            self._show_content()

    def show_page(self, page: Page | None) -> None:
        """Show a page instead of the thread; None shows the thread again."""
        if page is self._page:
            return
        if self._page is not None:
            self._page.hide()
        self._page = page
        if page is not None:
            page.setParent(self._sheet)
            page.show()
        self._show_content()

    def wanted_size(self, most: int) -> QSize:
        """The body's size: as high as the thread or the page and the composer, at most `most`."""
        self._most = most
        height = self.composer.wanted_height + self._inner_height()
        return QSize(self.theme.size("bubble_width"), min(height, most))

    # -- growing and shrinking

    def open_at(self, found: Arrangement) -> None:
        """Show it there, grown out of its seed."""
        was_leaving, self._leaving = self._leaving, False
        self._above = found.above
        if self.isVisible() and self._moves():
            self._grow(self.body_rect(), found.body, self.theme.ms("open"))
            return
        self._put(found.body)
        if self._fades():
            if not self.isVisible() or was_leaving:
                fade_in(self, self._ticker, self.theme.motion_ms("open"))
            return
        if self._moves():
            self._grow(found.seed, found.body, self.theme.ms("open"))
        self.show()

    def move_to(self, found: Arrangement) -> None:
        """Be there from now on: glide where only the height changes, else at once."""
        if self._leaving or found.body == self._placed:
            return
        before, self._above = self._placed, found.above
        stays = before is not None and _anchor(before, found) == _anchor(found.body, found)
        if stays and self.isVisible() and self._moves():
            self._grow(self.body_rect(), found.body, self.theme.ms("open"))
        else:
            self._end_growth()
            self._put(found.body)

    def leave_to(self, found: Arrangement) -> None:
        """Shrink away; hidden in the end."""
        self._leaving = True
        if self._fades():
            fade_out(self, self._ticker, self.theme.motion_ms("close"))
        elif self._moves():
            self._grow(self.body_rect(), found.seed, self.theme.ms("close"))
        else:
            self.hide()

    def body(self) -> QRectF:
        if self._growth is None:
            return QRectF(self._target())
        corner = self.geometry().topLeft()
        return self._growth.value.translated(-corner.x(), -corner.y())

    def shape(self) -> None:
        super().shape()
        server = self.around.server
        if server is not None and self.isVisible() and self.isWindow():
            paper = self.theme.color("paper")
            opaque = paper.red << 16 | paper.green << 8 | paper.blue
            server.steady(int(self.winId()), 0 if self.around.composited else opaque, above=self._above)

    def _moves(self) -> bool:
        """Only with a compositor, because elsewhere window and shape do not change in the same moment."""
        return self.around.composited and not self.theme.reduced

    def _fades(self) -> bool:
        return self.theme.reduced and self.around.composited

    def _grow(self, start: Rect, end: Rect, duration_ms: int) -> None:
        """The window is at once as large as it will be; what is drawn of it follows."""
        self._growth = Growth(_real(start), _real(end), duration_ms)
        self._put(end if end.size.area >= start.size.area else start)
        self._ticker.run(self._step, self._advance)

    def _advance(self, elapsed_s: float) -> bool:
        growth = self._growth
        if growth is None:
            return False
        growth.advance(min(elapsed_s, _LONGEST_STEP_S))  # because a slow frame may not leave out the others
        if growth.is_there:
            self._end_growth()
        else:
            self._show_growth()
        return not growth.is_there

    def _end_growth(self) -> None:
        ended, self._growth = self._growth, None
        if ended is None:
            return
        self._ticker.end(self._step)
        if self._leaving:
            self.hide()
        else:
            self._put(_whole(ended.goal))
        self._show_growth()
        self.shape()

    def _show_growth(self) -> None:
        body = self.body().toAlignedRect()
        self._frame.setGeometry(body)
        self._sheet.move(self._target().topLeft() - body.topLeft())
        self.update()

    def _put(self, rect: Rect) -> None:
        self._placed = rect
        self.place_body(rect if self.around.composited else self._room(rect))
        self._arrange()
        if not self.around.composited:
            self.shape()
            self.update()

    def _room(self, rect: Rect) -> Rect:
        """Without a compositor the window is at once as large as it may become, and its shape shows some of it.

        Otherwise an empty frame would show whenever it grows: the program paints it in its new size before, or after,
        the window manager makes it so large.
        """
        screen = QGuiApplication.screenAt(QPoint(rect.center.x, rect.center.y)) or QGuiApplication.primaryScreen()
        free = screen.availableGeometry()
        if self._above:
            top = min(max(rect.bottom - self._most, free.top()), rect.y)
            return Rect(rect.x, top, rect.width, rect.bottom - top)
        bottom = max(min(rect.y + self._most, free.top() + free.height()), rect.bottom)
        return Rect(rect.x, rect.y, rect.width, bottom - rect.y)

    def _target(self) -> QRect:
        """Where the whole of it is, in the window."""
        if self.around.composited or self._placed is None:
            return super().body().toRect()
        corner, placed = self.geometry().topLeft(), self._placed
        return QRect(placed.x - corner.x(), placed.y - corner.y(), placed.width, placed.height)

    # -- the keyboard

    def engage(self) -> None:
        """Let the keyboard in: the person has asked for it. Always, because Qt hears later that it was given away."""
        self.accept_focus(accepts=True)
        self.raise_()
        self.activateWindow()

    def accept_focus(self, *, accepts: bool) -> None:
        """Whether the window manager may give it the keyboard."""
        window = self.windowHandle()
        if window is not None:
            window.setFlag(Qt.WindowType.WindowDoesNotAcceptFocus, not accepts)

    def enter_thread(self) -> None:
        """The keyboard goes to the first control of the thread or page."""
        content = self._page or (self.thread_view if self._has_rows else self.home)
        stops = [stop for stop in self._stops() if content.isAncestorOf(stop)]
        if stops:
            stops[0].setFocus(Qt.FocusReason.TabFocusReason)
            self.thread_view.bring_into_sight(stops[0])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        elif event.key() == Qt.Key.Key_F6:
            self.composer.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: FBT001 - Qt's signature
        """Tab goes as the eye does, from top to bottom: rows of the thread are made in any order."""
        stops, now = self._stops(), self.focusWidget()
        if not stops:
            return False
        index = stops.index(now) + (1 if forward else -1) if now in stops else 0
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        stops[index % len(stops)].setFocus(reason)
        self.thread_view.bring_into_sight(stops[index % len(stops)])
        return True

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange:
            self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        self.accept_focus(accepts=False)
        self._leaving = False
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        body, edge = self.body(), self.composer.mapTo(self, QPoint(0, 0)).y()
        if not self._above:
            edge += self.composer.height()
        if body.top() + theme.size("radius") < edge < body.bottom() - theme.size("radius"):
            inset = theme.size("padding")
            painter.setPen(QColor(*theme.color("hairline")))
            painter.drawLine(QPointF(body.left() + inset, edge), QPointF(body.right() - inset, edge))
        if self.isActiveWindow():
            painter.setPen(QPen(QColor(*theme.color("accent")), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(body.adjusted(0.75, 0.75, -0.75, -0.75), theme.size("radius"), theme.size("radius"))

    def _inner_height(self) -> int:
        """Of what is above or below the composer. All pages are equally high, so that they swap in one frame."""
        if self._page is not None:
            return self.theme.size("page_height") + self._top_inset()
        inner = self.thread_view.wanted_height if self._has_rows else self.home.wanted_height
        return inner + self._top_inset() if inner else 0

    def _type(self, event: QKeyEvent) -> None:
        """A letter pressed among the suggestions belongs to the field."""
        self.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self.composer.field.keyPressEvent(event)

    def _top_inset(self) -> int:
        return self.theme.size("card_padding")

    def _stops(self) -> list[QWidget]:
        stops = [child for child in self.findChildren(QWidget) if _may_be_reached(child)]
        return sorted(stops, key=lambda child: (child.mapTo(self, child.rect().topLeft()).toTuple())[::-1])

    def _show_content(self) -> None:
        self.thread_view.setVisible(self._page is None and self._has_rows)
        self.home.setVisible(self._page is None and not self._has_rows)
        self._arrange()
        self.height_wanted.emit()

    def _arrange(self) -> None:
        """Everything where it is once the surface has grown; of the frame only what is drawn so far."""
        whole = self._target()
        self._sheet.resize(whole.size())
        field = min(self.composer.wanted_height, whole.height())
        room, inset = whole.height() - field, self._top_inset()
        self.composer.setGeometry(0, room if self._above else 0, whole.width(), field)
        content = QRect(0, inset if self._above else field + inset, whole.width(), max(room - inset, 0))
        (self._page or self.thread_view).setGeometry(content)
        self.home.setGeometry(content)
        self._show_growth()


def _anchor(rect: Rect, found: Arrangement) -> tuple[int, int]:
    """The corner that stays where it is while the height changes."""
    return rect.x, rect.bottom if found.above else rect.y


def _real(rect: Rect) -> QRectF:
    return QRectF(rect.x, rect.y, rect.width, rect.height)


def _whole(rect: QRectF) -> Rect:
    return Rect(round(rect.x()), round(rect.y()), round(rect.width()), round(rect.height()))


def _may_be_reached(child: QWidget) -> bool:
    reached = bool(child.focusPolicy() & Qt.FocusPolicy.TabFocus) and child.focusProxy() is None
    return reached and child.isVisible() and child.isEnabled()
