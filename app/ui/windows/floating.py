"""A window of the presence: frameless, on top, never in the task bar, and solid only where it is drawn.

Where there is a compositor it is translucent with a soft shadow, and takes clicks only on its body; without one its
shape is cut to the body and it is opaque.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QGuiApplication,
    QHideEvent,
    QPainter,
    QPainterPath,
    QRegion,
    QResizeEvent,
    QShowEvent,
    QWindow,
)
from PySide6.QtWidgets import QWidget

from app.base.geometry import Rect
from app.base.values import dataclass, field
from app.ui.theme.theme import Theme

if TYPE_CHECKING:
    from app.ui.windows.curtain import XConnection

_SHADOW_STEPS = 14
Marked = tuple[Rect, ...]
"""What a mark covers, in screen pixels."""


class _Bell(QObject):
    """Carries word from the curtain's thread to the GUI's."""

    rung = Signal()
    pointed = Signal(object)
    unmarked = Signal()


@dataclass(frozen=True, slots=True)
class PointRequest:
    """A place, in screen pixels, to be marked with its name. `shown` gets what the mark covers."""

    place: Rect
    name: str
    shown: Future[Marked] = field(default_factory=Future)


@dataclass
class WindowDeps:
    """What the windows stand on: the X server where there is one, and the ids of all windows of ours that show.

    `marks` are those among them that only mark what is acted on; `shows_marks` says whether the person wants any.
    """

    server: XConnection | None = None
    composited: bool = True
    shown: set[int] = field(default_factory=set)
    vanished: set[int] = field(default_factory=set)
    marks: set[int] = field(default_factory=set)
    shows_marks: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    came_back: _Bell = field(default_factory=_Bell)
    marked: QWindow | None = None

    def look(self) -> None:
        """Notice a compositor that came or went."""
        if self.server is not None:
            self.composited = self.server.is_composited()

    def mark(self) -> None:
        """Tell every Wisp of the display that all windows of this application are a Wisp's."""
        if self.server is not None:
            self.marked = QWindow()
            self.marked.create()
            self.server.mark(self.marked.winId(), os.getpid())

    def close(self) -> None:
        """Hang up."""
        if self.server is not None:
            self.server.close()
            self.server = None

    def ids(self) -> tuple[int, ...]:
        """Of the windows that show; any thread."""
        with self.lock:
            return tuple(self.shown)

    def covering(self) -> tuple[int, ...]:
        """Of those that show and are no marks; any thread."""
        with self.lock:
            return tuple(self.shown - self.marks)

    def marking(self) -> tuple[int, ...]:
        """Of those that are marks; any thread."""
        with self.lock:
            return tuple(self.marks)

    def vanish(self, window_id: int) -> None:
        """Mark a window as hidden by the curtain: its shape may not change until it is back. Any thread."""
        with self.lock:
            self.vanished.add(window_id)

    def appear(self) -> None:
        """All are back, with the shapes they had; what changed meanwhile is made up for. Any thread."""
        with self.lock:
            self.vanished.clear()
        self.came_back.rung.emit()

    def may_shape(self, window_id: int) -> bool:
        with self.lock:
            return window_id not in self.vanished


def surroundings() -> WindowDeps:
    """Of the running application. On X11 this connects to the server."""
    if QGuiApplication.platformName() != "xcb":
        return WindowDeps(None, composited=QGuiApplication.platformName() != "offscreen")
    from app.ui.windows.curtain import XConnection

    found = WindowDeps(XConnection())
    found.mark()
    found.look()
    return found


class Floating(QWidget):
    """`body()` is the part that is drawn solid; everything else is shadow."""

    ROLE = QAccessible.Role.Window

    def __init__(self, theme: Theme, around: WindowDeps, *, takes_focus: bool = False) -> None:
        flags = Qt.WindowType.Tool | Qt.WindowType.FramelessWindowHint | Qt.WindowType.WindowStaysOnTopHint
        flags |= Qt.WindowType.NoDropShadowWindowHint
        if not takes_focus:
            flags |= Qt.WindowType.WindowDoesNotAcceptFocus
            self_focus = Qt.FocusPolicy.NoFocus
        else:
            self_focus = Qt.FocusPolicy.StrongFocus
        super().__init__(None, flags)
        self.theme = theme
        self.around = around
        self._managed = False
        around.came_back.rung.connect(self.shape)
        self.setFocusPolicy(self_focus)
        self.setWindowTitle(QGuiApplication.applicationDisplayName())
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
        """Room around the body for its shadow; none where a shadow cannot be drawn."""
        return self.theme.size("shadow_margin") if self.around.composited else 0

    def body(self) -> QRectF:
        """The solid part, in the window's coordinates."""
        margin = self.margin
        return QRectF(self.rect()).adjusted(margin, margin, -margin, -margin)

    def body_path(self) -> QPainterPath:
        return rounded(self.body(), self.theme)

    def place_body(self, rect: Rect) -> None:
        """Put the window so that its body is at `rect` (global, device-independent pixels)."""
        margin = self.margin
        self.setGeometry(
            QRect(rect.x, rect.y, rect.width, rect.height).adjusted(-margin, -margin, margin, margin),
        )

    def body_rect(self) -> Rect:
        """Where the body is, in global device-independent pixels."""
        body = self.body().toRect()
        corner = self.mapToGlobal(QPoint(body.x(), body.y()))
        return Rect(corner.x(), corner.y(), body.width(), body.height())

    def shape(self) -> None:
        """Cut the window (or, with a compositor, only its input) to the body."""
        if not (self.isVisible() and self.isWindow() and self.around.may_shape(int(self.winId()))):
            return
        region = QRegion(self.body_path().toFillPolygon().toPolygon())
        if not self.around.composited:
            self.setMask(region)
        elif self.around.server is not None:
            ratio = self.devicePixelRatioF()
            self.around.server.set_input(int(self.winId()), [_scaled(rect, ratio) for rect in rects_of(region)])

    def confirm_shape(self) -> None:
        """Shape again at the first painting: window managers overlook an input shape that came before them."""
        if not self._managed:
            self._managed = True
            QTimer.singleShot(0, self, self.shape)

    def paint_base(self, painter: QPainter) -> None:
        """The body's ground, hairline and shadow."""
        self.confirm_shape()
        theme, path = self.theme, self.body_path()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.around.composited:
            self._paint_shadow(painter)
        else:
            # Fill the background, so that antialiased edges have a colour to blend with.
            painter.fillRect(self.rect(), QColor(*theme.color("hairline")))
        painter.fillPath(path, QColor(*theme.color("paper")))
        half = theme.count("hairline") / 2
        edge = QPainterPath()
        radius = theme.size("radius") - half
        edge.addRoundedRect(self.body().adjusted(half, half, -half, -half), radius, radius)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QColor(*theme.color("edge" if self.around.composited else "hairline")))
        painter.drawPath(edge)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.isWindow():
            self._managed = False
            with self.around.lock:
                self.around.shown.add(int(self.winId()))
            self.shape()

    def hideEvent(self, event: QHideEvent) -> None:
        if self.isWindow():
            with self.around.lock:
                self.around.shown.discard(int(self.winId()))
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.shape()

    def _paint_shadow(self, painter: QPainter) -> None:
        """A soft shadow of many faint outlines: no blur, no cached picture, only painted when something changed."""
        theme, body = self.theme, self.body()
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
    """The outline of a body."""
    path, radius = QPainterPath(), theme.size("radius")
    path.addRoundedRect(body, radius, radius)
    return path


def rects_of(region: QRegion) -> list[QRect]:
    """What a region is made of."""
    return [QRect(rect) for rect in cast(Iterable[QRect], region)]


def _scaled(rect: QRect, ratio: float) -> Rect:
    left, top = round(rect.x() * ratio), round(rect.y() * ratio)
    right, bottom = round((rect.x() + rect.width()) * ratio), round((rect.y() + rect.height()) * ratio)
    return Rect(left, top, right - left, bottom - top)
