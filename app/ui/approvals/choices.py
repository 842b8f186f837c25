"""The answers to an approval: no has the focus, yes arms after a moment and only for a person's own press."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.agent.events import Scope
from app.ui.approvals.devices import WITNESS
from app.ui.approvals.press import Press
from app.ui.buttons import WordButton
from app.ui.style import font
from app.ui.theme import Theme

_LONGEST_WORDS = 500


class WordsField(QLineEdit):
    """A line in a window that takes no keyboard until it is asked to: a click in it asks."""

    keyboard_wanted = Signal()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.keyboard_wanted.emit()
        self.setFocus()
        super().mousePressEvent(event)


class Choices(QWidget):
    """`chosen` carries whether it is allowed, the words for the model, and how far a yes reaches."""

    chosen = Signal(bool, str, str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = 0.0
        WITNESS.prepare()
        self.words = WordsField(self)
        self.words.setFont(font(theme, "text"))
        self.words.setMaxLength(_LONGEST_WORDS)
        self.words.setPlaceholderText(QCoreApplication.translate("Approval", "Deny, and say what to do instead…"))
        self.words.setAccessibleName(QCoreApplication.translate("Approval", "Deny, and say what to do instead"))
        self.words.returnPressed.connect(lambda: self._deny(self.words.text().strip()))
        self.deny = WordButton(theme, QCoreApplication.translate("Approval", "Deny"), "close", self)
        deny = Press(self.deny)
        deny.meant.connect(lambda: self._deny(self.words.text().strip()))
        self.allows: dict[Scope, WordButton] = {scope: self._allow(scope) for scope in Scope}
        self.setFocusProxy(self.deny)
        self.offer((Scope.ONCE,))

    @property
    def is_armed(self) -> bool:
        return self._share >= 1.0

    def offer(self, scopes: Sequence[Scope]) -> None:
        """Show only these ways to allow."""
        for scope, button in self.allows.items():
            button.setVisible(scope in scopes)

    def arm(self, share: float) -> None:
        """How much of the moment has passed, 0 to 1, before which nothing can be allowed."""
        self._share = min(share, 1.0)
        for button in self.allows.values():
            button.set_armed(self._share)
            button.setEnabled(self.is_armed)

    def height_for(self, width: int) -> int:
        """Lay out in this width; the pixels it takes. No and yes stand side by side, further reaching answers below."""
        theme = self._theme
        gap, line = theme.size("gap"), theme.size("button_height")
        self.words.setGeometry(0, 0, width, line)
        once, *further = self.allows.values()
        y = self._placed([once, self.deny], width, line + gap)
        self.deny.move(0 if self.deny.y() == once.y() else self.deny.x(), self.deny.y())
        shown = [button for button in reversed(further) if not button.isHidden()]
        return self._placed(shown, width, y + gap) if shown else y

    def _placed(self, buttons: Sequence[WordButton], width: int, y: int) -> int:
        """From the right; one that finds no room begins a row. The lower edge of the last row."""
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
        press = Press(button, WITNESS)
        press.meant.connect(lambda: self._say_yes(scope))
        return button

    def _say_yes(self, scope: Scope) -> None:
        if self.is_armed:
            self.chosen.emit(True, "", scope.value)

    def _deny(self, words: str) -> None:
        self.chosen.emit(False, words, Scope.ONCE.value)
