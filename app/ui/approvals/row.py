"""The approval: who is acted on, exactly what, why now, what can be undone; Deny has the focus, Allow arms."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QRectF, Signal
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QPen, QShowEvent

from app.agent.events import Scope
from app.ui import icons
from app.ui.approvals.choices import Choices
from app.ui.bubble.prose import Prose
from app.ui.bubble.row import RowWidget
from app.ui.buttons import WordButton
from app.ui.cards.code import CodeView
from app.ui.cards.picture import PictureView
from app.ui.motion import Ticker
from app.ui.presenter.view import Approval
from app.ui.presenter.visible import visible
from app.ui.theme import Theme


class ExactView(CodeView):
    """What a call was given, from its beginning: what matters most must not be scrolled away."""

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.minimum())


class ApprovalRow(RowWidget):
    """`answered` carries the approval's id, whether it is allowed, the words for the model and how far a yes reaches.

    Nothing but a person's own press allows.
    """

    answered = Signal(str, bool, str, str)
    picture_opened = Signal(object)
    keyboard_wanted = Signal()

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._step = f"approval {id(self)}"
        self._approval: Approval | None = None
        self._armed_s = 0.0
        self._sentence = Prose(theme, "text", theme.color("ink"), self)
        self._who = Prose(theme, "small", theme.color("muted"), self)
        self._picture = PictureView(theme, self)
        self._picture.opened.connect(self.picture_opened)
        self._detail = ExactView(theme, self)
        self._facts = Prose(theme, "small", theme.color("muted"), self)
        self._verdict = Prose(theme, "small", theme.color("muted"), self)
        self.choices = Choices(theme, self)
        self.choices.chosen.connect(self._answer)
        self.choices.words.keyboard_wanted.connect(self.keyboard_wanted)
        self.setFocusProxy(self.choices.deny)

    @property
    def deny(self) -> WordButton:
        return self.choices.deny

    @property
    def allow(self) -> WordButton:
        """Allows it this once."""
        return self.choices.allows[Scope.ONCE]

    @property
    def is_armed(self) -> bool:
        return self.choices.is_armed

    def show_row(self, row: Approval) -> None:
        self._approval = row
        facts = "\n".join(_facts(row))
        self._say(self._sentence, row.sentence)
        self._say(self._who, _who(row))
        self._say(self._detail, row.detail)
        self._say(self._facts, facts if row.is_open else "")
        self._say(self._verdict, "" if row.is_open else _verdict(row))
        if row.picture is not None:
            self._picture.show_picture(row.picture)
        self._picture.setVisible(row.picture is not None and row.is_open)
        self.choices.offer(row.scopes)
        self.choices.setVisible(row.is_open)
        self.setAccessibleName(QCoreApplication.translate("Approval", "Wisp asks for permission"))
        told = (row.sentence, _who(row), *([facts] if row.is_open else []), row.detail)
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
        for part, above in self._parts():
            if part.isHidden():
                continue
            height = part.height_for(inner)
            y += above if y > inset else 0
            part.setGeometry(left, y, inner, height)
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
        width = 1.5 if is_open else 1.0
        box = QRectF(self.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2)
        painter.setPen(QPen(QColor(*theme.color("accent" if is_open else "hairline")), width))
        painter.setBrush(QColor(*theme.color("accent_soft" if is_open else "raised")))
        painter.drawRoundedRect(box, theme.size("card_radius"), theme.size("card_radius"))
        side, inset = theme.size("glyph"), theme.size("card_padding")
        icons.draw(painter, "shield", QRectF(inset, inset, side, side), theme.color("accent" if is_open else "muted"))

    def _parts(self) -> Iterator[tuple[Prose | PictureView | Choices, int]]:
        """From above, each with the room above it."""
        gap, grid = self.theme.size("gap"), self.theme.size("grid")
        yield self._sentence, gap
        yield self._who, grid // 2
        yield self._picture, gap
        yield self._detail, gap
        yield self._facts, gap
        yield self._verdict, gap
        yield self.choices, self.theme.size("card_padding")

    def _say(self, part: Prose, text: str) -> None:
        part.show_text(visible(text))
        part.setVisible(bool(text.strip()))

    def _arm(self, elapsed_s: float) -> bool:
        self._armed_s += elapsed_s
        self.choices.arm(self._armed_s * 1000 / self.theme.ms("arm"))
        return not self.is_armed

    def _answer(self, allow: bool, words: str, scope: str) -> None:  # noqa: FBT001 - a signal's arguments
        row = self._approval
        if row is not None and row.is_open:
            self.answered.emit(row.approval_id, allow, words, scope)


def _who(row: Approval) -> str:
    """The place it acts on, unless the sentence says no more than that."""
    return "" if row.who == row.sentence else row.who


def _facts(row: Approval) -> Iterator[str]:
    """Why it is asked now, and what can be taken back, a line each."""
    yield from row.reasons
    if row.sources:
        words = QCoreApplication.translate("Approval", "Read before, in others' words: {sources}.")
        yield words.format(sources=", ".join(row.sources))
    if row.undo:
        yield row.undo
    if row.rule:
        yield QCoreApplication.translate("Approval", "Asked by the rule “{rule}”.").format(rule=row.rule)


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
