"""The thread: thousands of rows, of which only those in sight (and a screen around them) are widgets.

Heights of rows that were never in sight are estimated; while the person reads further up, the row they see stays
where it is, whatever is added or turns out higher than thought.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from PySide6.QtCore import QCoreApplication, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QEnterEvent, QHideEvent, QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QScrollBar, QWidget

from app.ui.bubble.rows import RowWidget
from app.ui.presenter.view import Asked, Card, SpokenItem, TurnOutcome
from app.ui.presenter.wording import Fold, Row
from app.ui.theme.theme import Theme

_CONTINUED_FROM_CHARS = 1500


class Column:
    """`guess` is the height of a row that was never measured; `gap` is what keeps rows apart. All in pixels."""

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
        """These rows from now on; the ones at the beginning that are the same objects cost nothing."""
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
        """Whether a row's real height is known."""
        return key in self._measured

    def measure(self, row: Row, height: int) -> bool:
        """Keep a row's real height; whether it is another one than was reckoned with."""
        before = self.height_of(row)
        self._measured[row.key] = height
        if height != before:
            self._touch(row.key)
        return height != before

    def forget(self, key: str) -> None:
        """The row will have another height."""
        if self._measured.pop(key, None) is not None:
            self._touch(key)

    def forget_all(self) -> None:
        """The width is another one."""
        self._measured.clear()
        self._clean = 0

    def height_of(self, row: Row) -> int:
        return self._measured.get(row.key) or self._guess(row)

    def reckon(self) -> None:
        """Recompute where each row begins."""
        first = self._clean
        steps = (self.height_of(row) + self._below(row) for row in self.rows[first:])
        self.tops[first:] = accumulate(steps, initial=self.tops[first] if first < len(self.tops) else 0)
        self._clean = len(self.rows)

    def _below(self, row: Row) -> int:
        if isinstance(row, (Card, Fold)):
            return self._gap // 2
        return 0 if _goes_on(row) else self._gap

    def at(self, y: int) -> int:
        """Return the index of the row at this height, in pixels from the top."""
        return bisect_right(self.tops, y) - 1

    def index_of(self, key: str) -> int | None:
        return self._index.get(key)

    def _touch(self, key: str) -> None:
        self._clean = min(self._clean, self._index.get(key, self._clean))


def _goes_on(row: Row) -> bool:
    """Whether the row goes on without a gap (the gap is kept below a row, so that it belongs to the next one)."""
    return isinstance(row, SpokenItem) and row.done and len(row.text) > _CONTINUED_FROM_CHARS


Make = Callable[[Row], RowWidget]
_CHARS_PER_LINE = 48


class Thread(QAbstractScrollArea):
    """The scrolling list of rows. `show_rows` sets its content; `wanted_height_changed` asks for a height."""

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
        """Show these rows; those whose value is the same object as before are left alone."""
        self._column.show(rows)
        for key in [key for key in self._widgets if self._column.index_of(key) is None]:
            self._release(key)
        self._arrange()

    def follow(self) -> None:
        """Go to the newest row and stay there."""
        self._follows = True
        self._arrange()

    def show_row_of(self, key: str) -> None:
        """Scroll to the row of an item, or to the folded row that holds it."""
        index = next((at for at, row in enumerate(self._column.rows) if key in _keys_of(row)), None)
        if index is not None:
            self.verticalScrollBar().setValue(self._column.tops[index])

    def bring_into_sight(self, part: QWidget) -> None:
        """Scroll as little as it takes to see a part of a row."""
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
            self._bar_rests.start()
            self._arrange()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._bar_rests.start()
        self._put_bar()

    def _width(self) -> int:
        """Of a row. The bar lies over the margin: a thread that begins to scroll does not change its lines."""
        return self.width() - 2 * self._theme.size("padding")

    def _forget_heights(self) -> None:
        """A row's height holds for one width."""
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
        self._arranging = False
        self._placed = self._column.rows
        if self._column.height != before:
            self.wanted_height_changed.emit(self._column.height)
            if self.height() != page:  # because the resize event comes later, or not at all while hidden
                self._arrange()

    def _anchor(self) -> tuple[str, int]:
        """The first row in sight, as the rows stood before, and how far above the edge it begins."""
        top, tops = self.verticalScrollBar().value(), self._column.tops
        index = self._column.at(top)
        return (self._placed[index].key, top - tops[index]) if 0 <= index < len(self._placed) else ("", 0)

    def _scroll(self, anchor: tuple[str, int]) -> None:
        bar, page = self.verticalScrollBar(), self.height()
        bar.setRange(0, max(self._column.height - page, 0))
        bar.setPageStep(page)
        index = self._column.index_of(anchor[0])
        if self._follows:
            bar.setValue(bar.maximum())
        elif index is not None:
            bar.setValue(self._column.tops[index] + anchor[1])

    def _in_sight(self) -> range:
        """Indexes of the rows in sight and a page around them."""
        page = self.height()
        top = self.verticalScrollBar().value()
        first, last = max(self._column.at(top - page), 0), self._column.at(top + 2 * page) + 1
        return range(first, min(last, len(self._column.rows)))

    def _realise(self) -> bool:
        """Whether a row turned out to have another height than thought."""
        wanted = [self._column.rows[index] for index in self._in_sight()]
        keys = {row.key for row in wanted}
        for key in [key for key in self._widgets if key not in keys]:
            self._release(key)
        changed = False
        for row in wanted:
            widget = self._widgets.get(row.key) or self._realised(row)
            if self._shown.get(row.key) is not row:
                self._shown[row.key] = row
                widget.show_row(row)
                self._column.forget(row.key)
            if not self._column.measured(row.key):
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


class _Rows(QWidget):
    """What the rows stand on: a list to who cannot see it."""

    ROLE = QAccessible.Role.List

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Conversation"))


def _keys_of(row: Row) -> set[str]:
    return {row.key, *(step.key for step in (*row.cards, *row.rest))} if isinstance(row, Fold) else {row.key}


def _guessed(row: Row, theme: Theme) -> int:
    """A row's height before it was ever in sight."""
    if isinstance(row, (SpokenItem, Asked, TurnOutcome)):
        lines = len(row.text) // _CHARS_PER_LINE + row.text.count("\n") + 1
        return lines * theme.type("say").line
    return theme.size("step_height")
