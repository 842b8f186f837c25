"""Who answers: what the first run asks once something was done together. It can be left at any time."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.settings import store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER
from app.ui.machine import Machine, ModelServer
from app.ui.orb import window
from app.ui.orb.state import Orb
from app.ui.preferences.fields import Choice, Radio
from app.ui.preferences.window import FindingsList, KeyRow, Questions
from app.ui.theme.drawing import font, spaced, window_size, words_label
from app.ui.theme.theme import Theme


class AnswererPage(QWidget):
    """The page to choose a provider. `chosen` is emitted after the choice was written to the settings."""

    chosen = Signal()

    def __init__(self, theme: Theme, machine: Machine) -> None:
        super().__init__()
        self._theme = theme
        self._machine = machine
        self._questions = Questions()
        tr = QCoreApplication.translate
        self.claude = self._choice(tr("Welcome", "Claude, with a key from the Claude Console"))
        self.local = self._choice(tr("Welcome", "A model on this computer"))
        self.offline = self._choice(tr("Welcome", "Nobody: plain commands, without any model or network"))
        self._group = QButtonGroup(self)
        for button in (self.claude, self.local, self.offline):
            self._group.addButton(button)
        self.key = KeyRow(theme, "anthropic", machine)
        self.key.kept.connect(lambda _: self.claude.setChecked(True))
        self.models = Choice(theme)
        self.models.setAccessibleName(self.local.text())
        self.again = QPushButton(tr("Welcome", "Look again"))
        self.again.clicked.connect(self.look)
        self.found = words_label(theme, "", quiet=True)
        self._lay_out()
        (self.claude if store.key_of("anthropic") else self.offline).setChecked(True)

    def look(self) -> None:
        """For model servers on this computer."""
        self.again.setEnabled(False)
        self.found.setVisible(True)
        self.found.setText(QCoreApplication.translate("Welcome", "Looking for models…"))
        self._questions.ask(self._machine.servers(), self.show_servers)

    def show_servers(self, servers: Sequence[ModelServer]) -> None:
        """Offer what they list."""
        tr = QCoreApplication.translate
        self.again.setEnabled(True)
        self.models.clear()
        for server in servers:
            for model in server.models:
                self.models.addItem(f"{model} ({server.name})", (server.base_url, model))
        has_any = self.models.count() > 0
        self.local.setEnabled(has_any)
        self.models.setVisible(has_any)
        none = tr("Welcome", "None found. Start Ollama, LM Studio or llama.cpp with a model, then look again.")
        self.found.setText("" if has_any else none)
        self.found.setVisible(not has_any)

    def keep(self) -> str:
        """Write the choice to the settings; what is missing, empty where nothing is."""
        tr = QCoreApplication.translate
        provider, base_url, model = "offline", "", ""
        if self.claude.isChecked():
            self.key.keep()
            if not store.key_of("anthropic"):
                return tr("Welcome", "Enter a key for Claude, or choose another answer.")
            provider = "anthropic"
        elif self.local.isChecked():
            provider = "openai"
            base_url, model = self.models.currentData()
        try:
            for setting, value in ((PROVIDER, provider), (BASE_URL, base_url), (MODEL, model)):
                store.save(setting, value)
        except OSError as error:
            return str(error)
        self.chosen.emit()
        return ""

    def _choice(self, words: str) -> Radio:
        made = Radio(self._theme, words)
        made.setFont(font(self._theme, "text", strong=True))
        return made

    def _lay_out(self) -> None:
        theme, tr = self._theme, QCoreApplication.translate
        box = spaced(QVBoxLayout(self), theme.size("gap"))
        understands = tr("Welcome", "Understands everyday language, sees the screen, plans by itself.")
        private = tr("Welcome", "Nothing leaves the computer. How well it works depends on the model.")
        simple = tr("Welcome", "Opens programs, types, clicks by name, and says what it cannot read.")
        models = spaced(QHBoxLayout(), theme.size("gap"))
        models.addWidget(self.models, 1)
        models.addWidget(self.again, 0, Qt.AlignmentFlag.AlignLeading)
        choices: tuple[tuple[QRadioButton, str, tuple[QWidget | QHBoxLayout, ...]], ...] = (
            (self.claude, understands, (self.key,)),
            (self.local, private, (self.found, models)),
            (self.offline, simple, ()),
        )
        for choice, about, below in choices:
            box.addWidget(choice)
            inner = QVBoxLayout()
            inner.setContentsMargins(theme.size("glyph") + theme.size("gap"), 0, 0, theme.size("padding"))
            inner.setSpacing(theme.count("grid"))
            inner.addWidget(words_label(theme, about, quiet=True))
            for each in below:
                if isinstance(each, QWidget):
                    inner.addWidget(each)
                else:
                    inner.addLayout(each)
            box.addLayout(inner)
        box.addStretch()


class WelcomeWindow(QWidget):
    """Asks who answers, and shows what is wrong here. `chosen`: another provider answers from now on; `left`: it is
    over."""

    chosen = Signal()
    left = Signal()

    def __init__(self, theme: Theme, machine: Machine) -> None:
        super().__init__()
        self._theme = theme
        tr = QCoreApplication.translate
        self.setWindowTitle(tr("Welcome", "Who answers"))
        # Do not quit, because the presence lives on when this window closes.
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        self.findings = FindingsList(theme, machine, only_bad=True)
        self.answerer = AnswererPage(theme, machine)
        self.answerer.chosen.connect(self.chosen)
        self._heading = words_label(theme, tr("Welcome", "Who answers"))
        self._heading.setFont(font(theme, "heading", strong=True))
        self._about = words_label(theme, tr("Welcome", "You can change this at any time in the settings."), quiet=True)
        self.note = words_label(theme, "", quiet=True)
        self.later = QPushButton(tr("Welcome", "Later"))
        self.later.clicked.connect(self.close)
        self.done = QPushButton(tr("Welcome", "Done"))
        self.done.setObjectName("main")
        self.done.clicked.connect(self._keep)
        self._lay_out()
        self.resize(window_size(theme, "welcome", self.screen()))

    def begin(self) -> None:
        """Come to the front, and look for what is wrong and for models."""
        self.show()
        self.raise_()
        self.activateWindow()
        self.findings.ask_once()
        self.answerer.look()

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
        texts = spaced(QVBoxLayout(), theme.count("grid") // 2)
        texts.addStretch()
        texts.addWidget(self._heading)
        texts.addWidget(self._about)
        texts.addStretch()
        head = spaced(QHBoxLayout(), inset)
        head.addWidget(_Orb(theme))
        head.addLayout(texts, 1)
        foot = spaced(QHBoxLayout(), gap)
        foot.addWidget(self.note, 1)
        foot.addWidget(self.later)
        foot.addWidget(self.done)
        page = QWidget()
        parts = spaced(QVBoxLayout(page), inset)
        parts.addWidget(self.answerer)
        parts.addWidget(self.findings)
        box = QVBoxLayout(self)
        box.setContentsMargins(inset * 3 // 2, inset, inset * 3 // 2, inset)
        box.setSpacing(inset)
        box.addLayout(head)
        box.addWidget(_scrolled(page, theme.size("padding")), 1)
        box.addLayout(foot)

    def _keep(self) -> None:
        problem = self.answerer.keep()
        self.note.setText(problem)
        if not problem:
            self.close()


class _Orb(QLabel):
    """The orb as it will sit on the desktop."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        side = theme.size("orb") + 2 * theme.size("gap")
        self.setFixedSize(QSize(side, side))

    def paintEvent(self, event: QPaintEvent) -> None:
        center = QPointF(self.rect().toRectF().center())
        look = window.OrbFrame(Orb.IDLE)
        window.paint(QPainter(self), center, self._theme.size("orb"), look, self._theme, shadow=False)


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
