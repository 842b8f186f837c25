"""Who answers: Claude, a model on this computer, or the offline provider."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QRadioButton, QVBoxLayout, QWidget

from app.settings import secrets, store
from app.settings.catalog import BASE_URL, MODEL, PROVIDER
from app.ui.machine import Machine, Server
from app.ui.preferences.controls import Choice, Radio
from app.ui.preferences.fields import words_label
from app.ui.preferences.keyrow import KeyRow
from app.ui.questions import Questions
from app.ui.style import font
from app.ui.theme import Theme


class AnswererPage(QWidget):
    """`chosen` is told once a choice has been written to the settings."""

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
        (self.claude if secrets.key_of("anthropic") else self.offline).setChecked(True)

    def look(self) -> None:
        """For model servers on this computer."""
        self.again.setEnabled(False)
        self.found.setVisible(True)
        self.found.setText(QCoreApplication.translate("Welcome", "Looking for models…"))
        self._questions.ask(self._machine.servers(), self.show_servers)

    def show_servers(self, servers: Sequence[Server]) -> None:
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
            if not secrets.key_of("anthropic"):
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
