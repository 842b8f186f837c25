"""A provider's key: kept in the system's keyring, and tested with one press."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.settings import secrets
from app.ui.machine import Machine
from app.ui.preferences.fields import words_label
from app.ui.questions import Questions
from app.ui.theme import Theme

_NAMES = {"anthropic": "Claude", "openai": "OpenAI"}


class KeyRow(QWidget):
    """The key itself is never shown again. `kept` says that there is a new one, `works` that it was tried."""

    kept = Signal(str)
    works = Signal(str)

    def __init__(self, theme: Theme, provider: str, machine: Machine) -> None:
        super().__init__()
        self._provider = provider
        self._machine = machine
        self._questions = Questions()
        tr = QCoreApplication.translate
        name = tr("Settings", "Key for {provider}").format(provider=_NAMES.get(provider, provider))
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setObjectName(f"key.{provider}")
        self.field.setAccessibleName(name)
        self.keep_button = QPushButton(tr("Settings", "Keep"))
        self.test_button = QPushButton(tr("Settings", "Test"))
        self.keep_button.setAccessibleDescription(name)
        self.test_button.setAccessibleDescription(name)
        self.keep_button.clicked.connect(self.keep)
        self.test_button.clicked.connect(self.test)
        self.field.returnPressed.connect(self.keep)
        self.answer = words_label(theme, "", quiet=True)
        row = QHBoxLayout()
        row.setSpacing(theme.size("gap"))
        for widget in (self.field, self.keep_button, self.test_button):
            row.addWidget(widget)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(theme.count("grid"))
        box.addWidget(words_label(theme, name, strong=True))
        box.addLayout(row)
        box.addWidget(self.answer)
        self.answer.hide()
        self._show_whether_known()

    def keep(self) -> bool:
        """Put what was typed into the keyring, or into a file where there is none; False where nothing was typed."""
        key = self.field.text().strip()
        if not key:
            return False
        tr = QCoreApplication.translate
        try:
            where = secrets.keep(self._provider, key)
        except OSError as error:
            self._say(str(error))
            return False
        self.field.clear()
        self._show_whether_known()
        in_keyring = tr("Settings", "The key is in the system's keyring.")
        in_file = tr("Settings", "The key is in a file that only you can read.")
        self._say(in_keyring if where == "keyring" else in_file)
        self.kept.emit(self._provider)
        return True

    def test(self) -> None:
        """Ask the service with the key that was typed, or else with the one that is kept."""
        typed = self.field.text().strip()
        self._say(QCoreApplication.translate("Settings", "Asking…"))
        self.test_button.setEnabled(False)
        self._questions.ask(self._machine.tried(self._provider, typed), self._answered)

    def _answered(self, problem: str) -> None:
        self.test_button.setEnabled(True)
        self._say(problem or QCoreApplication.translate("Settings", "It works."))
        if not problem:
            self.keep()
            self.works.emit(self._provider)

    def _say(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.show()

    def _show_whether_known(self) -> None:
        tr = QCoreApplication.translate
        known = bool(secrets.key_of(self._provider))
        self.field.setPlaceholderText(tr("Settings", "a key is kept") if known else tr("Settings", "no key yet"))
