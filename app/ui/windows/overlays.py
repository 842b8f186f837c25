"""Small windows of the presence: a full-size picture, rings on the screen, notes, and the line beside the orb."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFontMetricsF,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QShowEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from app.base.geometry import Point, Rect, Size
from app.ui.bubble.speech import TONE_GLYPHS
from app.ui.buttons import WordButton, state_words
from app.ui.cards.contents import elapsed_words
from app.ui.cards.picture import paint_click_ring, paint_trail, trail_to
from app.ui.orb.state import Orb
from app.ui.presenter.cards import last_act
from app.ui.presenter.view import ShownPicture, View
from app.ui.presenter.wording import Captions, visible
from app.ui.theme import drawing
from app.ui.theme.appearance import Look
from app.ui.theme.drawing import font, placed
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.windows import orb_placement
from app.ui.windows.floating import Floating, WindowDeps, rects_of


class PictureWindow(Floating):
    """Shows a picture in full size, at most as large as the screen, with a ring where Wisp clicked."""

    def __init__(self, theme: Theme, around: WindowDeps) -> None:
        super().__init__(theme, around, takes_focus=True)
        self._pixmap = QPixmap()
        self._picture: ShownPicture | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_picture(self, picture: ShownPicture, screen: Rect) -> None:
        """Show the picture in the middle of a screen and take the keyboard, because the person asked for it."""
        self._picture = picture
        self._pixmap.loadFromData(picture.data)
        self.setAccessibleName(picture.label)
        gap = self.theme.size("padding")
        ratio = self.devicePixelRatioF()
        natural = self._pixmap.width() / ratio, self._pixmap.height() / ratio
        room = screen.width - 4 * gap, screen.height - 4 * gap
        shrink = min(1.0, room[0] / max(natural[0], 1), room[1] / max(natural[1], 1))
        width, height = round(natural[0] * shrink) + 2 * gap, round(natural[1] * shrink) + 2 * gap
        self.place_body(Rect(screen.center.x - width // 2, screen.center.y - height // 2, width, height))
        self.show()
        self.take_keyboard()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.hide()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint_base(painter)
        gap = self.theme.size("padding")
        box = self.body().adjusted(gap, gap, -gap, -gap)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(box, self._pixmap, QRectF(self._pixmap.rect()))
        painter.setPen(QColor(*self.theme.color("edge")))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box)
        if self._picture is not None and self._picture.ring is not None:
            x, y = self._picture.ring
            scale_x, scale_y = box.width() / self._picture.width, box.height() / self._picture.height
            paint_click_ring(painter, QPointF(box.left() + x * scale_x, box.top() + y * scale_y), self.theme)


_WIDTH = 4.0
_FADES_FROM = 0.6


class RingWindow(Floating):
    """A ring around what Wisp is about to act on, with its name beside it, and a trail from where the pointer was.

    All of it disappears when Wisp acts.

    On systems where no ring can show before the act, it shows after the act and disappears by itself.
    """

    def __init__(self, theme: Theme, around: WindowDeps, ticker: Ticker) -> None:
        super().__init__(theme, around)
        self._ticker = ticker
        self._spent_s = 0.0
        self._name = ""
        self._ring, self._label, self._trail = QRectF(), QRectF(), QPolygonF()
        self._shown: Callable[[], None] = _nothing
        around.came_back.unmarked.connect(self.hide)
        # The attribute WA_TransparentForMouseEvents is not enough: on X11 the window would still take the clicks.
        # https://github.com/yusufipk/dikte/pull/67
        self.setWindowFlag(Qt.WindowType.WindowTransparentForInput)
        # Past the window manager, because it would show the ring late, in a frame of its own.
        self.setWindowFlag(Qt.WindowType.X11BypassWindowManagerHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # so that clicks reach the program below

    def point_at(
        self, place: Rect, came_from: Point, name: str, screen: Rect, shown: Callable[[], None] | None = None
    ) -> None:
        """Show the ring around `place` (device-independent pixels), with `name` beside it. `shown` is called once the
        ring is visible.

        A small place gets a ring of the usual size around its middle.
        """
        theme = self.theme
        side, gap = theme.size("ring"), theme.size("gap")
        text = QFontMetricsF(font(theme, "small"))
        name = visible(name)
        self._name = text.elidedText(name, Qt.TextElideMode.ElideRight, theme.size("caption_width") - 2 * gap)
        ring_wide, ring_high = max(place.width + 2 * gap, side), max(place.height + 2 * gap, side)
        wide = math.ceil(text.horizontalAdvance(self._name)) + 2 * gap if name else 0
        high = theme.type("small").line + gap if name else 0
        middle, top = place.center.x, place.center.y - ring_high // 2
        ring = QRectF(middle - ring_wide / 2, top, ring_wide, ring_high)
        start = max(min(middle - wide / 2, screen.right - wide), screen.x)
        label = QRectF(start, top - high if ring.bottom() + high > screen.bottom else ring.bottom(), wide, high)
        trail = trail_to(ring, QPointF(came_from.x, came_from.y), _WIDTH * 2)
        whole = ring.united(label).united(trail.boundingRect()).toAlignedRect()
        self.setGeometry(whole.intersected(QRect(screen.x, screen.y, screen.width, screen.height)))
        corner = QPointF(self.x(), self.y())
        self._ring, self._label, self._trail = (
            ring.translated(-corner),
            label.translated(-corner),
            trail.translated(-corner),
        )
        self.setAccessibleName(name)
        self._spent_s = 0.0
        self._shown()
        self._shown = shown or _nothing
        self.show()
        self.raise_()
        self.shape()
        self.update()
        self._ticker.run("ring", self._advance)

    @property
    def marked(self) -> tuple[Rect, ...]:
        """The areas that the ring, its name and its trail cover, in screen pixels."""
        corner = self.geometry().topLeft()
        covered = (rect.translated(corner).adjusted(-1, -1, 1, 1) for rect in rects_of(self._region()))
        return tuple(orb_placement.to_pixels(Rect(r.x(), r.y(), r.width(), r.height())) for r in covered)

    def body_path(self) -> QPainterPath:
        """Return the outline of the ring, with its hole, of the name and the trail. Without a compositor, the window is
        cut to this outline."""
        path, trail, inner = QPainterPath(), QPainterPath(), _WIDTH + 1
        path.addRoundedRect(self._ring, *self._round(self._ring))
        hole = self._ring.adjusted(inner, inner, -inner, -inner)
        radius = max(self._round(self._ring)[0] - inner, 0.0)
        path.addRoundedRect(hole, radius, radius)
        path.addRoundedRect(self._label, *self._round(self._label))
        trail.addPolygon(self._trail)
        return path.united(trail)

    def _round(self, box: QRectF) -> tuple[float, float]:
        whole = min(box.height(), box.width()) / 2
        is_circle = box.height() == box.width() or box == self._label
        radius = whole if is_circle else min(whole, self.theme.size("card_radius"))
        return radius, radius

    def shape(self) -> None:
        """Cut the window to the outline if there is no compositor. The window never takes clicks in any case."""
        if not self.around.composited:
            super().shape()

    def showEvent(self, event: QShowEvent) -> None:
        with self.around.lock:
            self.around.marks.add(int(self.winId()))
        super().showEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._ticker.end("ring")
        super().hideEvent(event)
        with self.around.lock:
            self.around.marks.discard(int(self.winId()))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        share = min(self._spent_s * 1000 / theme.ms("ring"), 1.0)
        opacity = 1.0 - max(share - _FADES_FROM, 0.0) / (1.0 - _FADES_FROM) if self.around.composited else 1.0
        if self.around.composited:
            half = _WIDTH / 2 + 1
            line = self._ring.adjusted(half, half, -half, -half)
            radius = self._round(self._ring)[0] - half
            for width, name in ((_WIDTH + 2, "paper"), (_WIDTH, "accent")):
                painter.setPen(QPen(QColor(*theme.color(name).faded(opacity)), width))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(line, radius, radius)
            paint_trail(painter, self._trail, theme.color("accent"), opacity)
        else:
            painter.fillRect(self.rect(), QColor(*theme.color("accent")))
        self._paint_label(painter, opacity)
        # Later, because what was painted is sent to the display when this has returned.
        QTimer.singleShot(0, self, self._tell_shown)

    def _tell_shown(self) -> None:
        shown, self._shown = self._shown, _nothing
        shown()

    def _paint_label(self, painter: QPainter, opacity: float) -> None:
        if not self._name:
            return
        theme = self.theme
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*theme.color("ink").faded(opacity)))
        painter.drawRoundedRect(self._label, *self._round(self._label))
        painter.setPen(QColor(*theme.color("paper").faded(opacity)))
        painter.setFont(font(theme, "small"))
        painter.drawText(self._label, Qt.AlignmentFlag.AlignCenter, self._name)

    def _advance(self, elapsed_s: float) -> bool:
        self._spent_s += elapsed_s
        share = self._spent_s * 1000 / self.theme.ms("ring")
        if share >= _FADES_FROM and self.around.composited:
            self.update()
        if share < 1.0:
            return True
        self.hide()
        return False


def _nothing() -> None:
    """Do nothing when the ring shows. It stands for `shown` if nobody waits."""


Answers = Mapping[str, Callable[[], None]]
"""The words of each button and what a press does; every press closes the note as well."""


class NoteWindow(Floating):
    """A note with buttons that never takes the keyboard."""

    def __init__(self, look: Look, glyph: str, sentence: str, answers: Answers) -> None:
        super().__init__(look.theme, look.around)
        self._glyph = glyph
        theme = self.theme
        self.setAccessibleName(sentence)
        words = drawing.words_label(theme, sentence)
        row = drawing.spaced(QHBoxLayout(), theme.size("gap"))
        row.addStretch()
        self.buttons: list[WordButton] = []
        for text, act in answers.items():
            button = WordButton(theme, text)
            button.clicked.connect(self.close)
            button.clicked.connect(act)
            row.addWidget(button)
            self.buttons.append(button)
        self._box = box = QVBoxLayout(self)
        padding = theme.size("padding") + self.margin
        glyph_room = theme.size("glyph") + theme.size("gap")
        left, right = (0, glyph_room) if self.isRightToLeft() else (glyph_room, 0)
        box.setContentsMargins(padding + left, padding, padding + right, padding)
        box.setSpacing(theme.size("gap") + theme.count("grid"))
        box.addWidget(words)
        box.addLayout(row)

    def show_beside(self, orb: Rect, screen: Rect) -> None:
        """Show the note beside the orb, on the side with more room."""
        theme, margin = self.theme, self.margin
        width = theme.size("bubble_width")
        height = self._box.heightForWidth(width + 2 * margin) - 2 * margin
        self.place_body(orb_placement.arranged(screen, orb, Size(width, height), theme.size("gap")).body)
        self.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        side, inset = theme.size("glyph"), theme.size("padding")
        body = self.body()
        x = body.right() - inset - side if self.isRightToLeft() else body.left() + inset
        drawing.draw(painter, self._glyph, QRectF(x, body.top() + inset, side, side), theme.color("warn"))


class CaptionWindow(Floating):
    """One line beside the orb while the bubble is closed: what Wisp says, or else what it does. `clicked` is emitted
    for a press on the line.

    The line disappears once the turn has ended and there was time to read its words. What the person planned, such as
    a reminder, stays until the person opens the bubble or a turn begins.
    """

    ROLE = QAccessible.Role.Button
    clicked = Signal()
    resized = Signal()
    uttered = Signal(str, str)
    """The tone and the words of the line of speech that shows from now on."""

    def __init__(self, theme: Theme, around: WindowDeps, ticker: Ticker) -> None:
        super().__init__(theme, around)
        self._ticker = ticker
        self._step = f"caption {id(self)}"
        self._captions = Captions(theme.pace("chars_per_s"))
        self._view = View()
        self._tone, self._words, self._elapsed = "", "", ""
        self._uttered: tuple[str, str] | None = None
        self._stays = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._seconds = QTimer(self)
        self._seconds.setInterval(1000)
        self._seconds.timeout.connect(self._tell)
        self._end = QTimer(self)
        self._end.setSingleShot(True)
        self._end.setInterval(theme.ms("notice_hides"))
        self._end.timeout.connect(self.hide)

    def show_view(self, view: View) -> None:
        """Show the state of this view. Speech from before the line showed is skipped, because the person saw it in
        the bubble."""
        if not (self.isVisible() or self._stays):
            self._captions.skip(view.items)
        self._view = view
        self._captions.hear(view.items, running=view.running)
        if not self._captions.is_done:
            self._ticker.run(self._step, self._advance)
        self._stays = self._stays and not view.running
        if view.running:
            self._end.stop()
            self._seconds.start()
        else:
            self._seconds.stop()
            if not self._stays:
                self._end.start()
        self._tell()

    def show_planned(self, view: View, sentence: str) -> None:
        """Say what came of something planned, such as a reminder. The person may be away, so it stays."""
        if not self.isVisible():
            self._captions.skip(view.items)
        self._captions.say("warm", sentence)
        self._stays = True
        self._end.stop()
        self.show_view(view)

    def press(self) -> None:
        """Do what a click does."""
        self.clicked.emit()

    def body_size(self) -> QSize:
        theme = self.theme
        texts = QFontMetricsF(font(theme, "text")).horizontalAdvance(self._words)
        texts += QFontMetricsF(font(theme, "small")).horizontalAdvance(self._elapsed)
        wide = self._left() + math.ceil(texts) + theme.size("gap") + theme.size("card_padding")
        wide = max(min(wide, theme.size("caption_width")), theme.size("chip_width"))
        return QSize(wide, theme.size("minimised_height"))

    def hideEvent(self, event: QHideEvent) -> None:
        self._stays = False
        self._seconds.stop()
        self._end.stop()
        self._ticker.end(self._step)
        super().hideEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.press()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self.theme
        self.paint_base(painter)
        body, way, side = self.body(), self.layoutDirection(), theme.size("small_glyph")
        color = theme.tone(self._tone) if self._tone else theme.orb(self._view.orb.value)[1]
        if self._tone:
            painter.fillPath(self.body_path(), QColor(*color.faded(theme.ratio("tone_ground"))))
        left, middle = body.left() + theme.size("card_padding"), body.center().y()
        glyph = TONE_GLYPHS.get(self._tone)
        if glyph:
            drawing.draw(painter, glyph, placed(QRectF(left, middle - side / 2, side, side), body, way), color)
        else:
            dot = theme.size("gap")
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(*color))
            painter.drawEllipse(placed(QRectF(left + (side - dot) / 2, middle - dot / 2, dot, dot), body, way))
        small, text = font(theme, "small"), font(theme, "text")
        right, wide = body.right() - theme.size("card_padding"), QFontMetricsF(small).horizontalAdvance(self._elapsed)
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        seconds = placed(QRectF(right - wide, body.top(), wide + 1, body.height()), body, way)
        painter.drawText(seconds, Qt.AlignmentFlag.AlignVCenter, self._elapsed)
        painter.setFont(text)
        painter.setPen(QColor(*theme.color("ink")))
        start = body.left() + self._left()
        room = QRectF(start, body.top(), right - wide - (theme.size("gap") if wide else 0) - start + 1, body.height())
        elided = QFontMetricsF(text).elidedText(self._words, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(placed(room, body, way), Qt.AlignmentFlag.AlignVCenter, elided)

    def _left(self) -> int:
        return self.theme.size("card_padding") + self.theme.size("small_glyph") + self.theme.size("gap")

    def _advance(self, elapsed_s: float) -> bool:
        before = self._captions.current
        self._captions.advance(elapsed_s)
        if self._captions.current != before or self._captions.is_done:
            self._tell()
        return not self._captions.is_done

    def _tell(self) -> None:
        view, tr, said = self._view, QCoreApplication.translate, self._captions.current
        speaks = said is not None and not (self._captions.is_done and view.running)
        if speaks and said is not None and view.orb is not Orb.NEEDS_YOU:
            self._tone, self._words = said
            self._elapsed = ""
            if said is not self._uttered:
                self._uttered = said
                self.uttered.emit(*said)
        else:
            done = tr("State", "Done") if view.orb in (Orb.IDLE, Orb.SLEEP) else state_words(view.orb)
            self._tone = ""
            self._words = (view.doing or state_words(view.orb)) if view.running else (last_act(view) or done)
            self._elapsed = elapsed_words(time.monotonic() - view.since) if view.running else ""
        self.setAccessibleName(self._words)
        self.setAccessibleDescription(self._tone or self._elapsed)
        self.resized.emit()
        self.update()
