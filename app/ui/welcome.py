"""The welcome: three steps in one window that can be left at any time and is never shown by itself again."""

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
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.settings import store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER
from app.ui.machine import Machine, ModelServer
from app.ui.orb import window
from app.ui.orb.state import Orb
from app.ui.preferences.fields import Choice, Radio, words_label
from app.ui.preferences.window import FindingsList, KeyRow, Questions
from app.ui.presenter.view import View
from app.ui.system import autostart
from app.ui.theme.drawing import font
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
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(theme.size("gap"))
        understands = tr("Welcome", "Understands everyday language, sees the screen, plans by itself.")
        private = tr("Welcome", "Nothing leaves the computer. How well it works depends on the model.")
        simple = tr("Welcome", "Opens programs, types, clicks by name, and says what it cannot read.")
        models = QHBoxLayout()
        models.setSpacing(theme.size("gap"))
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


class TryingPage(QWidget):
    """The page to try a first request. `wished` carries its text; `worked` is emitted at the first success."""

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
        for wish in autostart.wishes():
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
        # Do not quit, because the presence lives on when this window closes.
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
