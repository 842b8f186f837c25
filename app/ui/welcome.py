"""The window in which the person chooses a provider after the first task. It can be closed at any time."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QRadioButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.settings import store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER
from app.settings.providers import with_keys
from app.ui.buttons import PushButton
from app.ui.machine import Machine, ModelServer, Trial
from app.ui.orb import painting
from app.ui.orb.state import Orb
from app.ui.preferences.editors import Choice, Radio
from app.ui.preferences.sections import FindingsList, KeyRow, Questions, trial_words
from app.ui.theme.drawing import font, place_window, spaced, words_label
from app.ui.theme.theme import Theme


class AnswererPage(QWidget):
    """The page to choose who answers: a service by its key, a model on this computer, or nobody.

    Signals: `chosen`, the choice was saved in the settings; `settled`, the end of `keep`, with what is wrong or "".
    """

    chosen = Signal()
    settled = Signal(str)

    def __init__(self, theme: Theme, machine: Machine) -> None:
        super().__init__()
        self._theme = theme
        self._machine = machine
        self._questions = Questions()
        tr = QCoreApplication.translate
        self.services = {row.id: self._choice(row.maker) for row in with_keys()}
        self.keys = {name: KeyRow(theme, name, machine) for name in self.services}
        self.local = self._choice(tr("Welcome", "A model on this computer"))
        self.offline = self._choice(tr("Welcome", "Nobody: plain commands, without any model or network"))
        self._group = QButtonGroup(self)
        for button in (self.local, *self.services.values(), self.offline):
            self._group.addButton(button)
        self._group.buttonClicked.connect(self._note_choice)
        self._has_chosen = False
        for name, row in self.keys.items():
            row.kept.connect(lambda _, name=name: self.services[name].setChecked(True))
            row.tried.connect(self._after_key)
        self.models = Choice(theme)
        self.models.setAccessibleName(self.local.text())
        self.test = PushButton(tr("Welcome", "Test"))
        self.test.clicked.connect(self._test)
        self.again = PushButton(tr("Welcome", "Look again"))
        self.again.clicked.connect(self.look)
        self.found = words_label(theme, "", quiet=True)
        self.found.setBuddy(self.models)
        self.answer = words_label(theme, "", quiet=True)
        self.answer.hide()
        self._is_keeping = False
        self._lay_out()
        with_key = next((name for name in self.services if store.key_of(name)), "")
        (self.services[with_key] if with_key else self.offline).setChecked(True)

    def look(self) -> None:
        """Search for model servers on this computer."""
        self.again.setEnabled(False)
        self.found.setText(QCoreApplication.translate("Welcome", "Looking for models…"))
        self._questions.ask(self._machine.servers(), self.show_servers)

    def show_servers(self, servers: Sequence[ModelServer]) -> None:
        """List the models of these servers. The first is chosen unless there is a key or the person chose before."""
        tr = QCoreApplication.translate
        self.again.setEnabled(True)
        self.models.clear()
        for server in servers:
            for model in server.models:
                self.models.addItem(f"{model} ({server.name})", (server.base_url, model))
        has_any = self.models.count() > 0
        self.local.setEnabled(has_any)
        for widget in (self.models, self.test):
            widget.setVisible(has_any)
        none = tr("Welcome", "None found. Start Ollama, LM Studio or llama.cpp with a model, then look again.")
        names = ", ".join(server.name for server in servers if server.models)
        self.found.setText(tr("Welcome", "Found in {programs}.").format(programs=names) if has_any else none)
        if has_any and not self._has_chosen and self.offline.isChecked():
            self.local.setChecked(True)

    def keep(self) -> None:
        """Save the choice in the settings. A key that was just typed is tried first."""
        key = self._key()
        if key is not None and key.typed:
            self._is_keeping = True
            key.keep()
        else:
            self._save()

    def _after_key(self, problem: str) -> None:
        if self._is_keeping:
            self._is_keeping = False
            self.settled.emit(problem) if problem else self._save()

    def _key(self) -> KeyRow | None:
        """For the chosen service; None if no key is needed."""
        return next((self.keys[name] for name, button in self.services.items() if button.isChecked()), None)

    def _save(self) -> None:
        tr = QCoreApplication.translate
        provider = next((name for name, button in self.services.items() if button.isChecked()), "offline")
        base_url, model = "", ""
        if provider in self.services and not store.key_of(provider):
            self.settled.emit(tr("Welcome", "Enter a key, or choose another answer."))
            return
        if self.local.isChecked():
            provider = "openai"
            base_url, model = self.models.currentData()
        try:
            for setting, value in ((PROVIDER, provider), (BASE_URL, base_url), (MODEL, model)):
                store.save(setting, value)
        except OSError as error:
            self.settled.emit(str(error))
            return
        self.chosen.emit()
        self.settled.emit("")

    def _test(self) -> None:
        """Let the chosen model on this computer say hello."""
        tr = QCoreApplication.translate
        base_url, model = self.models.currentData()
        self.test.setEnabled(False)
        asking = tr("Welcome", "Asking {model}. It may take a minute to wake up…")
        self._tell(asking.format(model=model))
        trial = self._machine.tried("openai", "", base_url, model)
        self._questions.ask(trial, lambda came: self._show_trial(model, came))

    def _show_trial(self, model: str, trial: Trial) -> None:
        self.test.setEnabled(True)
        self._tell(trial_words(model, trial))

    def _tell(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.show()

    def _note_choice(self) -> None:
        self._has_chosen = True

    def _choice(self, words: str) -> Radio:
        made = Radio(self._theme, words)
        made.setFont(font(self._theme, "text", strong=True))
        return made

    def _lay_out(self) -> None:
        theme, tr = self._theme, QCoreApplication.translate
        box = spaced(QVBoxLayout(self), theme.size("gap"))
        understands = tr("Welcome", "Understands everyday language, sees the screen, plans by itself.")
        needs = tr("Welcome", "It needs a key from {place}.")
        private = tr("Welcome", "Nothing leaves the computer. How well it works depends on the model.")
        simple = tr("Welcome", "Opens programs, types, clicks by name, and says what it cannot read.")
        models = QWidget()
        row = spaced(QHBoxLayout(models), theme.size("gap"))
        row.addWidget(self.models, 1)
        row.addWidget(self.test)
        row.addWidget(self.again, 0, Qt.AlignmentFlag.AlignLeading)
        choices: tuple[tuple[QRadioButton, str, tuple[QWidget, ...]], ...] = (
            (self.local, private, (self.found, models, self.answer)),
            *(
                (self.services[row.id], f"{understands} {needs.format(place=row.keys_from)}", (self.keys[row.id],))
                for row in with_keys()
            ),
            (self.offline, simple, ()),
        )
        for choice, about, below in choices:
            box.addWidget(choice)
            inner = QVBoxLayout()
            inner.setContentsMargins(theme.size("glyph") + theme.size("gap"), 0, 0, theme.size("padding"))
            inner.setSpacing(theme.count("grid"))
            inner.addWidget(words_label(theme, about, quiet=True))
            for each in below:
                inner.addWidget(each)
            box.addLayout(inner)
        for name, button in self.services.items():
            self.keys[name].hide()
            button.toggled.connect(self.keys[name].setVisible)
        box.addStretch()


class WelcomeWindow(QWidget):
    """Asks the person which provider answers, and shows what does not work on this machine.

    Signals: `chosen`, another provider was saved; `left`, the window is closed.
    """

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
        self.answerer.settled.connect(self._end)
        self._heading = words_label(theme, tr("Welcome", "Who answers"))
        self._heading.setFont(font(theme, "heading", strong=True))
        self._about = words_label(theme, tr("Welcome", "You can change this at any time in the settings."), quiet=True)
        self.note = words_label(theme, "", quiet=True)
        self.later = PushButton(tr("Welcome", "Later"))
        self.later.clicked.connect(self.close)
        self.done = PushButton(tr("Welcome", "Done"))
        self.done.setObjectName("main")
        self.done.clicked.connect(self._keep)
        self._lay_out()
        place_window(self, theme, "welcome")

    def begin(self) -> None:
        """Check the machine, and search for model servers."""
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
        self.done.setEnabled(False)
        self.answerer.keep()

    def _end(self, problem: str) -> None:
        self.done.setEnabled(True)
        self.note.setText(problem)
        if not problem:
            self.close()


class _Orb(QLabel):
    """A picture of the orb in its normal state and size."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        side = theme.size("orb") + 2 * theme.size("gap")
        self.setFixedSize(QSize(side, side))

    def paintEvent(self, event: QPaintEvent) -> None:
        center = QPointF(self.rect().toRectF().center())
        look = painting.OrbFrame(Orb.IDLE)
        painting.paint(QPainter(self), center, self._theme.size("orb"), look, self._theme, shadow=False)


def _scrolled(page: QWidget, room: int) -> QScrollArea:
    """`room` is the space in pixels kept for the scroll bar."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # because it has no name to tell, and follows what is focused in it
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    left, right = (room, 0) if page.isRightToLeft() else (0, room)
    page.setContentsMargins(left, 0, right, 0)
    area.setWidget(page)
    return area
