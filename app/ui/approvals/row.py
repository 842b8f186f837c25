"""The approval: who, what, where, exactly; Deny has the focus, Allow arms after a moment."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, Signal
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QPen, QShowEvent

from app.ui import icons
from app.ui.approvals.press import Press
from app.ui.bubble.prose import Prose
from app.ui.bubble.row import RowWidget
from app.ui.buttons import WordButton
from app.ui.cards.code import CodeView
from app.ui.motion import Ticker
from app.ui.presenter.view import Approval
from app.ui.presenter.visible import visible
from app.ui.theme import Theme


class ApprovalRow(RowWidget):
    """`answered` carries the approval's id and whether it is allowed. Nothing but a person's own press answers."""

    answered = Signal(str, bool)

    def __init__(self, theme: Theme, ticker: Ticker) -> None:
        super().__init__(theme, ticker)
        self._step = f"approval {id(self)}"
        self._approval: Approval | None = None
        self._armed_s = 0.0
        self._sentence = Prose(theme, "text", theme.color("ink"), self)
        self._detail = CodeView(theme, self)
        self._verdict = Prose(theme, "small", theme.color("muted"), self)
        self.deny = WordButton(theme, QCoreApplication.translate("Approval", "Deny"), "close", self)
        self.allow = WordButton(theme, QCoreApplication.translate("Approval", "Allow"), "check", self)
        for button, allow in ((self.deny, False), (self.allow, True)):
            press = Press(button)
            press.meant.connect(lambda allow=allow: self._answer(allow=allow))
        self.setFocusProxy(self.deny)

    @property
    def is_armed(self) -> bool:
        return self._armed_s * 1000 >= self.theme.ms("arm")

    def show_row(self, row: Approval) -> None:
        self._approval = row
        self._sentence.show_text(visible(row.sentence))
        self._detail.show_text(visible(row.detail))
        self._detail.setVisible(bool(row.detail.strip()))
        self._verdict.show_text("" if row.is_open else _verdict(row))
        self._verdict.setVisible(not row.is_open)
        self.deny.setVisible(row.is_open)
        self.allow.setVisible(row.is_open)
        self.setAccessibleName(QCoreApplication.translate("Approval", "Wisp asks for permission"))
        self.setAccessibleDescription(visible(f"{row.sentence}\n{row.detail}").strip())
        if row.is_open:
            self.deny.setFocus()
        self.update()

    def height_for(self, width: int) -> int:
        theme = self.theme
        inset, gap = theme.size("card_padding"), theme.size("gap")
        left = inset + theme.size("glyph") + gap
        y = inset
        for part in (self._sentence, self._detail, self._verdict):
            if part.isHidden():
                continue
            inner = width - left - inset
            height = part.height_for(inner)
            part.setGeometry(left, y, inner, height)
            y += height + gap
        if not self.deny.isHidden():
            y += gap // 2
            self.allow.move(width - inset - self.allow.width(), y)
            self.deny.move(self.allow.x() - gap - self.deny.width(), y)
            y += self.deny.height() + gap
        return y + inset - gap

    def leave(self) -> None:
        self.ticker.end(self._step)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._approval is not None and self._approval.is_open:
            self._armed_s = 0.0
            self.allow.setEnabled(False)
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

    def _arm(self, elapsed_s: float) -> bool:
        self._armed_s += elapsed_s
        self.allow.set_armed(min(self._armed_s * 1000 / self.theme.ms("arm"), 1.0))
        self.allow.setEnabled(self.is_armed)
        return not self.is_armed

    def _answer(self, *, allow: bool) -> None:
        row = self._approval
        if row is None or not row.is_open or (allow and not self.is_armed):
            return
        self.answered.emit(row.approval_id, allow)


def _verdict(row: Approval) -> str:
    if row.allowed is None:
        return QCoreApplication.translate("Approval", "No longer needed.")
    if row.allowed:
        return QCoreApplication.translate("Approval", "You allowed this.")
    return QCoreApplication.translate("Approval", "You denied this.")
