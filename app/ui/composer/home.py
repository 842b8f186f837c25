"""What the field offers: empty, what fits the window in front, the last tasks, and the keys; with words, their end."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.base import resources
from app.base.values import dataclass
from app.ui.theme import drawing
from app.ui.theme.drawing import font, placed
from app.ui.theme.theme import Theme

_MOST_RECENT = 2
_LEAST_TYPED = 2
_CUT = "…"


@dataclass(frozen=True, slots=True)
class _Fitting:
    """One table of `resources/suggestions.toml`."""

    words: tuple[str, ...]
    plain: tuple[str, ...]
    more: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The file."""

    suggestions: tuple[str, ...]
    fitting: dict[str, _Fitting]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing that can be done now; `about` is where it comes from."""

    text: str
    glyph: str
    about: str = ""


def fitting(window: str, *, has_model: bool) -> tuple[str, ...]:
    """What fits a window, by its class and title."""
    seen = window.casefold()
    rows = resources.table("suggestions.toml", Suggestions).fitting.values()
    row = next(row for row in rows if any(word in seen for word in row.words))
    return row.more if has_model else row.plain


def todays() -> str:
    """Today's line of the file, in the person's language."""
    known = resources.table("suggestions.toml", Suggestions).suggestions
    return QCoreApplication.translate("Composer", known[datetime.date.today().toordinal() % len(known)])


def rest_of(typed: str, known: Iterable[str]) -> str:
    """What follows in the first known line that starts with the typed words; "" where none does.

    A line that was cut when it was kept is no whole task, and one that breaks has no room.
    """
    begun = typed.casefold() if len(typed.strip()) >= _LEAST_TYPED else None
    fits = (line for line in known if line[: len(typed)].casefold() == begun and len(line) > len(typed))
    return next((line[len(typed) :] for line in fits if not line.endswith(_CUT) and "\n" not in line), "")


class _Line(QAbstractButton):
    """One suggestion: a press does it."""

    ROLE = QAccessible.Role.Button

    def __init__(self, theme: Theme, suggestion: Suggestion, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.suggestion = suggestion
        self.setText(suggestion.text)
        self.setAccessibleName(suggestion.text)
        self.setAccessibleDescription(suggestion.about)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        elif event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down) or event.text().isprintable():
            event.ignore()  # because the list moves on, and letters belong to the field
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        whole, way, gap = QRectF(self.rect()), self.layoutDirection(), theme.size("gap")
        hot = self.hasFocus() or self.underMouse()
        if hot:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(*theme.color("accent_soft" if self.hasFocus() else "raised")))
            painter.drawRoundedRect(whole, theme.size("button_radius"), theme.size("button_radius"))
        side = theme.size("small_glyph")
        glyph = placed(QRectF(gap, (self.height() - side) / 2, side, side), whole, way)
        drawing.draw(painter, self.suggestion.glyph, glyph, theme.color("ink" if hot else "muted"))
        small, text = font(theme, "small"), font(theme, "text")
        wide = QFontMetricsF(small).horizontalAdvance(self.suggestion.about) + 1
        painter.setFont(small)
        painter.setPen(QColor(*theme.color("muted")))
        about = placed(QRectF(self.width() - gap - wide, 0, wide, self.height()), whole, way)
        painter.drawText(about, Qt.AlignmentFlag.AlignVCenter, self.suggestion.about)
        painter.setFont(text)
        painter.setPen(QColor(*theme.color("ink")))
        left = gap * 2 + side
        room = placed(QRectF(left, 0, self.width() - left - wide - 2 * gap, self.height()), whole, way)
        words = QFontMetricsF(text).elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, words)


class HomeView(QWidget):
    """Lines to press. `chosen` carries a line's text; `typed` the key that belongs to the field."""

    ROLE = QAccessible.Role.List
    chosen = Signal(str)
    typed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.lines: list[_Line] = []
        self._keys = QCoreApplication.translate("Composer", "↵ send    ↑ ↓ choose    Esc close")
        self.setAccessibleName(QCoreApplication.translate("Composer", "Suggestions"))

    @property
    def wanted_height(self) -> int:
        theme = self._theme
        keys = theme.type("small").line + theme.size("gap")
        return len(self.lines) * theme.size("button_height") + keys if self.lines else 0

    def offer(self, window: str, program: str, recent: Sequence[str], *, has_model: bool) -> None:
        """What fits the `window` in front (its class and title), then the last tasks."""
        tr = QCoreApplication.translate
        fits = [Suggestion(tr("Composer", text), "spark", program) for text in fitting(window, has_model=has_model)]
        again = tr("Composer", "Recent")
        last = [Suggestion(text, "history", again) for text in dict.fromkeys(recent)][:_MOST_RECENT]
        self._show([*last, *fits])

    def enter(self) -> None:
        """The keyboard goes to the line next to the field."""
        if self.lines:
            self.lines[-1].setFocus(Qt.FocusReason.TabFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        at = next((at for at, line in enumerate(self.lines) if line.hasFocus()), None)
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if at is not None and step and 0 <= at + step < len(self.lines):
            self.lines[at + step].setFocus(Qt.FocusReason.TabFocusReason)
        elif event.key() == Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        else:
            self.typed.emit(event)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.size("bubble_width"), self.wanted_height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("muted")))
        inset, line = theme.size("padding"), theme.type("small").line
        top = len(self.lines) * theme.size("button_height") + theme.size("grid") / 2
        place = QRectF(inset + theme.size("gap"), top, self.width() - 2 * inset, line)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self._keys)

    def _show(self, suggestions: Sequence[Suggestion]) -> None:
        if [line.suggestion for line in self.lines] == list(suggestions):
            return
        for line in self.lines:
            line.hide()
            line.deleteLater()
        theme = self._theme
        self.lines = [_Line(theme, suggestion, self) for suggestion in suggestions]
        high, inset = theme.size("button_height"), theme.size("gap")
        for at, line in enumerate(self.lines):
            line.setGeometry(inset, at * high, theme.size("bubble_width") - 2 * inset, high)
            line.clicked.connect(partial(self.chosen.emit, line.suggestion.text))
            line.show()
