"""The approval row: what the call acts on, its exact content, the reason, and the way back. Deny has the focus."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QHideEvent,
    QIcon,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QShowEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QLineEdit, QWidget

from app.agent.agent_events import Scope
from app.ui.approvals.devices import KEYS, WITNESS, WitnessedPress
from app.ui.bubble.rows import ProseText, RowWidget
from app.ui.buttons import DrawnButton, GlyphButton, LinkButton, WordButton
from app.ui.cards.contents import CardHead, paint_head
from app.ui.cards.picture import CodeView, PictureView
from app.ui.presenter.view import Approval, Decide, OpenPicture, Status
from app.ui.presenter.wording import visible
from app.ui.theme import drawing
from app.ui.theme.drawing import font
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Accepts

_SPACE = (Qt.Key.Key_Space,)


class WordsField(QLineEdit):
    """A text field in a window without keyboard focus. A click in the field asks for the focus."""

    keyboard_wanted = Signal()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.keyboard_wanted.emit()
        self.setFocus()
        super().mousePressEvent(event)


class Choices(QWidget):
    """The buttons of an approval. `chosen` carries three values: whether the call is allowed, the person's words to the
    model (for a no), and how far a yes reaches. No Enter ever means "always".

    `unfolded` is emitted when the field for words has appeared or disappeared.
    """

    chosen = Signal(bool, str, str)
    unfolded = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = 0.0
        WITNESS.prepare()
        self.words = WordsField(self)
        self.words.setFont(font(theme, "text"))
        self.words.setPlaceholderText(QCoreApplication.translate("Approval", "Deny, and say what to do instead…"))
        self.words.setAccessibleName(QCoreApplication.translate("Approval", "Deny, and say what to do instead"))
        self.words.returnPressed.connect(lambda: self._deny(self.words.text().strip()))
        self.deny = WordButton(theme, QCoreApplication.translate("Approval", "Deny"), "close", self)
        deny = WitnessedPress(self.deny)
        deny.meant.connect(lambda: self._deny(self.words.text().strip()))
        self.allows: dict[Scope, WordButton] = {scope: self._allow(scope) for scope in Scope}
        self._scopes: Sequence[Scope] = (Scope.ONCE,)
        self.more = GlyphButton(theme, "unfold", QCoreApplication.translate("Approval", "More answers"), self)
        self.more.clicked.connect(self._unfold)
        self.words.hide()
        self.setFocusProxy(self.deny)
        self.offer(self._scopes)

    @property
    def is_armed(self) -> bool:
        return self._share >= 1.0

    def offer(self, scopes: Sequence[Scope]) -> None:
        """Offer these ways to allow, the main one first."""
        self._scopes = tuple(scopes) or (Scope.ONCE,)
        for scope, button in self.allows.items():
            button.setVisible(scope in self._scopes)

    @property
    def main(self) -> WordButton:
        """The button of the first way to allow that is offered."""
        return self.allows[self._scopes[0]]

    def arm(self, share: float) -> None:
        """Set the progress (0 to 1) of the short delay before which nothing can be allowed."""
        self._share = min(share, 1.0)
        for button in self.allows.values():
            button.set_armed(self._share)
            button.setEnabled(self.is_armed)

    def height_for(self, width: int) -> int:
        """Lay out the buttons in this width and return their height in pixels. All share a line if there is room."""
        theme = self._theme
        gap, line = theme.size("gap"), theme.size("button_height")
        side = self.more.width()
        self.more.move(width - side, (line - side) // 2)
        room = width - side - gap // 2
        answers = [*(self.allows[scope] for scope in reversed(self._scopes)), self.deny]
        for is_tight in (False, True, False):  # two lines, which are needed then, have room enough
            for button in answers:
                button.squeeze(is_tight=is_tight)
            if sum(button.width() + gap for button in answers) - gap <= room:
                break
        y = self._placed(answers, room, 0)
        self.deny.move(0 if self.deny.y() == self.main.y() else self.deny.x(), self.deny.y())
        if self.words.isHidden():
            return y
        self.words.setGeometry(0, y + gap, width, line)
        return y + gap + line

    def _unfold(self) -> None:
        self.words.setVisible(self.words.isHidden())
        self.more.choose(chosen=not self.words.isHidden())
        self.unfolded.emit()

    def _placed(self, buttons: Sequence[WordButton], width: int, y: int) -> int:
        """Place the buttons from the right, in new lines where needed. Return the lower edge of the last line."""
        gap, line = self._theme.size("gap"), self._theme.size("button_height")
        x = width
        for button in buttons:
            if x < width and x < button.width():
                x, y = width, y + line + gap
            button.move(max(x - button.width(), 0), y)
            x -= button.width() + gap
        return y + line

    def _allow(self, scope: Scope) -> WordButton:
        words = {
            Scope.ONCE: QCoreApplication.translate("Approval", "Allow once"),
            Scope.TASK: QCoreApplication.translate("Approval", "For this task"),
            Scope.ALWAYS: QCoreApplication.translate("Approval", "Always"),
        }[scope]
        button = WordButton(self._theme, words, "check" if scope is Scope.ONCE else "", self)
        press = WitnessedPress(button, WITNESS, _SPACE if scope is Scope.ALWAYS else KEYS)
        press.meant.connect(lambda: self._say_yes(scope))
        return button

    def _say_yes(self, scope: Scope) -> None:
        if self.is_armed:
            self.chosen.emit(True, "", scope.value)

    def _deny(self, words: str) -> None:
        self.chosen.emit(False, words, Scope.ONCE.value)


class ExactView(CodeView):
    """Shows a call's content from its beginning, because the most important part must not be scrolled away."""

    def _go_to_end(self) -> None:
        # The cursor stands behind what was inserted, and Qt scrolls to it when the view first shows.
        self.moveCursor(QTextCursor.MoveOperation.Start)
        bar = self.verticalScrollBar()
        bar.setValue(bar.minimum())


class AnsweredLine(DrawnButton):
    """One line with the answer and its time. A press only shows or hides the question; it does not decide anything."""

    ROLE = QAccessible.Role.Button

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._head = CardHead("shield", "", "", Status.STOPPED)
        self.expanded = False
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.hide()

    def show_answer(self, row: Approval, *, is_open: bool) -> None:
        """Show the answer to this question. `is_open`: the question itself is visible below the line."""
        mark = Status.OK if row.allowed else Status.RUNNING
        glyph = "close" if row.allowed is False else "shield"
        verb, deed, at = visible(_answer(row)), visible(_deed(row)), _clock(row.at)
        self._head = CardHead(glyph, verb, deed, mark, at, is_open)
        self.expanded = is_open
        self.setText(f"{verb}: {deed} {at}".strip())
        self.setAccessibleName(self.text())
        self.update()

    def press(self) -> None:
        """Do what a click does."""
        self.click()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(QPen(QColor(*theme.color("accent")), 2))
            radius = theme.size("button_radius")
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        paint_head(painter, QRectF(self.rect()), self._head, theme)


class ApprovalRow(RowWidget):
    """A call that waits for the person: what it would do, and the buttons to decide. Once answered, it is one line.

    Only a press by the person can allow the call.
    """

    accepts = Accepts.PERSONS_DEVICE
    keyboard_wanted = Signal()

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._step = f"approval {id(self)}"
        self._approval: Approval | None = None
        self._armed_s = 0.0
        self._explained = False
        self._reopened = False
        self._icon = QIcon()
        self.line = AnsweredLine(theme, self)
        self.line.clicked.connect(self._reopen)
        self._sentence = ProseText(theme, "text", theme.color("ink"), self)
        self._picture = PictureView(theme, self)
        self._picture.opened.connect(lambda picture: self.intended.emit(OpenPicture(picture)))
        self._detail = ExactView(theme, self)
        self._facts = ProseText(theme, "small", theme.color("muted"), self)
        self._facts.hide()
        self.why = LinkButton(theme, QCoreApplication.translate("Approval", "Why?"), parent=self)
        self.why.clicked.connect(self._explain)
        self._verdict = ProseText(theme, "small", theme.color("muted"), self)
        self.choices = Choices(theme, self)
        self.choices.chosen.connect(self._answer)
        self.choices.unfolded.connect(self.height_changed)
        self.choices.words.keyboard_wanted.connect(self.keyboard_wanted)
        self.setFocusProxy(self.choices.deny)

    @property
    def deny(self) -> WordButton:
        return self.choices.deny

    @property
    def allow(self) -> WordButton:
        """The main button that allows the call."""
        return self.choices.main

    @property
    def is_armed(self) -> bool:
        return self.choices.is_armed

    def show_row(self, row: Approval) -> None:
        if self._approval is None or self._approval.icon != row.icon:
            self._icon = _icon(row.icon)
        self._approval = row
        facts = "\n".join(_facts(row))
        shows = row.is_open or self._reopened
        self._say(self._sentence, row.sentence if shows else "")
        self._sentence.strengthen(_verbs(row) if shows else ())
        self._say(self._detail, "" if _is_said(row) or not shows else row.detail)
        self.line.setVisible(not row.is_open)
        self.line.show_answer(row, is_open=self._reopened)
        self._facts.show_text(visible(facts))
        self._facts.setVisible(row.is_open and self._explained)
        self.why.setVisible(row.is_open and bool(facts))
        self._say(self._verdict, "" if row.is_open or not shows else _verdict(row))
        if row.picture is not None:
            self._picture.show_picture(row.picture)
        self._picture.setVisible(row.picture is not None and row.is_open)
        self.choices.offer(row.scopes)
        self.choices.setVisible(row.is_open)
        asks = QCoreApplication.translate("Approval", "Wisp asks for permission")
        self.setAccessibleName(asks if row.is_open else self.line.text())
        told = (row.sentence, *([facts] if row.is_open else []), row.detail)
        self.setAccessibleDescription(visible("\n".join(part for part in told if part)).strip())
        if row.is_open:
            self.deny.setFocus()
        self.update()

    def height_for(self, width: int) -> int:
        theme = self.theme
        inset, gap = theme.size("card_padding"), theme.size("gap")
        left = inset + theme.size("glyph") + gap
        inner = width - left - inset
        y = inset
        if not self.line.isHidden():
            y = theme.size("step_height")
            self.line.setGeometry(0, 0, width, y)
            if not self._reopened:
                return y
        for part, above in self._parts():
            if part.isHidden():
                continue
            # The answers begin at the card's edge, because German ones would need two rows beside the glyph.
            x = inset if part is self.choices else left
            room = inner + left - x
            if part is self._sentence and self._shows_icon():
                room -= theme.size("glyph") + gap
            height = part.height_for(room)
            y += above if y > inset else 0
            part.setGeometry(x, y, room, height)
            y += height
        return y + inset

    def leave(self) -> None:
        self.ticker.end(self._step)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._approval is not None and self._approval.is_open:
            self._armed_s = 0.0
            self.choices.arm(0.0)
            self.ticker.run(self._step, self._arm)

    def hideEvent(self, event: QHideEvent) -> None:
        self.leave()
        super().hideEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_open = self._approval is not None and self._approval.is_open
        if not (is_open or self._reopened):
            return
        width = 1.5 if is_open else 1.0
        box = QRectF(self.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
        painter.setPen(QPen(QColor(*theme.color("accent" if is_open else "hairline")), width))
        painter.setBrush(QColor(*theme.color("accent_soft" if is_open else "raised")))
        painter.drawRoundedRect(box, theme.size("card_radius"), theme.size("card_radius"))
        side, inset = theme.size("glyph"), theme.size("card_padding")
        if is_open:
            drawing.draw(painter, "shield", QRectF(inset, inset, side, side), theme.color("accent"))
        if self._shows_icon():
            self._icon.paint(painter, QRect(self.width() - inset - side, inset, side, side))

    def _shows_icon(self) -> bool:
        return self._approval is not None and self._approval.is_open and not self._icon.isNull()

    def _reopen(self) -> None:
        self._reopened = not self._reopened
        if self._approval is not None:
            self.show_row(self._approval)
        self.height_changed.emit()

    def _explain(self) -> None:
        self._explained = not self._explained
        self._facts.setVisible(self._explained)
        self.height_changed.emit()

    def _parts(self) -> Iterator[tuple[ProseText | PictureView | Choices | LinkButton, int]]:
        """Yield the parts from top to bottom, each with the space above it in pixels."""
        gap, grid = self.theme.size("gap"), self.theme.size("grid")
        yield self._sentence, gap
        yield self._picture, gap
        yield self._detail, gap
        yield self.why, grid
        yield self._facts, grid
        yield self._verdict, gap
        yield self.choices, self.theme.size("card_padding")

    def _say(self, part: ProseText, text: str) -> None:
        part.show_text(visible(text))
        part.setVisible(bool(text.strip()))

    def _arm(self, elapsed_s: float) -> bool:
        self._armed_s += elapsed_s
        self.choices.arm(self._armed_s * 1000 / self.theme.ms("arm"))
        return not self.is_armed

    def _answer(self, allow: bool, words: str, scope: str) -> None:  # noqa: FBT001 - a signal's arguments
        row = self._approval
        if row is not None and row.is_open:
            self.intended.emit(Decide(row.approval_id, allow, words, scope))


def _icon(name: str) -> QIcon:
    """By a name of the icon theme or by the path of a file; a null icon if there is none."""
    if not Path(name).is_absolute():
        return QIcon.fromTheme(name)
    found = QIcon(name) if Path(name).is_file() else QIcon()
    return found if not found.pixmap(QSize(1, 1)).isNull() else QIcon()  # because a file may hold no picture


def _verbs(row: Approval) -> list[tuple[int, int]]:
    """Where the verbs stand in the sentence as it is shown, with its invisible characters written out."""
    return [(len(visible(row.sentence[:start])), len(visible(row.sentence[:end]))) for start, end in row.strong]


def _is_said(row: Approval) -> bool:
    """True if the sentence already contains all that the call's detail says."""
    return not row.detail.strip() or f" {row.detail}." in row.sentence


def _facts(row: Approval) -> Iterator[str]:
    """Yield lines of facts: why Wisp asks, the program it acts on, what it has read, and what can be undone."""
    if row.why and row.why != row.sentence:
        yield row.why
    if row.who and row.who not in row.sentence:
        yield row.who
    yield from row.reasons
    if row.sources:
        words = QCoreApplication.translate(
            "Approval", "Before this, Wisp read something that others may have written: {sources}."
        )
        yield words.format(sources=", ".join(row.sources))
    if row.undo:
        yield row.undo
    if row.rule:
        yield QCoreApplication.translate("Approval", "The rule “{rule}” says that Wisp must ask.").format(rule=row.rule)


def _deed(row: Approval) -> str:
    """What the call does, without "Wisp wants to" and the full stop."""
    return row.deed or row.sentence.removesuffix(".")


def _clock(at: float) -> str:
    """In the person's format. `at` is in seconds on the presence's clock; 0 gives ""."""
    if not at:
        return ""
    moment = QDateTime.fromSecsSinceEpoch(round(time.time() - (time.monotonic() - at)))
    return QLocale().toString(moment.time(), QLocale.FormatType.ShortFormat)


def _answer(row: Approval) -> str:
    tr = QCoreApplication.translate
    if row.allowed is None:
        return tr("Approval", "No longer needed")
    if not row.allowed:
        return tr("Approval", "Denied")
    if row.scope is Scope.ALWAYS:
        return tr("Approval", "Always allowed")
    return tr("Approval", "Allowed for this task") if row.scope is Scope.TASK else tr("Approval", "Allowed")


def _verdict(row: Approval) -> str:
    if row.allowed is None:
        return QCoreApplication.translate("Approval", "No longer needed.")
    if not row.allowed:
        if row.words.strip():
            return QCoreApplication.translate("Approval", "You denied this: {words}").format(words=row.words)
        return QCoreApplication.translate("Approval", "You denied this.")
    if row.scope is Scope.ALWAYS:
        return QCoreApplication.translate("Approval", "You allowed this, always.")
    if row.scope is Scope.TASK:
        return QCoreApplication.translate("Approval", "You allowed this for the task.")
    return QCoreApplication.translate("Approval", "You allowed this.")
