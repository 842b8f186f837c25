"""Rows of words: what the person asked, what Wisp says, how it ended, and notes about the run."""

from __future__ import annotations

import math

from PySide6.QtCore import QCoreApplication, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent

from app.agent.agent_events import Outcome
from app.ui.bubble.rows import ProseText, RowWidget
from app.ui.presenter.view import Asked, SpokenItem, Told, TurnOutcome
from app.ui.presenter.wording import Pacer
from app.ui.theme import drawing
from app.ui.theme.drawing import placed, put
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme

_BOUNCE_S = 0.6


class AskedRow(RowWidget):
    """The person's words, to the right, on a quiet ground."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._text = ProseText(theme, "text", theme.color("ink"), self)

    def show_row(self, row: Asked) -> None:
        self._text.show_text(row.text)
        self.setAccessibleName(QCoreApplication.translate("Bubble", "You said"))

    def height_for(self, width: int) -> int:
        inset, theme = self.theme.size("card_padding"), self.theme
        most = round(width * 0.86) - 2 * inset
        wide = self._text.width_within(most)
        height = self._text.height_for(wide)
        put(self._text, QRect(width - wide - inset, theme.size("gap"), wide, height), width)
        return height + 2 * theme.size("gap")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*self.theme.color("accent_soft")))
        inset, above = self.theme.size("card_padding"), self.theme.size("gap")
        box = QRectF(self._text.geometry()).adjusted(-inset, -above, inset, above)
        painter.drawRoundedRect(box, self.theme.size("card_radius"), self.theme.size("card_radius"))


class SaidRow(RowWidget):
    """Speech in its tone: a stripe in the tone's colour, the words in the rhythm of speech."""

    def __init__(self, theme: Theme, ticker: Ticker, *, at_once: bool = False) -> None:
        super().__init__(theme, ticker)
        self._step = f"say {id(self)}"
        self._said: SpokenItem | None = None
        self._at_once = at_once
        self._pacer: Pacer | None = None
        self._bounce_s = 0.0
        self._text = ProseText(theme, "say", theme.color("ink"), self)

    @property
    def words(self) -> str:
        """What has appeared so far."""
        return self._text.shown

    def show_row(self, row: SpokenItem) -> None:
        first = self._said is None
        self._said = row
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Wisp says"))
        self.setAccessibleDescription(row.tone)
        if first:
            self._pacer = self._paced(row)
            bouncing = row.tone == "playful" and not self._at_once and not self.theme.reduced
            self._bounce_s = _BOUNCE_S if bouncing else 0.0
        if self._pacer is None:
            self._reveal(row.text)
        else:
            self._pacer.arrive(len(row.text))
            self.ticker.run(self._step, self._advance)
        self.update()

    def height_for(self, width: int) -> int:
        left = self._indent()
        height = self._text.height_for(width - left)
        put(self._text, QRect(left, 0, width - left, height), width)
        return height

    def leave(self) -> None:
        self.ticker.end(self._step)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._said is None:
            return
        theme, tone = self.theme, self.theme.tone(self._said.tone)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = theme.count("stripe")
        nudge = math.sin(self._bounce_s / _BOUNCE_S * math.tau) * theme.count("grid") if self._bounce_s > 0 else 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*tone))
        whole, way = QRectF(self.rect()), self.layoutDirection()
        stripe = placed(QRectF(0, max(nudge, 0), width, self.height() - abs(nudge)), whole, way)
        painter.drawRoundedRect(stripe, width / 2, width / 2)
        if self._said.tone == "urgent":
            side = theme.size("glyph")
            drawing.draw(painter, "alert", placed(QRectF(width + theme.size("gap"), 1, side, side), whole, way), tone)

    def _indent(self) -> int:
        theme = self.theme
        glyph = theme.size("glyph") + theme.size("gap") if self._said and self._said.tone == "urgent" else 0
        return theme.count("stripe") + theme.size("card_padding") + glyph

    def _paced(self, row: SpokenItem) -> Pacer | None:
        theme, tempo = self.theme, self.theme.tempo(row.tone)
        if self._at_once or tempo <= 0 or theme.reduced:
            return None
        seconds = {name: theme.pace(name) / 1000 for name in ("comma_ms", "stop_ms", "behind_ms")}
        pace = theme.pace("chars_per_s") * tempo
        return Pacer(pace, seconds["comma_ms"] / tempo, seconds["stop_ms"] / tempo, seconds["behind_ms"])

    def _advance(self, elapsed_s: float) -> bool:
        assert self._said is not None
        assert self._pacer is not None
        shown = self._pacer.advance(self._said.text, elapsed_s)
        self._reveal(self._said.text[:shown])
        if self._bounce_s > 0:
            self._bounce_s = max(self._bounce_s - elapsed_s, 0.0)
            self.update()
        return shown < len(self._said.text) or self._bounce_s > 0

    def _reveal(self, text: str) -> None:
        before = self._text.document().size().height()
        self._text.show_text(text)
        if self._text.document().size().height() != before:
            self.height_changed.emit()


_MARKS = {
    Outcome.FINISHED: ("check", "ok"),
    Outcome.ANSWERED: ("check", "ok"),
    Outcome.UNVERIFIED: ("circle", "muted"),
    Outcome.FAILED: ("notch", "bad"),
    Outcome.CUT_OFF: ("notch", "bad"),
    Outcome.REPEATING: ("notch", "bad"),
    Outcome.WAITING: ("question", "accent"),
    Outcome.STOPPED: ("stop", "muted"),
}
_LEVELS = {"info": ("info", "muted"), "warning": ("alert", "warn"), "error": ("notch", "bad")}


class _MarkedRow(RowWidget):
    """A glyph and words beside it."""

    def __init__(self, theme: Theme, ticker: Ticker, style: str) -> None:
        super().__init__(theme, ticker)
        self._style = style
        self._mark = ("info", "muted")
        self._text = ProseText(theme, style, theme.color("ink"), self)

    def height_for(self, width: int) -> int:
        theme = self.theme
        left = theme.size("glyph") + theme.size("gap")
        height = self._text.height_for(width - left)
        put(self._text, QRect(left, 0, width - left, height), width)
        return max(height, theme.size("glyph"))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        glyph, color = self._mark
        side = theme.size("small_glyph")
        first_line = theme.type(self._style).line
        place = QRectF((theme.size("glyph") - side) / 2, (first_line - side) / 2, side, side)
        place = placed(place, QRectF(self.rect()), self.layoutDirection())
        drawing.draw(painter, glyph, place, theme.color(color))


class EndedRow(_MarkedRow):
    """How the turn came out."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker, "text")

    def show_row(self, row: TurnOutcome) -> None:
        self._mark = _MARKS[row.outcome]
        self._text.show_text(row.text)
        self.setAccessibleName(row.outcome.value)


class ToldRow(_MarkedRow):
    """A note about the run itself."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker, "small")

    def show_row(self, row: Told) -> None:
        self._mark = _LEVELS.get(row.level, _LEVELS["info"])
        self._text.show_text(row.sentence)
        self.setAccessibleName(row.level)
