"""The thread: a list of thousands of rows. Only rows in sight or within one screen of that are widgets.

The height of a row that was never in sight is estimated. While the person reads further up, the row they read stays in
its place, even when rows are added or another row's height is corrected.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from PySide6.QtCore import QCoreApplication, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QEnterEvent,
    QHideEvent,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QScrollBar, QWidget

from app.ui.bubble.rows import RowWidget
from app.ui.presenter.view import Asked, Card, Offer, SpokenItem, TakeBack, TurnOutcome
from app.ui.presenter.wording import Fold, Row
from app.ui.theme.theme import Theme

_CONTINUED_FROM_CHARS = 1500


class Column:
    """The places of all rows, in pixels. `guess` estimates the height of a row that was not measured; `gap` is below
    a row."""

    def __init__(self, guess: Callable[[Row], int], gap: int) -> None:
        self.rows: tuple[Row, ...] = ()
        self.tops: list[int] = [0]
        self._guess = guess
        self._gap = gap
        self._measured: dict[str, int] = {}
        self._index: dict[str, int] = {}
        self._clean = 0

    @property
    def height(self) -> int:
        return self.tops[-1]

    def show(self, rows: Sequence[Row]) -> None:
        """Take these rows. Rows at the beginning that are the same objects as before keep their places, at no cost."""
        old, new = self.rows, tuple(rows)
        same = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one is not other), None)
        first = min(len(old), len(new)) if same is None else same
        for row in old[first:]:
            self._index.pop(row.key, None)
        for at in range(first, len(new)):
            self._index[new[at].key] = at
        for row in old[first:]:
            if row.key not in self._index:
                self._measured.pop(row.key, None)
        self.rows = new
        self._clean = min(self._clean, first)

    def measured(self, key: str) -> bool:
        return key in self._measured

    def measure(self, row: Row, height: int) -> bool:
        """Store a row's real height, and return whether it differs from the stored or estimated height."""
        before = self.height_of(row)
        self._measured[row.key] = height
        if height != before:
            self._touch(row.key)
        return height != before

    def forget(self, key: str) -> None:
        """Drop a row's height, because the row's content has changed and it must be measured anew."""
        if self._measured.pop(key, None) is not None:
            self._touch(key)

    def forget_all(self) -> None:
        """Drop all heights, because the width has changed."""
        self._measured.clear()
        self._clean = 0

    def height_of(self, row: Row) -> int:
        return self._measured.get(row.key) or self._guess(row)

    def reckon(self) -> None:
        """Recompute at which `y` each row begins, from the first row that has changed."""
        first = self._clean
        steps = (self.height_of(row) + self._below(row) for row in self.rows[first:])
        self.tops[first:] = accumulate(steps, initial=self.tops[first] if first < len(self.tops) else 0)
        self._clean = len(self.rows)

    def _below(self, row: Row) -> int:
        if isinstance(row, (Card, Fold)):
            return self._gap // 2
        return 0 if _goes_on(row) else self._gap

    def at(self, y: int) -> int:
        """Return the index of the row at `y` pixels below the top."""
        return bisect_right(self.tops, y) - 1

    def index_of(self, key: str) -> int | None:
        return self._index.get(key)

    def _touch(self, key: str) -> None:
        self._clean = min(self._clean, self._index.get(key, self._clean))


def _goes_on(row: Row) -> bool:
    """True if the next row continues the long speech of this one, so that no gap is between the two."""
    return isinstance(row, SpokenItem) and row.done and len(row.text) > _CONTINUED_FROM_CHARS


Make = Callable[[Row], RowWidget]
_CHARS_PER_LINE = 48


class Thread(QAbstractScrollArea):
    """The scrolling list of rows. `show_rows` sets its rows; `wanted_height_changed` carries the height of all of
    them."""

    wanted_height_changed = Signal(int)

    def __init__(self, theme: Theme, make: Make, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._make = make
        self._column = Column(lambda row: _guessed(row, theme), theme.size("gap"))
        self._placed: tuple[Row, ...] = ()
        self._widgets: dict[str, RowWidget] = {}
        self._shown: dict[str, Row] = {}
        self._follows = True
        self._left = ""
        """The answer whose beginning the person has scrolled away from."""
        self._measured = 0
        self._arranging = False
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._arrange)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setViewport(_Rows())
        self.viewport().setAutoFillBackground(False)
        self.verticalScrollBar().setSingleStep(theme.size("card_height"))
        self._edges = (_Edge(theme, self, is_top=True), _Edge(theme, self, is_top=False))
        self._bar = QScrollBar(Qt.Orientation.Vertical, self)
        self._bar.valueChanged.connect(self.verticalScrollBar().setValue)
        self._bar_rests = QTimer(self)
        self._bar_rests.setSingleShot(True)
        self._bar_rests.setInterval(theme.ms("scrollbar_hides"))
        self._bar_rests.timeout.connect(self._put_bar)

    @property
    def realised(self) -> dict[str, RowWidget]:
        """The widgets that exist now, by their row's key."""
        return dict(self._widgets)

    @property
    def wanted_height(self) -> int:
        return self._column.height

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows. Rows whose value is the same object as before stay unchanged."""
        self._column.show(rows)
        for key in [key for key in self._widgets if self._column.index_of(key) is None]:
            self._release(key)
        self._arrange()

    def follow(self) -> None:
        """Scroll to the newest row, and follow new rows."""
        self._follows, self._left = True, self._answer()
        self._arrange()

    def show_row_of(self, key: str) -> None:
        """Scroll to the row of the item with this key, or to the fold that contains the item."""
        index = next((at for at, row in enumerate(self._column.rows) if key in _keys_of(row)), None)
        if index is not None:
            self.verticalScrollBar().setValue(self._column.tops[index])

    def bring_into_sight(self, part: QWidget) -> None:
        """Scroll as little as possible until a part of a row is visible."""
        if not self.viewport().isAncestorOf(part):
            return
        top = part.mapTo(self.viewport(), part.rect().topLeft()).y()
        over = top + min(part.height(), self.height()) - self.height()
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + (top if top < 0 else max(over, 0)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._shown.clear()
        self._arrange()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop all animations while the thread is hidden."""
        super().hideEvent(event)
        for widget in self._widgets.values():
            widget.leave()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.verticalScrollBar().event(event)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if not self._arranging:
            bar = self.verticalScrollBar()
            self._follows = bar.value() >= bar.maximum() - self._theme.count("grid")
            self._left = self._answer()
            self._bar_rests.start()
            self._arrange()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._bar_rests.start()
        self._put_bar()

    def _width(self) -> int:
        """In pixels. The scroll bar lies over the margin, so it does not make rows narrower."""
        return self.width() - 2 * self._theme.size("padding")

    def _forget_heights(self) -> None:
        """Drop all measured heights if the width has changed since they were measured."""
        if self._measured != self._width():
            self._measured = self._width()
            self._column.forget_all()

    def _arrange(self) -> None:
        """Create the rows that become visible, drop those that left, and place all of them."""
        if self._arranging or self._width() <= 0:
            return
        self._arranging = True
        self._soon.stop()
        self._forget_heights()
        before, page = self._column.height, self.height()
        anchor = self._anchor()
        self._column.reckon()
        for _ in range(3):  # again, because the real heights of new rows may make more rows visible
            self._scroll(anchor)
            if not self._realise():
                break
            self._column.reckon()
        self._scroll(anchor)
        self._put()
        self._put_bar()
        self._put_edges()
        self._arranging = False
        self._placed = self._column.rows
        if self._column.height != before:
            self.wanted_height_changed.emit(self._column.height)
            if self.height() != page:  # because the resize event comes later, or not at all while hidden
                self._arrange()

    def _anchor(self) -> tuple[str, int]:
        """Return the key of the first row in sight, by the places before the change, and how many pixels of it are
        above the edge."""
        top, tops = self.verticalScrollBar().value(), self._column.tops
        index = self._column.at(top)
        return (self._placed[index].key, top - tops[index]) if 0 <= index < len(self._placed) else ("", 0)

    def _scroll(self, anchor: tuple[str, int]) -> None:
        bar, page = self.verticalScrollBar(), self.height()
        bar.setRange(0, max(self._column.height - page, 0))
        bar.setPageStep(page)
        index = self._column.index_of(anchor[0])
        if self._follows:
            answer = self._answer()
            begin = self._column.index_of(answer) if answer != self._left else None
            end, faded = bar.maximum(), self._theme.size("padding")
            bar.setValue(end if begin is None else min(end, self._column.tops[begin] - faded))
        elif index is not None:
            bar.setValue(self._column.tops[index] + anchor[1])

    def _answer(self) -> str:
        """Return the key of the row where the newest answer begins, which is read from there; "" if something else has
        come after it."""
        begin = ""
        for row in reversed(self._column.rows):
            if isinstance(row, (SpokenItem, TurnOutcome)):
                begin = row.key
            elif begin or not isinstance(row, (Offer, TakeBack)):
                break
        return begin

    def _in_sight(self) -> range:
        """The indexes of the rows in sight and within one page above and below."""
        page = self.height()
        top = self.verticalScrollBar().value()
        first, last = max(self._column.at(top - page), 0), self._column.at(top + 2 * page) + 1
        return range(first, min(last, len(self._column.rows)))

    def _realise(self) -> bool:
        """Make the widgets of the rows in sight, delete the others, and return whether a row's height has changed."""
        wanted = [self._column.rows[index] for index in self._in_sight()]
        keys = {row.key for row in wanted}
        for key in [key for key in self._widgets if key not in keys]:
            self._release(key)
        changed = False
        for row in wanted:
            widget = self._widgets.get(row.key) or self._realised(row)
            is_new = self._shown.get(row.key) is not row
            if is_new:
                self._shown[row.key] = row
                widget.show_row(row)
            if is_new or not self._column.measured(row.key):
                changed |= self._column.measure(row, widget.height_for(self._width()))
        return changed

    def _realised(self, row: Row) -> RowWidget:
        widget = self._make(row)
        widget.setParent(self.viewport())
        widget.height_changed.connect(lambda key=row.key: self._grown(key))
        self._widgets[row.key] = widget
        return widget

    def _grown(self, key: str) -> None:
        self._column.forget(key)
        self._soon.start()

    def _release(self, key: str) -> None:
        widget = self._widgets.pop(key)
        self._shown.pop(key, None)
        widget.leave()
        widget.hide()
        widget.deleteLater()

    def _put_edges(self) -> None:
        """Show a fade at the upper or lower edge if more rows are hidden beyond that edge."""
        bar, high = self.verticalScrollBar(), self._theme.size("padding")
        left, line = self._theme.size("padding"), self._theme.count("hairline")  # the body's edge stays as it is
        for edge, hidden in zip(self._edges, (bar.value(), bar.maximum() - bar.value()), strict=True):
            edge.setGeometry(left, 0 if edge.is_top else self.height() - high - line, self._width(), high)
            edge.setVisible(hidden > 0)
            edge.raise_()

    def _put_bar(self) -> None:
        thin, page = self._theme.size("scrollbar"), self.verticalScrollBar()
        self._bar.setGeometry(self.width() - thin - self._theme.size("grid") // 2, 0, thin, self.height())
        self._bar.blockSignals(True)  # because a shorter range would pull its old value, and the thread with it
        self._bar.setRange(page.minimum(), page.maximum())
        self._bar.setPageStep(page.pageStep())
        self._bar.setValue(page.value())
        self._bar.blockSignals(False)
        is_used = self._bar_rests.isActive() or self._bar.isSliderDown() or self._bar.underMouse()
        self._bar.setVisible(page.maximum() > 0 and is_used)
        if is_used and not self._bar_rests.isActive():
            self._bar_rests.start()

    def _put(self) -> None:
        left, width = self._theme.size("padding"), self._width()
        offset = self.verticalScrollBar().value()
        for index in self._in_sight():
            row = self._column.rows[index]
            widget = self._widgets.get(row.key)
            if widget is None:
                continue
            widget.setGeometry(left, self._column.tops[index] - offset, width, self._column.height_of(row))
            if widget.isHidden():
                widget.show()


class _Edge(QWidget):
    """A strip at an edge of the thread that fades from the paper's colour at the edge to clear."""

    def __init__(self, theme: Theme, parent: QWidget, *, is_top: bool) -> None:
        super().__init__(parent)
        self._theme = theme
        self.is_top = is_top
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        paper = self._theme.color("paper")
        fade = QLinearGradient(0, 0 if self.is_top else self.height(), 0, self.height() if self.is_top else 0)
        fade.setColorAt(0, QColor(*paper))
        fade.setColorAt(1, QColor(*paper.faded(0)))
        QPainter(self).fillRect(self.rect(), fade)


class _Rows(QWidget):
    """The widget that contains the rows. A screen reader calls it a list."""

    ROLE = QAccessible.Role.List

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Conversation"))


def _keys_of(row: Row) -> set[str]:
    return {row.key, *(step.key for step in (*row.cards, *row.rest))} if isinstance(row, Fold) else {row.key}


def _guessed(row: Row, theme: Theme) -> int:
    """In pixels, for a row that was not measured yet."""
    if isinstance(row, (SpokenItem, Asked, TurnOutcome)):
        lines = len(row.text) // _CHARS_PER_LINE + row.text.count("\n") + 1
        return lines * theme.type("say").line
    return theme.size("step_height")
