"""The card of the turn's checklist: how much is done, and each step with its tick."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent

from app.ui import icons
from app.ui.bubble.row import RowWidget
from app.ui.cards.head import Head, paint_head
from app.ui.motion import Ticker
from app.ui.presenter.view import Checklist, Status, Step
from app.ui.style import font, lines_of
from app.ui.theme import Theme

_Line = tuple[Step, QRect, Qt.TextFlag]


class ChecklistRow(RowWidget):
    """Steps that are done step back; what is left stands out."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._steps: tuple[Step, ...] = ()
        self._lines: tuple[_Line, ...] = ()

    def show_row(self, row: Checklist) -> None:
        self._steps = row.steps
        self.setAccessibleName(self._words())
        self.setAccessibleDescription("\n".join(f"{'✓' if step.done else '○'} {step.text}" for step in row.steps))
        self.update()

    def height_for(self, width: int) -> int:
        theme, lines = self.theme, list[_Line]()
        metrics, inset = QFontMetrics(font(theme, "text")), theme.size("card_padding")
        left = inset + theme.size("glyph") + theme.size("gap") + theme.size("grid") // 2
        y = theme.size("card_height") - theme.size("grid")
        for step in self._steps:
            flags, box = lines_of(metrics, width - left - inset, step.text)
            lines.append((step, QRect(left, y, width - left - inset, box.height()), flags))
            y += box.height() + theme.size("grid")
        self._lines = tuple(lines)
        return y + inset - theme.size("grid")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(*theme.color("hairline")))
        painter.setBrush(QColor(*theme.color("raised")))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, theme.size("card_radius"), theme.size("card_radius"))
        status = Status.OK if all(step.done for step in self._steps) else Status.RUNNING
        head = QRectF(0, 0, self.width(), theme.size("card_height"))
        paint_head(painter, head, Head("list", self._words(), "", status), theme)
        painter.setFont(font(theme, "text"))
        first_line, side = QFontMetrics(painter.font()).height(), theme.size("small_glyph")
        left = theme.size("card_padding") + (theme.size("glyph") - side) / 2
        for step, place, flags in self._lines:
            mark, color = ("check", "ok") if step.done else ("circle", "muted")
            where = QRectF(left, place.top() + (first_line - side) / 2, side, side)
            icons.draw(painter, mark, where, theme.color(color))
            painter.setPen(QColor(*theme.color("muted" if step.done else "ink")))
            painter.drawText(place, flags, step.text)

    def _words(self) -> str:
        done = sum(step.done for step in self._steps)
        words = QCoreApplication.translate("Cards", "{done} of {total} done")
        return words.format(done=done, total=len(self._steps))
