"""The window that contains the thread, the pages and the composer, and grows out of the orb."""

from __future__ import annotations

import warnings

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QWidget

from app.base.geometry import Rect
from app.ui.bubble.thread import Make, Thread
from app.ui.composer.home import HomeView
from app.ui.composer.window import ComposerView
from app.ui.pages.listing import Page
from app.ui.presenter.view import View
from app.ui.presenter.wording import Row
from app.ui.theme.motion import Growth, Ticker, end_fade, fade_in, fade_out
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps
from app.ui.windows.orb_placement import Arrangement

_ACTIVE_EDGE = 1.5
_LONGEST_STEP_S = 0.024
_FIRST_FRAME_LIMIT_S = 0.25
_ASK_AGAIN_MS = 60
_MOST_ASKS = 12


class BubbleWindow(Floating):
    """The bubble: the thread, a page or nothing, and above or below it the composer, which never moves.

    It never takes the focus by itself; `engage` gives it the keyboard when the person asks for it.
    """

    closed = Signal()
    height_wanted = Signal()

    def __init__(self, theme: Theme, around: WindowDeps, ticker: Ticker, make: Make, words: tuple[str, str]) -> None:
        """`words` are the window's name and the placeholder of the empty text field."""
        super().__init__(theme, around)
        self._ticker = ticker
        self._step = f"grow {id(self)}"
        self._growth: Growth | None = None
        self._placed: Rect | None = None
        self._corner = QPointF()
        """Where the window was put. Qt's own answer is wrong for a moment when the window manager frames it."""
        self._most = 0
        self._unshown_s = 0.0
        """How much longer an opening bubble waits for the display to show it before it grows."""
        self._leaving = False
        self._above = True
        self._furnish(make, words)

    def _furnish(self, make: Make, words: tuple[str, str]) -> None:
        """Create everything inside the window."""
        name, placeholder = words
        theme = self.theme
        self.setAccessibleName(name)
        self._page: Page | None = None
        self._has_rows = False
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
        self.home = HomeView(theme, self._sheet)
        self.home.typed.connect(self._type)
        self.home.left.connect(lambda: self.composer.field.setFocus(Qt.FocusReason.OtherFocusReason))
        self.home.changed.connect(self._show_found)
        self.composer.choosing.connect(self.home.enter)

    def refurnish(self, theme: Theme, make: Make, words: tuple[str, str]) -> None:
        """Create everything inside again, in another theme. The window itself stays, so that nothing flashes."""
        self._end_growth()
        old = self._frame
        had_keyboard = self.isActiveWindow()
        self.dress(theme)
        self._furnish(make, words)
        old.hide()
        old.deleteLater()
        self._frame.show()
        self._show_content()
        if had_keyboard:
            self.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def page(self) -> Page | None:
        """The page that is shown instead of the thread."""
        return self._page

    @property
    def is_leaving(self) -> bool:
        """Whether the window is being hidden by an animation."""
        return self._leaving

    def show_view(self, view: View, rows: tuple[Row, ...]) -> None:
        """Show this view of the conversation."""
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
        """In pixels, for the present content. `most` limits the height."""
        self._most = most
        height = self.composer.wanted_height + self._inner_height()
        return QSize(self.theme.size("bubble_width"), min(height, most))

    # -- growing and shrinking

    def open_at(self, found: Arrangement) -> None:
        """Show the window at this place. It grows out of the part that is next to the orb."""
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
            self._unshown_s = _FIRST_FRAME_LIMIT_S
            self._grow(found.seed, found.body, self.theme.ms("open"))
        self.show()

    def move_to(self, found: Arrangement) -> None:
        """Move to this place. A change of the height alone is animated."""
        if self._leaving:
            return
        if found.body == self._placed:
            if self.composer.height() != self.composer.wanted_height:
                self._arrange()  # because a full bubble does not grow: what the composer needs, the thread gives up
            return
        before, self._above = self._placed, found.above
        stays = before is not None and _anchor(before, found) == _anchor(found.body, found)
        if stays and self.isVisible() and self._moves():
            self._grow(self.body_rect(), found.body, self.theme.ms("open"))
        else:
            self._end_growth()
            self._put(found.body)

    def leave_to(self, found: Arrangement) -> None:
        """Shrink towards the orb, then hide."""
        self._leaving = True
        if self._fades():
            fade_out(self, self._ticker, self.theme.motion_ms("close"))
        elif self._moves():
            self._grow(self.body_rect(), found.seed, self.theme.ms("close"))
        else:
            self.hide()

    def body(self) -> QRectF:
        return QRectF(self._target()) if self._growth is None else self._growth.value.translated(-self._corner)

    def shape(self) -> None:
        super().shape()
        server = self.around.server
        if server is not None and self.isVisible() and self.isWindow():
            server.steady(int(self.winId()), above=self._above)

    def _moves(self) -> bool:
        """Without a compositor, size changes are not animated: window and shape would not change together."""
        return self.around.composited and not self.theme.reduced

    def _fades(self) -> bool:
        return self.theme.reduced and self.around.composited

    def _grow(self, start: Rect, end: Rect, duration_ms: int) -> None:
        """Animate the bubble from `start` to `end`. The window keeps its size; only the painted part changes."""
        self._growth = Growth(_real(start), _real(end), duration_ms)
        self._put(end if end.size.area >= start.size.area else start)
        self._ticker.run(self._step, self._advance)

    def _advance(self, elapsed_s: float) -> bool:
        growth = self._growth
        if growth is None:
            return False
        if self._unshown_s > 0 and not self.windowHandle().isExposed():
            self._unshown_s -= elapsed_s
            return True
        self._unshown_s = 0.0
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
        self._placed, room = rect, self._room(rect)
        self._corner = QPointF(room.x - self.margin, room.y - self.margin)
        self.place_body(room)
        self._arrange()
        self.shape()
        self.update()

    def _room(self, rect: Rect) -> Rect:
        """Return the rectangle that the bubble may come to cover, which is the window's. A shape or transparency hides
        the unused part.

        A window that grew step by step would flicker, because the window manager resizes it before or after the program
        paints the new size.
        """
        screen = QGuiApplication.screenAt(QPoint(rect.center.x, rect.center.y)) or QGuiApplication.primaryScreen()
        free = screen.availableGeometry()
        if self._above:
            top = min(max(rect.bottom - self._most, free.top()), rect.y)
            return Rect(rect.x, top, rect.width, rect.bottom - top)
        bottom = max(min(rect.y + self._most, free.top() + free.height()), rect.bottom)
        return Rect(rect.x, rect.y, rect.width, bottom - rect.y)

    def _target(self) -> QRect:
        """The rectangle of the fully grown bubble, in the window's coordinates."""
        if self._placed is None:
            return super().body().toRect()
        return _real(self._placed).translated(-self._corner).toRect()

    # -- the keyboard

    def engage(self) -> None:
        """Take the keyboard, because the person asked for it. Ask even if Qt seems to have it: Qt notices a lost
        focus late."""
        self.accept_focus(accepts=True)
        self.take_keyboard()
        if (server := self.around.server) is not None and self.around.keyboard is None:
            self._ask_for_keyboard(_MOST_ASKS, server.active_window())
        if QGuiApplication.focusWindow() is self.windowHandle() and not self.isActiveWindow():
            # Hidden and shown at once, the window still has the keyboard, but Qt's widgets take it for inactive.
            # Nothing else tells them; Qt means to keep this call for its own use.
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                QApplication.setActiveWindow(self)

    def _ask_for_keyboard(self, left: int, active: int) -> None:
        """Ask the window manager for the keyboard as a pager does: many refuse a program that is behind.

        Ask again, at most `left` times, while the window `active` stays the active one: the manager ignores a window
        that it does not manage yet. Once any other window is active, it or the person has answered. Ask once where the
        bubble is named as active: a busy manager may still have to do what it was asked before, and give it away.
        """
        server, window = self.around.server, self.windowHandle()
        if server is None or window is None or not self.isVisible():
            return
        if window.flags() & Qt.WindowType.WindowDoesNotAcceptFocus or server.active_window() not in (0, active):
            return
        server.activate(int(self.winId()))
        if left > 1 and active != int(self.winId()):
            QTimer.singleShot(_ASK_AGAIN_MS, self, lambda: self._ask_for_keyboard(left - 1, active))

    def accept_focus(self, *, accepts: bool) -> None:
        """Set whether the window manager may give this window the keyboard."""
        window = self.windowHandle()
        if window is not None:
            window.setFlag(Qt.WindowType.WindowDoesNotAcceptFocus, not accepts)

    def enter_thread(self) -> None:
        """Give the keyboard to the first control of the thread or page."""
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
        """Move the focus by Tab from top to bottom. Qt itself would go in the order in which the rows were created."""
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
        # Whoever hides it in the middle of a movement may delete it next.
        self._growth = None
        self._ticker.end(self._step)
        end_fade(self, self._ticker)
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
            self.paint_edge(painter, theme.color("accent"), _ACTIVE_EDGE)

    def _inner_height(self) -> int:
        """Return the height of thread, suggestions or page, without the composer. All pages have one height, so that
        the window does not resize between them."""
        if self._page is not None:
            return self.theme.size("page_height") + self._top_inset()
        found = self.home.wanted_height if self.home.has_found or not self._has_rows else 0
        inner = found + (self.thread_view.wanted_height if self._has_rows else 0)
        return inner + self._top_inset() if inner else 0

    def _type(self, event: QKeyEvent) -> None:
        """Give the text field the focus and the key, because the person pressed a letter in the suggestions."""
        self.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self.composer.field.keyPressEvent(event)

    def _top_inset(self) -> int:
        return self.theme.size("card_padding")

    def _stops(self) -> list[QWidget]:
        """What Tab comes to, line by line as it is read."""
        stops = [child for child in self.findChildren(QWidget) if _may_be_reached(child)]
        if self.isRightToLeft():
            ends = {child: child.mapTo(self, child.rect().topRight()) for child in stops}
            return sorted(stops, key=lambda child: (ends[child].y(), -ends[child].x()))
        return sorted(stops, key=lambda child: (child.mapTo(self, child.rect().topLeft()).toTuple())[::-1])

    def _show_found(self) -> None:
        self.composer.field.has_found = self.home.has_found
        self._show_content()

    def _show_content(self) -> None:
        self.thread_view.setVisible(self._page is None and self._has_rows)
        self.home.setVisible(self._page is None and (self.home.has_found or not self._has_rows))
        self._arrange()
        self.height_wanted.emit()

    def _arrange(self) -> None:
        """Place all parts as in the fully grown bubble. While it grows, the frame shows only a part of them."""
        whole = self._target()
        self._sheet.resize(whole.size())
        field = min(self.composer.wanted_height, whole.height())
        room, inset = whole.height() - field, self._top_inset()
        self.composer.setGeometry(0, room if self._above else 0, whole.width(), field)
        # Below the field half of it stands at the lower edge, so that no row lies on the body's edge.
        content = QRect(0, inset if self._above else field + inset // 2, whole.width(), max(room - inset, 0))
        found = content
        if self._has_rows and self.home.has_found and self._page is None:
            high = min(self.home.wanted_height, content.height())
            found = QRect(0, content.bottom() + 1 - high if self._above else content.top(), content.width(), high)
            content.adjust(0, 0 if self._above else high, 0, -high if self._above else 0)
        self.home.put_below(is_below=not self._above)
        (self._page or self.thread_view).setGeometry(content)
        self.home.setGeometry(found)
        self._show_growth()


def _anchor(rect: Rect, found: Arrangement) -> tuple[int, int]:
    """The corner of the rectangle that keeps its place while the height changes."""
    return rect.x, rect.bottom if found.above else rect.y


def _real(rect: Rect) -> QRectF:
    return QRectF(rect.x, rect.y, rect.width, rect.height)


def _whole(rect: QRectF) -> Rect:
    return Rect(round(rect.x()), round(rect.y()), round(rect.width()), round(rect.height()))


def _may_be_reached(child: QWidget) -> bool:
    reached = bool(child.focusPolicy() & Qt.FocusPolicy.TabFocus) and child.focusProxy() is None
    return reached and child.isVisible() and child.isEnabled()
