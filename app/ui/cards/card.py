"""The card of one call, and the line that folds several small cards."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.base.tool_words import PLAIN_KINDS, tool_words
from app.ui.bubble.rows import ProseText, RowWidget
from app.ui.cards.contents import (
    BrowserView,
    CardHead,
    CardPart,
    ContentView,
    SourcesView,
    elapsed_words,
    fits_in_line,
    paint_chevron,
    paint_head,
    words_left,
)
from app.ui.cards.picture import CodeView, FilmStrip, PictureView
from app.ui.presenter.cards import frames_of, newest_picture
from app.ui.presenter.view import Card, OpenPicture, PressCard, SaveGuide, ShownPicture, Status
from app.ui.presenter.wording import Fold
from app.ui.theme.drawing import font, placed, put
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.translation import counted

Part = TypeVar("Part", bound=QWidget)


class _Openable(RowWidget):
    """A row with a head. A click on the head, or Enter or Space, opens and closes the row: it emits `toggled` with
    its key."""

    toggled = Signal(str)
    key = ""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def head_box(self) -> QRectF:
        return QRectF(0, 0, self.width(), self.theme.size("step_height"))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.head_box().contains(event.position()):
            self.toggled.emit(self.key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Not those of a button in it, which come here too where the button has no use for them.
        is_its_own = not isinstance(self.focusWidget(), QAbstractButton)
        if is_its_own and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.toggled.emit(self.key)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def press(self) -> None:
        """Do what a click on the head does."""
        self.toggled.emit(self.key)

    def paint_ground(self, painter: QPainter, *, is_open: bool, waits: bool = False) -> QRectF:
        """Paint the row's background if it is open, and a frame: in the accent colour with the focus or while it
        waits for the person. Returns the frame's box."""
        theme = self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        focused = self.hasFocus()
        if is_open or focused or waits:
            painter.setPen(
                QPen(QColor(*theme.color("accent" if focused or waits else "hairline")), 2 if focused else 1)
            )
            painter.setBrush(QColor(*theme.color("raised")) if is_open else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, theme.size("button_radius"), theme.size("button_radius"))
        return box


class CardRow(_Openable):
    """The card of one call: its head with what came of the call, or below it if that is long, and, while open, its
    text, its output and its picture. `opens` says whether a card is open as long as nobody opens or closes it."""

    @property
    def expanded(self) -> bool | None:
        """Whether the card is open; None if there is nothing to open."""
        return self.is_open if self._has_more() else None

    def __init__(self, theme: Theme, ticker: Ticker, opens: Callable[[Card], bool]) -> None:
        super().__init__(theme, ticker)
        self._opens = opens
        self._step = f"card {id(self)}"
        self._card: Card | None = None
        self._line = 0.0
        self._elapsed = ""
        self.is_open = False
        self._is_beside = False
        self._sentence: ProseText | None = None
        self._body: CodeView | None = None
        self._output: CodeView | None = None
        self._picture: PictureView | None = None
        self._own: CardPart | None = None
        self._small: tuple[ShownPicture, QPixmap] | None = None

    def show_row(self, row: Card) -> None:
        self._card = row
        self.key = row.key
        self.is_open = self._opens(row)
        self.setAccessibleName(f"{row.verb} {row.object}".strip())
        status = QCoreApplication.translate("Status", row.status.value)
        self.setAccessibleDescription(" · ".join(filter(None, (status, row.sentence))))
        if row.status is Status.RUNNING:
            self._elapsed = _elapsed(row)
            self.ticker.run(self._step, self._advance)
        else:
            self.ticker.end(self._step)
            self._elapsed = elapsed_words(row.elapsed_s or 0.0)
        self._fill()
        self.setCursor(Qt.CursorShape.PointingHandCursor if self._has_more() else Qt.CursorShape.ArrowCursor)
        self.update()

    def set_open(self, *, is_open: bool) -> None:
        if is_open != self.is_open:
            self.is_open = is_open
            self._fill()
            self.height_changed.emit()
            self.update()

    def height_for(self, width: int) -> int:
        theme = self.theme
        inset, gap = theme.size("card_padding"), theme.size("gap")
        self._place_sentence(width)
        y, parts = theme.size("step_height") + theme.size("grid"), self._parts()
        for part in parts:
            left = words_left(theme) if part is self._sentence else inset
            height = part.height_for(width - left - inset)
            put(part, QRect(left, y, width - left - inset, height), width)
            y += height + gap
        return y + inset - gap if parts else theme.size("step_height")

    def _place_sentence(self, width: int) -> None:
        """Show what came of the call in the head's line if it fits there, else below."""
        if self._card is not None and self._sentence is not None:
            self._is_beside = fits_in_line(self._head(self._card, came=self._card.sentence), width, self.theme)
            self._sentence.setVisible(not self._is_beside)

    def leave(self) -> None:
        self.ticker.end(self._step)

    def paintEvent(self, event: QPaintEvent) -> None:
        card = self._card
        if card is None:
            return
        painter = QPainter(self)
        is_framed = any(part is not self._sentence for part in self._parts()) or card.status is Status.FAILED
        box = self.paint_ground(painter, is_open=is_framed, waits=card.status is Status.WAITING)
        head = self._head(card, came=card.sentence if self._is_beside else "")
        paint_head(painter, self.head_box(), head, self.theme)
        if card.status is Status.RUNNING:
            self._paint_line(painter, box)

    def _head(self, card: Card, *, came: str) -> CardHead:
        opens = self.is_open if self._has_more() else None
        color = "warn" if card.status is Status.FAILED else "muted"
        return CardHead(
            card.glyph, card.verb, card.object, card.status, self._elapsed, opens, color, self._thumbnail(), came
        )

    def _parts(self) -> list[ProseText | CodeView | PictureView | CardPart]:
        parts = (None if self._is_beside else self._sentence, self._own, self._body, self._output, self._picture)
        return [part for part in parts if part is not None]

    def _has_more(self) -> bool:
        card = self._card
        return card is not None and bool(_own_body(card) or card.output.strip() or card.picture or _has_own(card))

    def _thumbnail(self) -> QPixmap | None:
        """For the head of a closed card; None if the card is open or has no picture."""
        picture = newest_picture(self._card) if self._card else None
        if picture is None or self.is_open:
            return None
        if self._small is None or self._small[0] is not picture:
            height = round(self.theme.size("thumbnail") * self.devicePixelRatioF())
            pixmap = QPixmap()
            pixmap.loadFromData(picture.data)
            small = pixmap.scaledToHeight(height, Qt.TransformationMode.SmoothTransformation)
            small.setDevicePixelRatio(self.devicePixelRatioF())
            self._small = (picture, small)
        return None if self._small[1].isNull() else self._small[1]

    def _fill(self) -> None:
        """Create the parts that are visible now, and delete the others."""
        card, theme = self._card, self.theme
        if card is None:
            return
        if card.sentence and self._sentence is None:
            color = theme.color("ink" if card.status is Status.FAILED else "muted")
            self._sentence = ProseText(theme, "small", color, self)
        if self._sentence is not None:
            self._sentence.show_text(card.sentence)
        body = with_left_out(_own_body(card), card.body_left_out) if self.is_open else ""
        self._body = self._code(self._body, body, as_diff=tool_words(card.tool).body == "diff")
        output = with_left_out(card.output, card.output_left_out) if self.is_open and card.output.strip() else ""
        self._output = self._code(self._output, output)
        self._fill_own(card)
        picture = card.picture if self.is_open and card.content is None else None
        if picture is None:
            _drop(self._picture)
            self._picture = None
        else:
            if self._picture is None:
                self._picture = _shown(PictureView(theme, self))
                self._picture.opened.connect(self._open_picture)
            self._picture.show_picture(picture)

    def _fill_own(self, card: Card) -> None:
        """Create or update the part that cards of this kind add, such as the browser's steps; delete it while the
        card is closed."""
        if not (self.is_open and _has_own(card)):
            _drop(self._own)
            self._own = None
            return
        if self._own is None:
            self._own = _shown(_OWN.get(card.kind, ContentView)(self.theme, self))
            self._own.opened.connect(self._open_picture)
            self._own.height_changed.connect(self.height_changed)
            self._own.pressed.connect(self._press)
        self._own.show_card(card)

    def _press(self, button: str) -> None:
        if self._card is not None:
            self.intended.emit(PressCard(button, self._card))

    def _open_picture(self, picture: ShownPicture) -> None:
        self.intended.emit(OpenPicture(picture))

    def _code(self, view: CodeView | None, text: str, *, as_diff: bool = False) -> CodeView | None:
        if not text:
            _drop(view)
            return None
        if view is None:
            view = _shown(CodeView(self.theme, self, as_diff=as_diff))
        view.show_text(text)
        return view

    def _paint_line(self, painter: QPainter, box: QRectF) -> None:
        """Paint a thin line at the bottom of a running card. Its length is the progress; if that is unknown, a short
        line moves."""
        theme, card = self.theme, self._card
        inset = theme.size("card_radius")
        track = QRectF(box.left() + inset, box.bottom() - 2, box.width() - 2 * inset, 2)
        if card is not None and card.share is not None:
            track.setWidth(track.width() * min(max(card.share, 0.0), 1.0))
        elif not theme.reduced:
            part = track.width() * 0.28
            track = QRectF(track.left() + (track.width() - part) * _there_and_back(self._line), track.top(), part, 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*theme.color("accent")))
        painter.drawRoundedRect(track, 1, 1)

    def _advance(self, elapsed_s: float) -> bool:
        card = self._card
        if card is None or card.status is not Status.RUNNING:
            return False
        self._line = (self._line + elapsed_s * 1000 / self.theme.ms("running_line")) % 1.0
        self._elapsed = _elapsed(card)
        self.update(0, 0, self.width(), self.theme.size("step_height"))
        self.update(0, self.height() - self.theme.size("grid"), self.width(), self.theme.size("grid"))
        return True


class FoldRow(_Openable):
    """One line for several steps. Opened, it also shows the pictures that were taken during the steps."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._fold: Fold | None = None
        self._film: FilmStrip | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_row(self, row: Fold) -> None:
        self._fold = row
        self.key = row.key
        self.setAccessibleName(self._words())
        self._fill(frames_of(row.cards) if row.is_open else ())
        self.update()

    @property
    def expanded(self) -> bool:
        return self._fold is not None and self._fold.is_open

    def height_for(self, width: int) -> int:
        line = self.theme.size("step_height")
        if self._film is None:
            return line
        high = self._film.height_for(width)
        self._film.setGeometry(0, line, width, high)
        return line + high

    def _fill(self, frames: tuple[tuple[str, ShownPicture], ...]) -> None:
        """Show these pictures as a film strip; without pictures, delete the strip."""
        if not frames:
            _drop(self._film)
            self._film = None
            return
        if self._film is None:
            self._film = _shown(FilmStrip(self.theme, self))
            self._film.opened.connect(lambda picture: self.intended.emit(OpenPicture(picture)))
            self._film.save_wanted.connect(self._save)
        self._film.show_frames(frames)

    def _save(self) -> None:
        if self._fold is not None:
            self.intended.emit(SaveGuide(self._fold.cards))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._fold is None:
            return
        painter, theme = QPainter(self), self.theme
        self.paint_ground(painter, is_open=False)
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("muted")))
        words, side = self._words(), theme.size("small_glyph")
        whole, way = self.head_box(), self.layoutDirection()
        left, width = theme.size("grid"), QFontMetricsF(painter.font()).horizontalAdvance(words) + 1
        place = placed(QRectF(left, 0, width, whole.height()), whole, way)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, words)
        middle = QRectF(left + width + theme.size("grid") / 2, (whole.height() - side) / 2, side, side)
        paint_chevron(painter, placed(middle, whole, way), theme, is_open=self._fold.is_open)

    def _words(self) -> str:
        cards, tr = self._fold.cards if self._fold else (), QCoreApplication.translate
        words = [counted("{count} step", "{count} steps", len(cards))]
        words.append(elapsed_words(sum(card.elapsed_s or 0.0 for card in cards)))
        if any(card.status is Status.FAILED for card in cards):
            words.append(tr("Cards", "one did not work"))
        elif any(card.status is Status.UNVERIFIED for card in cards):
            words.append(tr("Cards", "not confirmed"))
        return " · ".join(word for word in words if word)


def with_left_out(text: str, count: int) -> str:
    """Return the text below a line that says that `count` characters before it were dropped; just the text for 0."""
    if not (count and text):
        return text
    words = counted("… {count} character before this", "… {count} characters before this", count)
    return f"{words}\n{text}"


def _own_body(card: Card) -> str:
    """The text that the call wrote; "" if the card's head shows all of it, or a picture what it makes."""
    is_seen = card.kind not in PLAIN_KINDS and card.picture is not None
    return "" if is_seen or card.body.strip() in card.object else card.body


_OWN: Mapping[str, type[CardPart]] = {"browser": BrowserView, "web": SourcesView}


def _has_own(card: Card) -> bool:
    return bool(card.sights or card.sources or card.content)


def _elapsed(card: Card) -> str:
    return elapsed_words(card.left_s if card.left_s is not None else time.monotonic() - card.since)


def _there_and_back(phase: float) -> float:
    return 2 * phase if phase < 0.5 else 2 - 2 * phase


def _shown(part: Part) -> Part:
    part.show()
    return part


def _drop(part: QWidget | None) -> None:
    if part is not None:
        part.hide()
        part.deleteLater()
