"""The last step: a wish that is carried out for real, and a word about how it went."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.ui.orb.state import Orb
from app.ui.preferences.fields import words_label
from app.ui.presenter.view import View
from app.ui.theme import Theme
from app.ui.welcome import once


class TryingPage(QWidget):
    """`wished` carries the words; the view that follows says how it goes. `worked` is told at the first success."""

    wished = Signal(str)
    worked = Signal()

    def __init__(self, theme: Theme, summon_key: str) -> None:
        super().__init__()
        self._summon_key = summon_key
        self._running = False
        self._wished = False
        tr = QCoreApplication.translate
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(theme.size("gap"))
        box.addWidget(words_label(theme, tr("Welcome", "Choose one. It happens on your real screen, step by step:")))
        self.buttons: list[QPushButton] = []
        for wish in once.wishes():
            button = QPushButton(tr("Welcome", wish))
            button.setObjectName("wish")
            button.clicked.connect(lambda _=False, words=wish: self._wish(words))
            box.addWidget(button)
            self.buttons.append(button)
        self.how = words_label(theme, "")
        box.addSpacing(theme.size("gap"))
        box.addWidget(self.how)
        box.addStretch()

    def show_view(self, view: View) -> None:
        """The thread's view has become this."""
        ended = self._running and not view.running
        self._running = view.running
        if not self._wished:
            return
        tr = QCoreApplication.translate
        if view.running:
            self.how.setText(tr("Welcome", "It is at work: watch the bubble beside the orb."))
        elif ended:
            self._show_end(view)

    def _show_end(self, view: View) -> None:
        tr = QCoreApplication.translate
        for button in self.buttons:
            button.setEnabled(True)
        if view.orb is Orb.ERROR:
            self.how.setText(tr("Welcome", "That did not work; the bubble says why. Try another one, or go back."))
            return
        call = tr("Welcome", "It worked. Click the orb whenever you want something, or press {keys}.")
        click = tr("Welcome", "It worked. Click the orb whenever you want something.")
        self.how.setText(call.format(keys=self._summon_key) if self._summon_key else click)
        self.worked.emit()

    def _wish(self, words: str) -> None:
        self._wished = True
        for button in self.buttons:
            button.setEnabled(False)
        self.how.setText(QCoreApplication.translate("Welcome", "A moment…"))
        self.wished.emit(words)
