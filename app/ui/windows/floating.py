"""The windows of the presence: frameless, on top, never in the task bar, and clickable only where they are drawn.

With a compositor a window is translucent, has a soft shadow, and takes clicks only on its body. Without one it is
opaque, and its shape is cut to the body.
"""

from __future__ import annotations

import math
import os
import struct
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from enum import Enum
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import (
    QAbstractNativeEventFilter,
    QByteArray,
    QCoreApplication,
    QObject,
    QPoint,
    QRect,
    QRectF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QGuiApplication,
    QHideEvent,
    QPainter,
    QPainterPath,
    QPen,
    QRasterWindow,
    QRegion,
    QResizeEvent,
    QShowEvent,
    QSurfaceFormat,
    QWindow,
)
from PySide6.QtWidgets import QWidget

from app.base.geometry import Point, Rect
from app.base.values import dataclass, field
from app.ui.theme import drawing
from app.ui.theme.theme import Color, Theme

if TYPE_CHECKING:
    from app.ui.windows.x_connection import XConnection

_SHADOW_STEPS = 14
Marked = tuple[Rect, ...]
"""What a mark covers, in screen pixels."""


class Accepts(Enum):
    """Whose presses a widget takes while no task runs: its attribute `accepts` also counts for the widgets in it."""

    ANY_DEVICE = "any"
    PERSONS_DEVICE = "persons"


class _Bell(QObject):
    """Signals by which the curtain's thread reaches the GUI thread."""

    rung = Signal()
    pointed = Signal(object)
    unmarked = Signal()


@dataclass(frozen=True, slots=True)
class PointRequest:
    """A request to show a mark around a place (screen pixels) with a name, and a trail from where the pointer was.

    `shown` gets the areas that the mark covers.
    """

    place: Rect
    name: str
    came_from: Point
    shown: Future[Marked] = field(default_factory=Future)


@dataclass
class WindowDeps:
    """What all windows share: the connection to the X server, if any, and the ids of Wisp's visible windows (`shown`).

    `keyboard` is there on XWayland only. `marks` are the ids of windows that only mark what Wisp acts on.
    `shows_marks`: the person wants such marks.
    """

    server: XConnection | None = None
    composited: bool = True
    keyboard: XwaylandKeyboard | None = None
    shown: set[int] = field(default_factory=set)
    vanished: set[int] = field(default_factory=set)
    marks: set[int] = field(default_factory=set)
    shows_marks: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    came_back: _Bell = field(default_factory=_Bell)
    marked: QWindow | None = None

    def look(self) -> None:
        """Update `composited`, because a compositor may have started or ended since."""
        if self.server is not None:
            self.composited = self.server.is_composited()

    def mark(self) -> None:
        """Mark the windows of this process as Wisp's, so that every Wisp on the display knows them."""
        if self.server is not None:
            self.marked = QWindow()
            self.marked.create()
            self.server.mark(self.marked.winId(), os.getpid())

    def close(self) -> None:
        """Close the connection to the X server."""
        if self.server is not None:
            self.server.close()
            self.server = None

    def ids(self) -> tuple[int, ...]:
        """Wisp's visible windows. May be called on any thread."""
        with self.lock:
            return tuple(self.shown)

    def covering(self) -> tuple[int, ...]:
        """Wisp's visible windows that are no marks. May be called on any thread."""
        with self.lock:
            return tuple(self.shown - self.marks)

    def marking(self) -> tuple[int, ...]:
        """The visible marks. May be called on any thread."""
        with self.lock:
            return tuple(self.marks)

    def vanish(self, window_id: int) -> None:
        """Note that the curtain hides a window. Its shape may not change until `appear`. May be called on any
        thread."""
        with self.lock:
            self.vanished.add(window_id)

    def appear(self) -> None:
        """Note that the curtain shows all windows again, and let them apply shapes set meanwhile. May be called on
        any thread."""
        with self.lock:
            self.vanished.clear()
        self.came_back.rung.emit()

    def may_shape(self, window_id: int) -> bool:
        with self.lock:
            return window_id not in self.vanished


def surroundings() -> WindowDeps:
    """Make what the windows of this application share. On X11 this connects to the server."""
    if QGuiApplication.platformName() != "xcb":
        return WindowDeps(None, composited=QGuiApplication.platformName() != "offscreen")
    from app.ui.windows.x_connection import XConnection

    found = WindowDeps(XConnection())
    found.mark()
    found.look()
    if found.server is not None and (found.server.is_xwayland() or _has_its_outputs()):
        is_managed = found.server.manager() in _FOR_MANAGED_ONLY
        found.keyboard = (ManagedKeyboard if is_managed else XwaylandKeyboard)(found.server)
        drawing.Menu.ground = found.keyboard.ground
    return found


def _has_its_outputs() -> bool:
    """True if the outputs have XWayland's names: before 23.1 it had no extension to tell it by."""
    return any(screen.name().startswith("XWAYLAND") for screen in QGuiApplication.screens())


_FOR_MANAGED_ONLY = ("GNOME Shell", "Mutter", "KWin")
"""Window managers that give the keyboard to no window past them."""
XCB_EVENT = b"xcb_generic_event_t"
_PROPERTY = struct.Struct("=BBHII")
"""Kind, padding, sequence, window, atom: the beginning of an event about a property."""
_PROPERTY_CHANGED = 28


class FocusWatch(QAbstractNativeEventFilter):
    """Emits `changed` when the window manager publishes another focused window, by the events that Qt gets anyway."""

    def __init__(self, atom: int) -> None:
        super().__init__()
        self._atom = atom
        self._bell = _Bell()
        self._is_on = False
        self.changed = self._bell.rung

    def set_on(self, *, is_on: bool) -> None:
        """Watch, or stop watching: every event of the application passes the watch while it is on."""
        application = QCoreApplication.instance()
        if application is None or is_on is self._is_on:
            return
        self._is_on = is_on
        if is_on:
            import ctypes  # only now, because the first paint needs none of it

            self._read = ctypes.string_at
            application.installNativeEventFilter(self)
        else:
            application.removeNativeEventFilter(self)

    def nativeEventFilter(self, kind: QByteArray | bytes | bytearray | memoryview, message: int) -> tuple[bool, int]:
        if kind == XCB_EVENT:
            what, _, _, _, atom = _PROPERTY.unpack(self._read(int(message), _PROPERTY.size))
            if (what, atom) == (_PROPERTY_CHANGED, self._atom):
                self._bell.rung.emit()
        return False, 0


class XwaylandKeyboard(QObject):
    """Brings the keyboard from the person's program to a window of Wisp on XWayland, and back.

    A compositor gives the keyboard to a window past its window manager when that appears, and when it goes, to the
    window that had it before: https://github.com/swaywm/sway/blob/master/sway/desktop/xwayland.c, unmanaged_handle_map.
    So an invisible window comes and goes, and the windows of Wisp stay as they are. The grab leads the keys to the one
    that is meant, because the compositor lets no unmanaged window have X's focus:
    https://gitlab.freedesktop.org/wlroots/wlroots/-/blob/master/xwayland/xwm.c, xwm_handle_focus_in.
    """

    def __init__(self, server: XConnection) -> None:
        super().__init__()
        self._server = server
        self._holder: QWindow | None = None
        self._caller = _unseen(Qt.WindowType.WindowTransparentForInput)
        self.ground = _Ground(self._ground_opened, self._ground_closed)
        self._watch = FocusWatch(server.active_window_atom())
        self._watch.changed.connect(self._look, Qt.ConnectionType.QueuedConnection)

    def take(self, window: QWindow) -> None:
        """Give a visible window the keyboard. Nobody tells XWayland where a native program took it: so ask again."""
        self._call(window.position())
        window.setKeyboardGrabEnabled(True)
        self._holder = window
        self._server.note_keyboard(int(window.winId()))
        self._watch.set_on(is_on=True)

    def give_back(self, window: QWindow) -> None:
        """Give the keyboard back to the program that had it, if this window has it."""
        if window is not self._holder:
            return
        self._holder = None
        self._watch.set_on(is_on=False)
        self._server.note_keyboard(0)
        window.setKeyboardGrabEnabled(False)
        self._leave()

    def take_again(self) -> None:
        """Fetch the keyboard again for the window that has it. A compositor may have given it back by itself."""
        if self._holder is not None:
            self.take(self._holder)

    def _look(self) -> None:
        """Let go when an X11 program of the person gets the keyboard, because the grab would keep all keys from it."""
        if self._holder is not None and self._server.active_window():
            self.give_back(self._holder)

    def _ground_opened(self) -> None:
        return

    def _ground_closed(self) -> None:
        self.take_again()

    # --- the window that the compositor gives the keyboard

    def _call(self, at: QPoint) -> None:
        self._caller.hide()
        self._caller.setGeometry(at.x(), at.y(), 1, 1)
        self._caller.show()

    def _leave(self) -> None:
        self._caller.hide()


class ManagedKeyboard(XwaylandKeyboard):
    """The same where only windows that the window manager knows get the keyboard, and where it says which has it.

    Qt does not know the invisible window: it would take it for the active one of its own.
    """

    def __init__(self, server: XConnection) -> None:
        self._caller_id = server.make_caller("Wisp")
        self._is_called = False
        super().__init__(server)

    def _look(self) -> None:
        """Let go when any other program gets the keyboard, by the person's click or its own wish."""
        was_called, self._is_called = self._is_called, self._server.active_window() == self._caller_id
        if self._holder is None or not was_called or self._is_called:
            return
        if self._server.focused() == int(self._holder.winId()):
            self.take(self._holder)  # because Qt gives X's focus to the window below a menu that closes
        else:
            self.give_back(self._holder)

    def _ground_opened(self) -> None:
        if self._holder is None:
            self._call(QPoint())

    def _ground_closed(self) -> None:
        if self._holder is None:
            self._leave()

    def _call(self, at: QPoint) -> None:
        self._server.call(self._caller_id, at.x(), at.y())

    def _leave(self) -> None:
        self._is_called = False
        self._server.unmap([self._caller_id])


class _Ground:
    """Covers all screens with nothing while a menu is open, so that the menu hears keys, and presses elsewhere."""

    def __init__(self, opened: Callable[[], None], closed: Callable[[], None]) -> None:
        self._window = _unseen(Qt.WindowType.Window)
        self._opened = opened
        self._closed = closed

    def open(self) -> None:
        self._window.setGeometry(QGuiApplication.primaryScreen().virtualGeometry())
        self._window.show()
        self._opened()

    def close(self) -> None:
        self._window.hide()
        self._closed()


def _unseen(flags: Qt.WindowType) -> QRasterWindow:
    """Make a transparent window that no window manager manages."""
    made, look = QRasterWindow(), QSurfaceFormat()
    look.setAlphaBufferSize(8)
    made.setFormat(look)
    made.setFlags(flags | Qt.WindowType.FramelessWindowHint | Qt.WindowType.X11BypassWindowManagerHint)
    return made


class Floating(QWidget):
    """A window of the presence. `body()` is its solid part; the shadow is around that."""

    ROLE = QAccessible.Role.Window
    accepts = Accepts.ANY_DEVICE

    def __init__(self, theme: Theme, around: WindowDeps, *, takes_focus: bool = False) -> None:
        flags = Qt.WindowType.Tool | Qt.WindowType.FramelessWindowHint | Qt.WindowType.WindowStaysOnTopHint
        flags |= Qt.WindowType.NoDropShadowWindowHint
        if around.keyboard is not None:
            # Past the window manager, because compositors put what they manage elsewhere, and below fullscreen windows.
            flags |= Qt.WindowType.X11BypassWindowManagerHint
        if not takes_focus:
            flags |= Qt.WindowType.WindowDoesNotAcceptFocus
            self_focus = Qt.FocusPolicy.NoFocus
        else:
            self_focus = Qt.FocusPolicy.StrongFocus
        super().__init__(None, flags)
        self.theme = theme
        self.around = around
        self._managed = False
        self._is_uncut = False
        """Whether the window gets its shape at its next paint."""
        self._place: QRect | None = None
        around.came_back.rung.connect(self.shape)
        self.setFocusPolicy(self_focus)
        self.take_name()
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, around.composited)
        # Always, because Qt otherwise shows tooltips only on active windows.
        self.setAttribute(Qt.WidgetAttribute.WA_AlwaysShowToolTips)
        # Do not quit, because the presence lives on when a window closes.
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        if not takes_focus:
            # Do not activate it, so that the program in use keeps the keyboard.
            self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)

    @property
    def margin(self) -> int:
        """The space in pixels around the body for its shadow; 0 if no shadow can be drawn."""
        return self.theme.size("shadow_margin") if self.around.composited else 0

    def dress(self, theme: Theme) -> None:
        """Use another theme from the next paint on, and the name that the presence has now."""
        self.theme = theme
        self.take_name()
        self.shape()
        self.update()

    def take_name(self) -> None:
        """Let the window's title be the name of the presence."""
        self.setWindowTitle(QGuiApplication.applicationDisplayName())

    def body(self) -> QRectF:
        """The solid part, in the window's coordinates."""
        margin = self.margin
        return QRectF(self.rect()).adjusted(margin, margin, -margin, -margin)

    def body_path(self) -> QPainterPath:
        return rounded(self.body(), self.theme)

    def place_body(self, rect: Rect) -> None:
        """Move the window so that its body is at `rect` (global, device-independent pixels)."""
        margin = self.margin
        self._place = QRect(rect.x, rect.y, rect.width, rect.height).adjusted(-margin, -margin, margin, margin)
        self.setGeometry(self._place)

    def body_rect(self) -> Rect:
        """In global device-independent pixels."""
        body = self.body().toRect()
        corner = self.mapToGlobal(QPoint(body.x(), body.y()))
        return Rect(corner.x(), corner.y(), body.width(), body.height())

    def shape(self) -> None:
        """Cut the window to its body. With a compositor, only limit the area that takes clicks to the body.

        A window that shows a picture is cut when it is painted next, so that both change at once.
        """
        if not (self.isVisible() and self.isWindow() and self.around.may_shape(int(self.winId()))):
            return
        if self.around.composited:
            if self.around.server is not None:
                ratio = self.devicePixelRatioF()
                rects = rects_of(self._region())
                self.around.server.set_input(int(self.winId()), [_scaled(rect, ratio) for rect in rects])
        elif self._managed:
            self._is_uncut = True
            self.update()
        else:
            self._cut()

    def _cut(self) -> None:
        """Give the window its shape. Only the X server knows it: Qt would paint nothing outside of a widget's mask, and
        what a larger one uncovers would show the last theme."""
        self.windowHandle().setMask(self._region())

    def _region(self) -> QRegion:
        return QRegion(self.body_path().toFillPolygon().toPolygon())

    def confirm(self) -> None:
        """Cut the window to its shape where that has changed. At the first paint, set shape and place once more:
        some window managers ignore those set before."""
        if self._is_uncut and self.around.may_shape(int(self.winId())):
            self._is_uncut = False
            self._cut()
        if not self._managed:
            self._managed = True
            QTimer.singleShot(0, self, self._confirmed)

    def _confirmed(self) -> None:
        self.shape()
        if self.around.server is not None and self.isVisible():
            self.around.server.keep_apart(int(self.winId()))
        if self._place is not None and self.geometry() != self._place:
            self.setGeometry(self._place)

    def paint_base(self, painter: QPainter) -> None:
        """Paint the body's background, hairline and shadow."""
        self.confirm()
        theme = self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.around.composited:
            self._paint_shadow(painter)
            painter.fillPath(self.body_path(), QColor(*theme.color("paper")))
        else:
            painter.fillRect(self.rect(), QColor(*theme.color("paper")))
        edge = theme.color("edge" if self.around.composited else "hairline")
        self.paint_edge(painter, edge, theme.count("hairline"))

    def paint_edge(self, painter: QPainter, color: Color, width: float) -> None:
        """Paint a line of a width in pixels along the inner side of the body's edge."""
        half, body = width / 2, self.body()
        radius = max(self.theme.size("radius") - half, 0)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(*color), width))
        painter.drawRoundedRect(body.adjusted(half, half, -half, -half), radius, radius)
        if not self.around.composited:
            drawing.fill_rim(painter, self._region(), math.ceil(width), color)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.isWindow():
            self._managed = False
            with self.around.lock:
                self.around.shown.add(int(self.winId()))
            if self.around.server is not None:
                self.around.server.leave_keyboard(int(self.winId()))
            self.shape()

    def hideEvent(self, event: QHideEvent) -> None:
        if self.isWindow():
            self.give_keyboard_back()
            with self.around.lock:
                self.around.shown.discard(int(self.winId()))
        super().hideEvent(event)

    def take_keyboard(self) -> None:
        """Show the window in front of all others, and take the keyboard, because the person asked for it."""
        self.raise_()
        if self.around.keyboard is None:
            self.activateWindow()
        elif self.isVisible():
            self.around.keyboard.take(self.windowHandle())

    def give_keyboard_back(self) -> None:
        """Give the keyboard back to the program that had it. Elsewhere than on XWayland the window manager does it."""
        if self.around.keyboard is not None and self.windowHandle() is not None:
            self.around.keyboard.give_back(self.windowHandle())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.shape()

    def _paint_shadow(self, painter: QPainter) -> None:
        """Paint a soft shadow as many faint outlines. It needs no blur and no cached picture.

        A theme with hard shadows has one flat shape instead.
        """
        theme, body = self.theme, self.body()
        if apart := theme.count("hard_shadow"):
            painter.fillPath(rounded(body.translated(apart, apart), theme), QColor(*theme.color("shadow")))
            return
        reach, drop = theme.size("shadow_margin") - theme.count("grid"), theme.count("grid") * 2
        opacity = theme.ratio("shadow_opacity")
        painter.setPen(Qt.PenStyle.NoPen)
        for step in range(_SHADOW_STEPS):
            grown = reach * (1 - step / _SHADOW_STEPS) - drop
            radius = theme.size("radius") + max(grown, 0)
            share = ((step + 1) / _SHADOW_STEPS) ** 2 * opacity / _SHADOW_STEPS * 1.6
            painter.setBrush(QColor(*theme.color("shadow").faded(share)))
            painter.drawRoundedRect(body.adjusted(-grown, drop - grown, grown, drop + grown), radius, radius)


def rounded(body: QRectF, theme: Theme) -> QPainterPath:
    path, radius = QPainterPath(), theme.size("radius")
    path.addRoundedRect(body, radius, radius)
    return path


def rects_of(region: QRegion) -> list[QRect]:
    return [QRect(rect) for rect in cast(Iterable[QRect], region)]


def _scaled(rect: QRect, ratio: float) -> Rect:
    left, top = round(rect.x() * ratio), round(rect.y() * ratio)
    right, bottom = round((rect.x() + rect.width()) * ratio), round((rect.y() + rect.height()) * ratio)
    return Rect(left, top, right - left, bottom - top)
