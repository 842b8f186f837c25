"""Rows of words: the person's message, Wisp's speech, the end of a turn, and notes about the run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QRect, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from app.agent.agent_events import Outcome
from app.ui.bubble.rows import OfferRow, ProseText, RichText, RowWidget
from app.ui.cards.picture import CodeView
from app.ui.presenter.view import Asked, Choose, NoticeItem, Offer, SpokenItem, TurnOutcome
from app.ui.presenter.wording import FENCE, Pacer, closes, visible
from app.ui.theme import drawing
from app.ui.theme.drawing import placed, put
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme

_BOUNCE_S = 0.6
_LARGE_CHARS = 24
"""A final answer whose first paragraph is a result and up to this long stands large."""
_IS_MARKED = re.compile(r"[#>|`]|[-*+] |\d+[.)] |.*:$").match
"""Whether a paragraph is a heading, a list, code, or leads to what follows: no answer by itself."""
_IS_SENTENCE = re.compile(r"\D*[.!?…。！？؟।]$").match
"""Whether a paragraph is a sentence without a figure, such as “Then I leave it.”: words, and no result."""


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Split text into prose and the contents of fenced code. Yields for each piece whether it is code, and its text."""
    kept, fence = list[str](), ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if fence and not closes(line, fence):
            kept.append(line)
        elif found:
            yield bool(fence), "".join(kept)
            kept, fence = [], "" if fence else found[1]
        else:
            kept.append(line)
    yield bool(fence), "".join(kept)


_ADDRESSES = ("http", "https", "mailto")


class AnswerView(QWidget):
    """Shows the model's Markdown. Fenced code is in a view with a copy button. Before a link opens, Wisp asks the
    person."""

    height_changed = Signal()

    def __init__(self, theme: Theme, ticker: Ticker, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._ticker = ticker
        self._style = ""
        self._parts: list[RichText | CodeView] = []
        self._asked = ""
        self.question: OfferRow | None = None

    @property
    def plain(self) -> str:
        """The words on show, without Markdown marks and without fenced code."""
        return "".join(part.plain for part in self._parts if isinstance(part, RichText))

    def show_text(self, text: str, style: str = "say") -> None:
        """Show this text. Parts that are unchanged stay as they are."""
        if style != self._style:
            self._drop(0)
            self._style = style
        found = [(is_code, body) for is_code, body in pieces(text) if body.strip()]
        for at, (is_code, body) in enumerate(found):
            if at < len(self._parts) and isinstance(self._parts[at], CodeView) is not is_code:
                self._drop(at)
            if at == len(self._parts):
                self._parts.append(self._made(is_code=is_code))
            self._parts[at].show_text(visible(body) if is_code else body)
        self._drop(len(found))

    def reveal(self, count: int | None) -> None:
        """Show only the first `count` characters of `plain`, and the code between them; None shows everything."""
        for part in self._parts:
            if isinstance(part, RichText):
                part.reveal(None if count is None else max(count, 0))
                count = None if count is None else count - len(part.plain)
            elif part.isHidden() is (count is None or count >= 0):
                part.setVisible(count is None or count >= 0)
                self.height_changed.emit()

    def height_for(self, width: int) -> int:
        """Lay out for a width and return the height in pixels."""
        gap, y = self._theme.size("gap"), 0
        parts = [part for part in (*self._parts, self.question) if part is not None and not part.isHidden()]
        for part in parts:
            height = part.height_for(width)
            part.setGeometry(0, y, width, height)
            y += height + gap
        return max(y - gap, 0)

    def _made(self, *, is_code: bool) -> RichText | CodeView:
        if is_code:
            made: RichText | CodeView = CodeView(self._theme, self)
        else:
            made = RichText(self._theme, self._style, self)
            made.pressed.connect(self._ask)
        made.show()
        return made

    def _drop(self, first: int) -> None:
        for part in self._parts[first:]:
            part.hide()
            part.deleteLater()
        del self._parts[first:]

    def _ask(self, address: str) -> None:
        """Ask whether to open the link. The question shows the whole address."""
        if QUrl(address).scheme() not in _ADDRESSES:
            return
        if self.question is not None:
            self.question.deleteLater()
        tr = QCoreApplication.translate
        self._asked = address
        opens = tr("Bubble", "Open {address}").format(address=visible(address))
        self.question = OfferRow(self._theme, self._ticker)
        self.question.setParent(self)
        self.question.show_row(Offer("", (opens, tr("Bubble", "Not now"))))
        self.question.intended.connect(lambda chosen: self._answer(opens=chosen == Choose(opens)))
        self.question.show()
        self.height_changed.emit()

    def _answer(self, *, opens: bool) -> None:
        if opens:
            QDesktopServices.openUrl(QUrl(self._asked))
        if self.question is not None:
            self.question.hide()
        self.height_changed.emit()


class AskedRow(RowWidget):
    """The person's message, on the right, on a quiet background."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._text = ProseText(theme, "text", theme.color("ink"), self)
        self._note = ProseText(theme, "small", theme.color("muted"), self)
        self._waits = False

    def show_row(self, row: Asked) -> None:
        tr = QCoreApplication.translate
        names = ", ".join(row.attached)
        notes = [tr("Bubble", "With {names}").format(names=names)] if row.text.strip() and names else []
        self._waits = row.waits
        if row.waits:
            notes.append(tr("Bubble", "Waits until Wisp is free"))
        self._text.show_text(row.said)
        self._note.show_text(" · ".join(notes))
        self._note.setVisible(bool(notes))
        self.setAccessibleName(": ".join((tr("Bubble", "You said"), *notes)))
        self.update()

    def height_for(self, width: int) -> int:
        inset, theme = self.theme.size("card_padding"), self.theme
        most = round(width * 0.86) - 2 * inset
        wide = self._text.width_within(most)
        height = self._text.height_for(wide)
        put(self._text, QRect(width - wide - inset, theme.size("gap"), wide, height), width)
        height += 2 * theme.size("gap")
        if self._note.isHidden():
            return height
        wide = self._note.width_within(most)
        put(self._note, QRect(width - wide - theme.size("grid"), height, wide, self._note.height_for(wide)), width)
        return height + self._note.height()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(*self.theme.color("sunken" if self._waits else "accent_soft")))
        inset, above = self.theme.size("card_padding"), self.theme.size("gap")
        box = QRectF(self._text.geometry()).adjusted(-inset, -above, inset, above)
        painter.drawRoundedRect(box, self.theme.size("card_radius"), self.theme.size("card_radius"))


TONE_GLYPHS = {
    "warm": "warm",
    "excited": "excited",
    "calm": "calm",
    "serious": "serious",
    "playful": "playful",
    "apologetic": "apologetic",
    "urgent": "alert",
}
"""Tones that show one; neutral speech, and tones that are not known, have none."""


class SaidRow(RowWidget):
    """Wisp's speech: a stripe in the colour of its tone, and words that appear at the pace of speech.

    `turns` is the queue of rows that still have words to show: the first one shows them, the others wait unseen.
    `begun` is emitted once words were visible, so that a new widget for the same speech shows all words at once.
    `uttered` carries the tone and the words that have just appeared.
    """

    begun = Signal()
    uttered = Signal(str, str)

    def __init__(
        self, theme: Theme, ticker: Ticker, turns: list[SaidRow] | None = None, *, at_once: bool = False
    ) -> None:
        super().__init__(theme, ticker)
        self._turns = turns if turns is not None else []
        self._step = f"say {id(self)}"
        self._said: SpokenItem | None = None
        self._at_once = at_once
        self._pacer: Pacer | None = None
        self._bounce_s = 0.0
        self._shown_chars: int | None = None
        self._heard_chars = 0
        self._style = "say"
        self._text = AnswerView(theme, ticker, self)
        self._text.height_changed.connect(self.height_changed)

    @property
    def words(self) -> str:
        """The words that are visible so far."""
        return self._text.plain[: self._shown_chars]

    def show_row(self, row: SpokenItem) -> None:
        first = self._said is None
        self._said = row
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Wisp says"))
        self.setAccessibleDescription(row.tone)
        if first:
            self._pacer = self._paced(row)
            bouncing = row.tone == "playful" and not self._at_once and not self.theme.reduced
            self._bounce_s = _BOUNCE_S if bouncing else 0.0
        text = f"{row.fence}\n{row.text}" if row.fence else row.text
        self._style = _style_of(row.text, is_final=row.final)
        self._text.show_text(text, self._style)
        if self._pacer is not None:
            self._pacer.arrive(len(self._text.plain))
            self._reveal(self._pacer.shown)
            if self not in self._turns:
                self._turns.append(self)
                self._turns.sort(key=_number)  # because rows are made in any order
            self.ticker.run(self._step, self._advance)
        elif not self._at_once:
            self._utter()
        self.update()

    @property
    def key(self) -> str:
        """The key of the speech item that the row shows."""
        return self._said.key if self._said is not None else ""

    @property
    def _waits(self) -> bool:
        return self in self._turns and self._turns[0] is not self

    def height_for(self, width: int) -> int:
        if self._waits:
            return 1
        left = self._indent()
        inset, above = self.theme.size("gap"), self.theme.size("grid")
        height = self._text.height_for(width - left - inset)
        put(self._text, QRect(left, above, width - left - inset, height), width)
        return height + 2 * above

    def leave(self) -> None:
        self.ticker.end(self._step)
        if self.words:
            self.begun.emit()
        self._give_turn()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._said is None or self._waits:
            return
        theme, tone = self.theme, self.theme.tone(self._said.tone)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = theme.count("stripe")
        nudge = math.sin(self._bounce_s / _BOUNCE_S * math.tau) * theme.count("grid") if self._bounce_s > 0 else 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        radius = theme.size("button_radius")
        painter.setBrush(QColor(*tone.faded(theme.ratio("tone_ground"))))
        painter.drawRoundedRect(QRectF(self.rect()), radius, radius)
        painter.setBrush(QColor(*tone))
        whole, way = QRectF(self.rect()), self.layoutDirection()
        stripe = placed(QRectF(0, max(nudge, 0), width, self.height() - abs(nudge)), whole, way)
        painter.drawRoundedRect(stripe, width / 2, width / 2)
        glyph = TONE_GLYPHS.get(self._said.tone)
        if glyph:
            side, line = theme.size("glyph"), theme.type(self._style).line
            above = theme.size("grid") + (line - side) / 2
            place = placed(QRectF(width + theme.size("gap"), above, side, side), whole, way)
            drawing.draw(painter, glyph, place, tone)

    def _indent(self) -> int:
        theme = self.theme
        glyph = theme.size("glyph") + theme.size("gap") if self._said and self._said.tone in TONE_GLYPHS else 0
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
        if self._waits:
            return True
        words = self._text.plain
        shown = self._pacer.advance(words, elapsed_s * len(self._turns))  # quicker while others wait
        self._reveal(shown)
        if shown >= len(words):  # more where the end was taken back while it was spoken
            self.begun.emit()
            self._give_turn()
        if self._bounce_s > 0:
            self._bounce_s = max(self._bounce_s - elapsed_s, 0.0)
            self.update()
        return shown < len(words) or self._bounce_s > 0

    def _give_turn(self) -> None:
        """End this row's turn to show words, and let the next row in the queue begin."""
        if self in self._turns:
            self._turns.remove(self)
            if self._turns:
                self._turns[0].height_changed.emit()

    def _reveal(self, shown: int) -> None:
        """Show the first `shown` characters. At the end show everything, because Qt may count more characters than
        Python."""
        self._shown_chars = None if shown >= len(self._text.plain) else shown
        self._text.reveal(self._shown_chars)
        self._utter()

    def _utter(self) -> None:
        """Emit the words that have appeared whole since the last time."""
        plain, words = self._text.plain, self.words
        end = len(words) if len(words) == len(plain) else words.rfind(" ") + 1
        if self._said is not None and end > self._heard_chars:
            self.uttered.emit(self._said.tone, plain[self._heard_chars : end])
            self._heard_chars = end


def _number(row: SaidRow) -> int:
    """Items are numbered in the order in which they came."""
    return int(row.key[1:]) if row.key[1:].isdigit() else 0


def _style_of(text: str, *, is_final: bool) -> str:
    first = text.strip().partition("\n\n")[0]
    is_short = len(first) <= _LARGE_CHARS and "\n" not in first
    is_large = is_final and is_short and not _IS_MARKED(first) and not _IS_SENTENCE(first)
    return "answer" if is_large else "say"


_MARKS = {
    Outcome.UNVERIFIED: ("circle", "muted"),
    Outcome.FAILED: ("notch", "warn"),
    Outcome.CUT_OFF: ("notch", "warn"),
    Outcome.REPEATING: ("notch", "warn"),
    Outcome.WAITING: ("question", "accent"),
    Outcome.STOPPED: ("stop", "muted"),
}
_LEVELS = {"info": ("info", "muted"), "warning": ("alert", "warn"), "error": ("notch", "warn")}


class _MarkedRow(RowWidget):
    """A row with a glyph and words beside the glyph."""

    def __init__(self, theme: Theme, ticker: Ticker, style: str) -> None:
        super().__init__(theme, ticker)
        self._style = style
        self._mark: tuple[str, str] | None = ("info", "muted")
        self._text = ProseText(theme, style, theme.color("ink"), self)

    def _left(self) -> int:
        return self.theme.size("glyph") + self.theme.size("gap") if self._mark else 0

    def height_for(self, width: int) -> int:
        theme, left = self.theme, self._left()
        height = self._text.height_for(width - left)
        put(self._text, QRect(left, 0, width - left, height), width)
        return max(height, theme.size("glyph"))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        if self._mark is None:
            return
        glyph, color = self._mark
        side = theme.size("small_glyph")
        first_line = theme.type(self._style).line
        place = QRectF((theme.size("glyph") - side) / 2, (first_line - side) / 2, side, side)
        place = placed(place, QRectF(self.rect()), self.layoutDirection())
        drawing.draw(painter, glyph, place, theme.color(color))


class EndedRow(_MarkedRow):
    """How a turn ended, in words: its result, its question or its error."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker, "say")
        self._text.hide()  # because the answer's own view shows the words
        self._answer = AnswerView(theme, ticker, self)
        self._answer.height_changed.connect(self.height_changed)

    def show_row(self, row: TurnOutcome) -> None:
        self._mark = _MARKS.get(row.outcome)
        self._answer.show_text(row.text, _style_of(row.text, is_final=self._mark is None))
        self.setAccessibleName(row.outcome.value)

    def height_for(self, width: int) -> int:
        left = self._left()
        height = self._answer.height_for(width - left)
        put(self._answer, QRect(left, 0, width - left, height), width)
        return max(height, self.theme.size("glyph"))


class NoticeRow(_MarkedRow):
    """Shows a message about the turn itself, such as a warning."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker, "small")

    def show_row(self, row: NoticeItem) -> None:
        self._mark = _LEVELS.get(row.level, _LEVELS["info"])
        self._text.show_text(row.sentence)
        self.setAccessibleName(row.level)
