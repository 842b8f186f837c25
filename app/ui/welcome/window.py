"""The welcome: three steps in one window that can be left at any time and is never shown by itself again."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.ui.machine import Machine
from app.ui.orb import painting
from app.ui.orb.state import Orb
from app.ui.preferences.fields import words_label
from app.ui.preferences.findings import FindingsList
from app.ui.presenter.view import View
from app.ui.style import font
from app.ui.theme import Theme
from app.ui.welcome.answerer import AnswererPage
from app.ui.welcome.trying import TryingPage

_FINDINGS, _ANSWERER, _TRYING = range(3)


class WelcomeWindow(QWidget):
    """`wished` carries the first wish; `chosen` says that another provider answers from now on; `left` that it is
    over."""

    wished = Signal(str)
    chosen = Signal()
    left = Signal()

    def __init__(self, theme: Theme, machine: Machine, summon_key: str) -> None:
        super().__init__()
        self._theme = theme
        tr = QCoreApplication.translate
        self.setWindowTitle(tr("Welcome", "Welcome to Wisp"))
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.findings = FindingsList(theme, machine)
        self.answerer = AnswererPage(theme, machine)
        self.answerer.chosen.connect(self.chosen)
        self.trying = TryingPage(theme, summon_key)
        self.trying.wished.connect(self.wished)
        self.trying.worked.connect(self._show_worked)
        self._stack = QStackedWidget()
        for page in (self.findings, self.answerer, self.trying):
            self._stack.addWidget(_scrolled(page, theme.size("padding")))
        self._titles = (
            tr("Welcome", "What Wisp can do here"),
            tr("Welcome", "Who answers"),
            tr("Welcome", "The first thing, together"),
        )
        self._abouts = (
            tr("Welcome", "Wisp works on your real screen. This is what it tried just now:"),
            tr("Welcome", "You can change this at any time in the settings."),
            tr("Welcome", "Whatever it does you see as a card, and ctrl+alt+escape stops it at once."),
        )
        self._heading = words_label(theme, "")
        self._heading.setFont(font(theme, "heading", strong=True))
        self._about = words_label(theme, "", quiet=True)
        self.note = words_label(theme, "", quiet=True)
        self.back = QPushButton(tr("Welcome", "Back"))
        self.next = QPushButton(tr("Welcome", "Next"))
        self.next.setObjectName("main")
        self.back.clicked.connect(lambda: self._go(self._stack.currentIndex() - 1))
        self.next.clicked.connect(self._forward)
        self._lay_out()
        self.resize(theme.size("welcome_width"), theme.size("welcome_height"))
        self._go(_FINDINGS)

    def begin(self) -> None:
        """Come to the front and try what works here."""
        self.show()
        self.raise_()
        self.activateWindow()
        self.findings.ask_once()

    def show_view(self, view: View) -> None:
        """The thread's view has become this."""
        self.trying.show_view(view)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.left.emit()

    def _lay_out(self) -> None:
        theme = self._theme
        inset, gap = theme.size("padding"), theme.size("gap")
        texts = QVBoxLayout()
        texts.setSpacing(theme.count("grid") // 2)
        texts.addStretch()
        texts.addWidget(self._heading)
        texts.addWidget(self._about)
        texts.addStretch()
        head = QHBoxLayout()
        head.setSpacing(inset)
        head.addWidget(_Orb(theme))
        head.addLayout(texts, 1)
        foot = QHBoxLayout()
        foot.setSpacing(gap)
        foot.addWidget(self.note, 1)
        foot.addWidget(self.back)
        foot.addWidget(self.next)
        box = QVBoxLayout(self)
        box.setContentsMargins(inset * 3 // 2, inset, inset * 3 // 2, inset)
        box.setSpacing(inset)
        box.addLayout(head)
        box.addWidget(self._stack, 1)
        box.addLayout(foot)

    def _go(self, page: int) -> None:
        tr = QCoreApplication.translate
        self._stack.setCurrentIndex(page)
        self._heading.setText(self._titles[page])
        self._about.setText(self._abouts[page])
        self.back.setVisible(page > _FINDINGS)
        self.next.setText(tr("Welcome", "Done") if page == _TRYING else tr("Welcome", "Next"))
        self.note.setText(tr("Welcome", "Step {step} of {count}").format(step=page + 1, count=len(self._titles)))
        if page == _ANSWERER:
            self.answerer.look()

    def _forward(self) -> None:
        page = self._stack.currentIndex()
        if page == _TRYING:
            self.close()
            return
        problem = self.answerer.keep() if page == _ANSWERER else ""
        if problem:
            self.note.setText(problem)
        else:
            self._go(page + 1)

    def _show_worked(self) -> None:
        self.next.setFocus()


class _Orb(QLabel):
    """The orb as it will sit on the desktop."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        side = theme.size("orb") + 2 * theme.size("gap")
        self.setFixedSize(QSize(side, side))

    def paintEvent(self, event: QPaintEvent) -> None:
        center = QPointF(self.rect().toRectF().center())
        look = painting.Look(Orb.IDLE)
        painting.paint(QPainter(self), center, self._theme.size("orb"), look, self._theme, shadow=False)


def _scrolled(page: QWidget, room: int) -> QScrollArea:
    """`room` is kept free at the side for the scroll bar."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    left, right = (room, 0) if page.isRightToLeft() else (0, room)
    page.setContentsMargins(left, 0, right, 0)
    area.setWidget(page)
    return area
