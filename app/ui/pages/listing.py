"""A list of entries, each with a title and a muted second line. All pages but the usage page use it."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QModelIndex, QPersistentModelIndex, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QContextMenuEvent, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.base.values import dataclass
from app.ui.buttons import GlyphButton
from app.ui.theme import drawing
from app.ui.theme.drawing import font, placed
from app.ui.theme.theme import Theme

_ENTRY = Qt.ItemDataRole.UserRole
_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One entry of a list. `color` is the theme's name for the glyph's colour; a `picture` (PNG) replaces the glyph."""

    key: str
    title: str
    below: str
    glyph: str = ""
    color: str = "muted"
    picture: bytes = b""


class ListView(QListWidget):
    """A list of entries. `picked` is emitted for a press or Enter on an entry; `menu_wanted` asks for the entry's menu,
    by mouse or keyboard. `renamed` carries the new title that the person wrote; `delete_wanted` is emitted for Delete.
    """

    picked = Signal(str)
    menu_wanted = Signal(str, QPoint)
    renamed = Signal(str, str)
    delete_wanted = Signal(str)

    def __init__(self, theme: Theme, name: str, *, has_menu: bool = False, is_editable: bool = False) -> None:
        super().__init__()
        self._has_menu = has_menu
        self._is_editable = is_editable
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setUniformItemSizes(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._lines = _Lines(theme, self, has_menu=has_menu)
        self._lines.renamed.connect(self.renamed)
        self.setItemDelegate(self._lines)

    def show_entries(self, entries: list[ListEntry]) -> None:
        """Show these entries. The current entry stays current if it is still in the list."""
        current = self.current_key()
        self.clear()
        for entry in entries:
            item = QListWidgetItem(entry.title)
            item.setData(_ENTRY, entry)
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, entry.below)
            if self._is_editable:
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self.addItem(item)
            if entry.key == current:
                self.setCurrentItem(item)
        if self.currentRow() < 0 and entries:
            self.setCurrentRow(0)

    def current_key(self) -> str:
        """Return the key of the selected entry; "" if none is selected."""
        item = self.currentItem()
        return _entry(item).key if item is not None else ""

    def rename_current(self) -> None:
        """Let the person edit the title of the selected entry, in the list."""
        self.edit(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if item is None or not self._done_by_key(event.key(), item):
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        item = self.itemAt(event.position().toPoint())
        if item is None or event.button() != Qt.MouseButton.LeftButton:
            return
        x, width = event.position().x(), self.viewport().width()
        from_end = x if self.layoutDirection() is Qt.LayoutDirection.RightToLeft else width - x
        if self._has_menu and from_end < self._lines.menu_width:
            self.menu_wanted.emit(_entry(item).key, event.globalPosition().toPoint())
        else:
            self.picked.emit(_entry(item).key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        item = self.itemAt(event.pos()) or self.currentItem()
        if self._has_menu and item is not None:
            self.setCurrentItem(item)
            self.menu_wanted.emit(_entry(item).key, event.globalPos())

    def _done_by_key(self, key: int, item: QListWidgetItem) -> bool:
        if key in _KEYS:
            self.picked.emit(_entry(item).key)
        elif key == Qt.Key.Key_Delete and self._has_menu:
            self.delete_wanted.emit(_entry(item).key)
        elif key == Qt.Key.Key_F2 and self._is_editable:
            self.rename_current()
        else:
            return False
        return True


class _Lines(QStyledItemDelegate):
    """Paints the entries of the list, and lets the person edit a title."""

    renamed = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget, *, has_menu: bool) -> None:
        super().__init__(parent)
        self._theme = theme
        self._has_menu = has_menu
        self.menu_width = theme.size("icon_button") + theme.size("gap")

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, self._theme.size("list_row"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        theme, entry = self._theme, index.data(_ENTRY)
        state = option.state
        hot = bool(state & (QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_HasFocus))
        painter.save()
        way = painter.layoutDirection()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(option.rect).adjusted(1, 1, -1, -1)
        if hot:
            focused = bool(state & QStyle.StateFlag.State_HasFocus)
            painter.setPen(QPen(QColor(*theme.color("accent")), 2) if focused else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(*theme.color("raised")))
            painter.drawRoundedRect(box, theme.size("button_radius"), theme.size("button_radius"))
        inner = box.adjusted(theme.size("gap"), 0, -theme.size("gap"), 0)
        if entry.glyph:
            side = theme.size("small_glyph")
            place = QRectF(inner.left(), inner.center().y() - side / 2, side, side)
            drawing.draw(painter, entry.glyph, placed(place, box, way), theme.color(entry.color))
            inner.setLeft(place.right() + theme.size("gap"))
        if entry.picture:
            side = round(box.height()) - 2 * theme.size("gap")
            place = QRectF(inner.left(), inner.center().y() - side / 2, side, side)
            drawing.draw_picture(painter, entry.picture, placed(place, box, way))
            inner.setLeft(place.right() + theme.size("gap"))
        if self._has_menu and hot:
            side = theme.size("small_glyph")
            place = QRectF(inner.right() - side, inner.center().y() - side / 2, side, side)
            drawing.draw(painter, "more", placed(place, box, way), theme.color("muted"))
            inner.setRight(place.left() - theme.size("gap"))
        self._paint_words(painter, placed(inner, box, way), entry)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        line = QLineEdit(parent)
        line.setFont(font(self._theme, "text"))
        line.setAccessibleName(index.data())
        return line

    def setModelData(self, editor: QWidget, model: object, index: _Index) -> None:
        assert isinstance(editor, QLineEdit)
        title = editor.text().strip()
        if title and title != index.data():
            self.renamed.emit(index.data(_ENTRY).key, title)

    def _paint_words(self, painter: QPainter, box: QRectF, entry: ListEntry) -> None:
        theme = self._theme
        high = theme.type("text").line + theme.type("small").line
        top = box.center().y() - (high if entry.below else theme.type("text").line) / 2
        for words, style, color in ((entry.title, "text", "ink"), (entry.below, "small", "muted")):
            place = QRectF(box.left(), top, box.width(), theme.type(style).line)
            painter.setFont(font(theme, style))
            painter.setPen(QColor(*theme.color(color)))
            elided = QFontMetricsF(painter.font()).elidedText(words, Qt.TextElideMode.ElideRight, box.width())
            flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading | Qt.TextFlag.TextSingleLine
            painter.drawText(place, flags, elided)
            top += theme.type(style).line


def _entry(item: QListWidgetItem) -> ListEntry:
    entry: ListEntry = item.data(_ENTRY)
    return entry


class Page(QWidget):
    """A page of the bubble. `left` is emitted by its back button or Esc; `note` shows the result of an action."""

    ROLE = QAccessible.Role.Pane
    left = Signal()

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.theme = theme
        self.setAccessibleName(title)
        self.back = GlyphButton(theme, "back", QCoreApplication.translate("Page", "Back"), self)
        self.back.clicked.connect(self.left)
        self.bar = drawing.spaced(QHBoxLayout(), theme.size("grid"))
        self.bar.addWidget(self.back)
        self.bar.addWidget(self.label(title, "title", strong=True), 1)
        self.note = self.label("", "small", quiet=True)
        self.note.hide()
        self.box = QVBoxLayout(self)
        inset = theme.size("padding")
        self.box.setContentsMargins(inset, 0, inset, theme.size("gap"))
        self.box.setSpacing(theme.size("gap"))
        self.box.setAlignment(Qt.AlignmentFlag.AlignTop)  # so that a page without entries leaves its room below
        self.box.addLayout(self.bar)

    def label(self, words: str, style: str = "text", *, strong: bool = False, quiet: bool = False) -> QLabel:
        """Wraps, and shows the words as plain text."""
        return drawing.words_label(self.theme, words, style, strong=strong, quiet=quiet)

    def tell(self, sentence: str) -> None:
        """Show the sentence in the note. An empty one hides the note."""
        self.note.setText(sentence)
        self.note.setVisible(bool(sentence))

    def take_focus(self) -> None:
        """Give the focus to the control that the person most likely needs first. It is called when the page opens."""
        self.back.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)
