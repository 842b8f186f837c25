"""The suggestions around the field: for the front window, the last tasks, and keys. Typed words get completions."""

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
LEAST_TYPED = 2
_CUT = "…"


@dataclass(frozen=True, slots=True)
class _Fitting:
    """One table of `resources/suggestions.toml`: suggestions for windows whose class or title contains one of
    `words`."""

    words: tuple[str, ...]
    plain: tuple[str, ...]
    more: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The content of `suggestions.toml`."""

    suggestions: tuple[str, ...]
    opening: tuple[str, ...]
    fitting: dict[str, _Fitting]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One line of the list above the field. `about` stands at its end. `key` identifies a search result; it is "" for
    a suggested task. Lines of the same `group` stand below one heading."""

    text: str
    glyph: str
    about: str = ""
    key: str = ""
    group: str = ""


def fitting(window: str, *, has_model: bool) -> tuple[str, ...]:
    """Suggestions for a window, found by its class and title. With a model, tasks that need one."""
    seen = window.casefold()
    rows = resources.table("suggestions.toml", Suggestions).fitting.values()
    row = next(row for row in rows if any(word in seen for word in row.words))
    return row.more if has_model else row.plain


def todays() -> str:
    """A suggestion that changes daily, in the person's language."""
    known = resources.table("suggestions.toml", Suggestions).suggestions
    return QCoreApplication.translate("Composer", known[datetime.date.today().toordinal() % len(known)])


def rest_of(typed: str, known: Iterable[str]) -> str:
    """Return the rest of the first known line that begins with `typed`; "" if there is none or `typed` is too short.

    Lines with a line break are skipped, and so are lines that end in `…`, because they were cut when they were saved.
    """
    begun = typed.casefold() if len(typed.strip()) >= LEAST_TYPED else None
    fits = (line for line in known if line[: len(typed)].casefold() == begun and len(line) > len(typed))
    return next((line[len(typed) :] for line in fits if not line.endswith(_CUT) and "\n" not in line), "")


class _Line(QAbstractButton):
    """One suggestion or search result in the list, as a button."""

    ROLE = QAccessible.Role.Button

    def __init__(self, theme: Theme, suggestion: Suggestion, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.suggestion = suggestion
        self.setText(suggestion.text)
        self.setAccessibleName(suggestion.text)
        self.setAccessibleDescription(suggestion.about or suggestion.group)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        elif event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down) or (event.text().strip() and event.text().isprintable()):
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
    """The list of suggestions and search results above the field. `chosen` carries the text of a pressed suggestion.

    `opened` carries the key of a pressed search result, and `typed` a key press that the text field should get. `left`
    is emitted when an arrow key leaves the list for the field.
    """

    ROLE = QAccessible.Role.List
    chosen = Signal(str)
    opened = Signal(str)
    typed = Signal(object)
    left = Signal()
    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.lines: list[_Line] = []
        self._offered: list[Suggestion] = []
        self._found: list[Suggestion] = []
        self._headings: list[tuple[int, str]] = []
        """The upper edge in pixels and the words of each."""
        self._is_below = False
        self.setAccessibleName(QCoreApplication.translate("Composer", "Suggestions"))

    @property
    def wanted_height(self) -> int:
        return self._lower_edge() + self._heading_height() if self.lines else 0

    def offer(self, window: str, program: str, recent: Sequence[str], *, has_model: bool) -> None:
        """Show suggestions for the front `window` (its class and title) of `program`, and the person's `recent`
        tasks. No task is there twice, and none that the empty field shows is suggested as well."""
        tr = QCoreApplication.translate
        newest: dict[str, str] = {}
        for text in recent:
            newest.setdefault(_bare(text), text)
        last = list(newest.values())[:_MOST_RECENT]
        said = {_bare(text) for text in (*last, todays())}
        fits = [tr("Composer", text) for text in fitting(window, has_model=has_model)]
        again, others = tr("Composer", "Recent"), program or tr("Composer", "Suggestions")
        self._offered = [
            *(Suggestion(text, "history", group=again) for text in last),
            *(Suggestion(text, "spark", group=others) for text in fits if _bare(text) not in said),
        ]
        self._found = []
        self._show_lines()

    @property
    def has_found(self) -> bool:
        """True if the list shows search results for the typed words."""
        return bool(self._found)

    def show_found(self, found: Sequence[Suggestion]) -> None:
        """Show these search results, the best one nearest to the field. Without results, show the suggestions again."""
        if list(found) == self._found:
            return
        self._found = list(found)
        self._show_lines()
        self.changed.emit()

    def put_below(self, *, is_below: bool) -> None:
        """Set whether the list is below the field. The best line is always the one next to the field."""
        if is_below is not self._is_below:
            self._is_below = is_below
            self._show_lines()

    def enter(self) -> None:
        """Give the focus to the line next to the field."""
        if self.lines:
            self.lines[0 if self._is_below else -1].setFocus(Qt.FocusReason.TabFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        at = next((at for at, line in enumerate(self.lines) if line.hasFocus()), None)
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if at is not None and step:
            self._go_to(at + step)
        elif event.key() == Qt.Key.Key_Escape or not event.text():
            super().keyPressEvent(event)  # a key without a letter, such as Shift, begins no text
        else:
            self.typed.emit(event)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.size("bubble_width"), self.wanted_height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setFont(font(theme, "small"))
        painter.setPen(QColor(*theme.color("muted")))
        inset, line = theme.size("padding"), theme.type("small").line
        wide, lead = self.width() - 2 * inset, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading
        for top, words in self._headings:
            painter.drawText(QRectF(inset, top + theme.size("grid") / 2, wide, line), lead, words)
        place = QRectF(inset, self._lower_edge() + theme.size("grid") / 2, wide, line)
        tr = QCoreApplication.translate
        below, above = tr("Composer", "↵ ask Wisp    ↓ choose"), tr("Composer", "↵ ask Wisp    ↑ choose")
        found = below if self._is_below else above
        offered = tr("Composer", "↵ send    ↑ ↓ choose    Esc close")
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, found if self._found else offered)

    def _go_to(self, at: int) -> None:
        """Give the focus to the line with index `at`. Past the line next to the field, emit `left`; past the other
        end, do nothing."""
        if 0 <= at < len(self.lines):
            self.lines[at].setFocus(Qt.FocusReason.TabFocusReason)
        elif (at < 0) is self._is_below:
            self.left.emit()

    def _lower_edge(self) -> int:
        """Where the lines end, in pixels. The keys are explained below them."""
        return self.lines[-1].geometry().bottom() + 1 if self.lines else 0

    def _heading_height(self) -> int:
        return self._theme.type("small").line + self._theme.size("gap")

    def _show_lines(self) -> None:
        from_far = self._found[::-1] or self._offered
        self._show(from_far[::-1] if self._is_below else from_far)
        self.update()

    def _show(self, suggestions: Sequence[Suggestion]) -> None:
        if [line.suggestion for line in self.lines] == list(suggestions):
            return
        for line in self.lines:
            line.hide()
            line.deleteLater()
        theme = self._theme
        self.lines = [_Line(theme, suggestion, self) for suggestion in suggestions]
        self._headings = []
        high, inset = theme.size("button_height"), theme.size("gap")
        top, group = 0, ""
        for line in self.lines:
            if line.suggestion.group != group:
                group = line.suggestion.group
                self._headings.append((top, group))
                top += self._heading_height()
            line.setGeometry(inset, top, theme.size("bubble_width") - 2 * inset, high)
            top += high
            found = line.suggestion.key
            line.clicked.connect(partial(self.opened.emit, found) if found else partial(self.chosen.emit, line.text()))
            line.show()
        self.update()


def _bare(text: str) -> str:
    """What makes a task the same as another one, however it is written."""
    return " ".join(text.casefold().split())
