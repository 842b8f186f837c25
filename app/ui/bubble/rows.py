"""The base of the thread's rows: a widget that shows an item and knows its height for a width."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QFontMetrics,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QSyntaxHighlighter,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFragment,
    QTextFrameFormat,
    QTextOption,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.base.errors import Remedy
from app.ui.approvals.devices import WITNESS, WitnessedPress
from app.ui.buttons import WordButton
from app.ui.presenter.view import Choose, KeepTurn, Mend, Offer, TakeBack, TakeBackTurn
from app.ui.presenter.wording import TIMES, visible
from app.ui.theme import drawing
from app.ui.theme.drawing import font, lines_of, placed, put
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Color, Theme
from app.ui.translation import counted
from app.ui.windows.floating import Accepts


class RowWidget(QWidget):
    """A row of the thread. Signals: `height_changed`, its height must be measured anew; `intended`, an `Intent` of
    the person."""

    ROLE = QAccessible.Role.ListItem
    height_changed = Signal()
    intended = Signal(object)

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__()
        self.theme = theme
        self.ticker = ticker

    def show_row(self, row: Any) -> None:
        """Show this value from now on. It has the same key as the value that the widget showed before."""
        raise NotImplementedError

    def height_for(self, width: int) -> int:
        """Lay out the row for a width and return its height in pixels."""
        raise NotImplementedError

    def leave(self) -> None:
        """Stop animations, because the row was scrolled out of sight."""


class ProseText(QTextEdit):
    """Read-only text without frame or scroll bars, as high as its lines in the given width."""

    def __init__(self, theme: Theme, style: str, color: Color, parent: QWidget | None = None, margin: int = 0) -> None:
        super().__init__(parent)
        self._shown = ""
        self.setReadOnly(True)
        self.setAcceptRichText(False)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Wrap at a width of its own, because the widget has no width yet when the text is measured before it shows.
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.document().setDocumentMargin(margin)
        self.document().setDefaultFont(font(theme, style))
        self.setFont(font(theme, style))
        self._strong = font(theme, style, strong=True)
        self._block = QTextBlockFormat()
        self._block.setLineHeight(theme.type(style).line, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._characters = QTextCharFormat()
        self._characters.setForeground(QColor(*color))

    @property
    def shown(self) -> str:
        return self._shown

    def show_text(self, text: str) -> None:
        """Show exactly this text. Text that only grew is appended, so that a selection stays."""
        if text == self._shown:
            return
        cursor = QTextCursor(self.document())
        if self._shown and text.startswith(self._shown):
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(text[len(self._shown) :], self._characters)
        else:
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.setBlockFormat(self._block)
            cursor.insertText(text, self._characters)
        self._shown = text

    def strengthen(self, parts: Sequence[tuple[int, int]]) -> None:
        """Make parts of the shown text strong, each given by its first character and the one behind it."""
        cursor, strong = QTextCursor(self.document()), QTextCharFormat()
        strong.setFont(self._strong)
        for start, end in parts:
            cursor.setPosition(_place(self._shown[:start]))
            cursor.setPosition(_place(self._shown[:end]), QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(strong)

    def height_for(self, width: int) -> int:
        """In pixels."""
        self.setLineWrapColumnOrWidth(width)
        return round(self.document().size().height())

    def width_within(self, most: int) -> int:
        """Return the width of the longest line, at most `most` pixels."""
        self.setLineWrapColumnOrWidth(most)
        return min(most, math.ceil(self.document().idealWidth()) + 1)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def _place(text: str) -> int:
    """The length as Qt counts it: in UTF-16 units, of which an emoji has two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


_MARKDOWN = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_BREAK = re.compile(r"(?<=\S)\n(?=\S)")
_TIMES = re.compile(rf"^(?: {{4}}|\t).*$|`[^`]*`|{TIMES.pattern}|(?<!~)~(?!~)", re.MULTILINE)
"""The sign in a sum, the tilde of a path such as `~/a`, and code of a line or in a line, which has no marks."""
_LONE_NUMBER = re.compile(r"^(\s*\d+)([.)])(?=\s*$)", re.MULTILINE)


class _Veil(QSyntaxHighlighter):
    """Makes the characters of a document after the first `shown` ones invisible. The layout of the document does not
    change."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self.shown: int | None = None
        self._hidden = QTextCharFormat()
        self._hidden.setForeground(Qt.GlobalColor.transparent)
        self._hidden.setBackground(Qt.GlobalColor.transparent)
        self._hidden.setFontUnderline(False)

    def highlightBlock(self, text: str) -> None:
        if self.shown is not None:
            start = max(self.shown - self.currentBlock().position(), 0)
            self.setFormat(start, max(len(text) - start, 0), self._hidden)

    def show(self, count: int | None) -> None:
        """Show only the first `count` characters; None shows all."""
        before, self.shown = self.shown, count
        if before == count:
            return
        block = self.document().findBlock(min(before or 0, count or 0))
        while block.isValid() and (count is None or block.position() <= max(before or 0, count)):
            self.rehighlightBlock(block)
            block = block.next()


class _NoFiles(QTextDocument):
    """A document that loads no files: a picture that the model's text refers to is never opened."""

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        return None


def _literal(found: re.Match[str]) -> str:
    return rf"\{found[0]}" if found[0] in "*~" else found[0]


class RichText(ProseText):
    """Shows Markdown without its pictures and HTML. `pressed` carries the address of a link that the person clicked."""

    pressed = Signal(str)

    def __init__(self, theme: Theme, style: str, parent: QWidget) -> None:
        super().__init__(theme, style, theme.color("ink"), parent)
        self._theme = theme
        self._style = style
        document = _NoFiles(self)
        document.setDocumentMargin(0)
        document.setDefaultFont(font(theme, style))
        self.setDocument(document)
        self.reveal = _Veil(document).show
        self.plain = ""
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.LinksAccessibleByMouse
        )

    def show_text(self, text: str) -> None:
        """Show this Markdown. A single line break stays a line break, which Markdown alone would make a space."""
        if text == self._shown:
            return
        self._shown = text
        text = _TIMES.sub(_literal, _LONE_NUMBER.sub(r"\1\\\2", text.strip("\n")))
        text = _BREAK.sub("  \n", text)
        self.document().setMarkdown(text, _MARKDOWN)
        self._dress()
        self.plain = self.toPlainText()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        address = self.anchorAt(event.position().toPoint())
        if address and not self.textCursor().hasSelection():
            self.pressed.emit(address)
        super().mouseReleaseEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        on_link = bool(self.anchorAt(event.position().toPoint()))
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if on_link else Qt.CursorShape.IBeamCursor)

    def _dress(self) -> None:
        """Give the document the theme's fonts, colours and distances instead of those that Qt sets."""
        theme, document = self._theme, self.document()
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                _dress_table(frame, theme)
        block = document.begin()
        while block.isValid():
            cursor = QTextCursor(block)
            level, in_list = block.blockFormat().headingLevel(), block.textList() is not None
            plain = "say" if self._style == "answer" and block.blockNumber() else self._style
            style = ("heading" if level == 1 else "say" if level == 2 else "title") if level else plain
            made = block.blockFormat()
            made.setLineHeight(theme.type(style).line, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            in_table = cursor.currentTable() is not None
            is_last = not block.next().isValid()
            made.setTopMargin(theme.size("gap") if level and block.blockNumber() else 0)
            made.setBottomMargin(
                0 if in_table or is_last else theme.size("grid") if in_list or level else theme.size("gap")
            )
            cursor.setBlockFormat(made)
            for start, length, dressed in [_dressed(at, theme, style, level) for at in _runs(block)]:
                cursor.setPosition(start)
                cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
                cursor.setCharFormat(dressed)
            block = block.next()


def _runs(block: QTextBlock) -> list[QTextFragment]:
    found, at = list[QTextFragment](), block.begin()
    while not at.atEnd():
        found.append(at.fragment())
        at += 1
    return found


def _dress_table(table: QTextTable, theme: Theme) -> None:
    made = table.format()
    made.setBorder(theme.count("hairline"))
    made.setBorderBrush(QColor(*theme.color("hairline")))
    made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    made.setBorderCollapse(True)
    made.setCellSpacing(0)
    made.setCellPadding(theme.size("grid"))
    made.setTopMargin(theme.size("grid"))
    made.setBottomMargin(theme.size("gap"))
    table.setFormat(made)


def _dressed(part: QTextFragment, theme: Theme, style: str, level: int) -> tuple[int, int, QTextCharFormat]:
    """Return where a part of the text begins, its length, and the theme's format for it. `level` is that of a
    heading, or 0."""
    before = part.charFormat()
    is_code, is_link = before.fontFixedPitch(), before.isAnchor()
    is_italic = before.fontItalic() or (before.fontUnderline() and not is_link)  # Qt reads _so_ as a line below
    strong = bool(level) or before.fontWeight() > QFont.Weight.Normal
    made = QTextCharFormat()
    made.setFont(font(theme, "code" if is_code else style, strong=strong))
    made.setFontItalic(is_italic)
    made.setFontStrikeOut(before.fontStrikeOut())
    made.setForeground(QColor(*theme.color("link" if is_link else "code_ink" if is_code else "ink")))
    if is_code:
        made.setBackground(QColor(*theme.color("sunken")))
    if is_link:
        made.setAnchor(True)
        made.setAnchorHref(before.anchorHref())
        made.setFontUnderline(True)
        made.setToolTip(visible(before.anchorHref()))
    return part.position(), part.length(), made


class AnswerButton(WordButton):
    """A button with an answer as plain text. A long answer takes several lines. `meant` is emitted for a press."""

    meant = Signal()

    def __init__(self, theme: Theme, words: str, parent: QWidget) -> None:
        super().__init__(theme, words, parent=parent)
        self._watch()
        self._lines = Qt.TextFlag.TextWordWrap
        self.setShortcut(QKeySequence())  # because an "&" is part of the answer's text here

    def fit(self, most: int) -> None:
        """Set the button's size to that of its words, at most `most` pixels wide."""
        theme = self._theme
        inset = theme.size("card_padding")
        weights = [QFontMetrics(font(theme, "text", strong=is_strong)) for is_strong in (False, True)]
        # In some fonts the strong letters are the narrower ones.
        widest = max(weights, key=lambda metrics: metrics.horizontalAdvance(self.text()))
        self._lines, box = lines_of(widest, most - 2 * inset, self.text())
        height = max(box.height() + 2 * theme.size("gap"), theme.size("button_height"))
        self.setFixedSize(min(box.width() + 2 * inset + 2, most), height)

    def _watch(self) -> None:
        self.clicked.connect(self.meant)

    def _paint_words(self, painter: QPainter, box: QRectF) -> None:
        theme = self._theme
        inset = theme.size("card_padding") - 1.5
        painter.setFont(font(theme, "text", strong=self.hasFocus()))
        painter.setPen(QColor(*theme.color("ink")))
        flags = Qt.AlignmentFlag.AlignCenter | self._lines
        painter.drawText(box.adjusted(inset, 0, -inset, 0), flags, self.text())


class PersonsButton(AnswerButton):
    """An answer that only the person can give, by a device of their own."""

    accepts = Accepts.PERSONS_DEVICE

    def _watch(self) -> None:
        WitnessedPress(self, WITNESS).meant.connect(self.meant)


class OfferRow(RowWidget):
    """The offered answers as buttons."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self.buttons: tuple[AnswerButton, ...] = ()
        self.setAccessibleName(QCoreApplication.translate("Bubble", "Answers to choose from"))

    def show_row(self, row: Offer) -> None:
        for old in self.buttons:
            old.deleteLater()
        kind = PersonsButton if row.remedy is Remedy.PRESSES else AnswerButton
        self.buttons = tuple(kind(self.theme, visible(label), self) for label in row.labels or row.answers)
        for button, answer in zip(self.buttons, row.answers, strict=True):
            intent = Choose(answer) if row.remedy is Remedy.AGAIN else Mend(row.remedy)
            button.meant.connect(lambda intent=intent: self.intended.emit(intent))
            button.show()

    def height_for(self, width: int) -> int:
        theme = self.theme
        gap, left = theme.size("gap"), theme.count("stripe") + theme.size("card_padding")
        x, y, high = left, 0, 0
        for button in self.buttons:
            button.fit(width - left)
            if x > left and x + button.width() > width:
                x, y, high = left, y + high + gap, 0
            put(button, QRect(QPoint(x, y), button.size()), width)
            x, high = x + button.width() + gap, max(high, button.height())
        return y + high


class TakeBackRow(RowWidget):
    """Offers to undo the file changes of a turn, or to keep them."""

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._turn_id = ""
        self._text = ProseText(theme, "small", theme.color("muted"), self)
        self.button = WordButton(theme, QCoreApplication.translate("Bubble", "Take back"), parent=self)
        self.button.clicked.connect(lambda: self.intended.emit(TakeBackTurn(self._turn_id)))
        self.keep: WordButton | None = None

    def show_row(self, row: TakeBack) -> None:
        self._turn_id = row.turn_id
        words = (
            counted("{count} file deleted", "{count} files deleted", row.count)
            if row.deleted
            else _words(row.count, is_mixed=row.is_mixed)
        )
        if row.deleted and self.keep is None:
            self._ask()
        self._text.show_text(words)
        self.setAccessibleName(words)

    def height_for(self, width: int) -> int:
        theme = self.theme
        gap, left, right = theme.size("gap"), theme.size("glyph") + theme.size("gap"), width
        buttons = [button for button in (self.button, self.keep) if button]
        room = max(width - left - sum(button.width() + gap for button in buttons), 1)
        lines = self._text.height_for(room)
        height = max(lines, self.button.height())
        put(self._text, QRect(left, (height - lines) // 2, room, lines), width)
        for button in buttons:
            right -= button.width()
            put(button, QRect(QPoint(right, (height - button.height()) // 2), button.size()), width)
            right -= gap
        return height

    def _ask(self) -> None:
        words = QCoreApplication.translate("Bubble", "Put back")
        self.button.setText(words)
        self.button.setAccessibleName(words)
        self.button.setFixedSize(self.button.sizeHint())
        self.keep = WordButton(self.theme, QCoreApplication.translate("Bubble", "Keep"), parent=self)
        self.keep.clicked.connect(lambda: self.intended.emit(KeepTurn(self._turn_id)))
        self.keep.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        side = theme.size("small_glyph")
        place = QRectF((theme.size("glyph") - side) / 2, (self.height() - side) / 2, side, side)
        place = placed(place, QRectF(self.rect()), self.layoutDirection())
        drawing.draw(painter, "pencil", place, theme.color("muted"))


def _words(count: int, *, is_mixed: bool) -> str:
    if is_mixed:
        return QCoreApplication.translate("Bubble", "Changed: {count}").format(count=count)
    return counted("{count} file changed", "{count} files changed", count)
