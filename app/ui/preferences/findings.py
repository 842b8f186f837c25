"""What works on this machine and what does not, each with the one thing to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.settings import store
from app.settings.providers import providers
from app.ui.machine import Finding, Machine
from app.ui.preferences.fields import words_label
from app.ui.theme import drawing
from app.ui.theme.theme import Theme

Answer = TypeVar("Answer")


class Questions:
    """Holds what is under way, so that it is neither lost nor outlives its window. Needs a running event loop."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def ask(self, question: Coroutine[Any, Any, Answer], answered: Callable[[Answer], None]) -> None:
        """Call `answered` on the GUI thread with what comes."""

        def done(task: asyncio.Task[Answer]) -> None:
            self._open.discard(task)
            if not task.cancelled():
                answered(task.result())

        task = asyncio.ensure_future(question)
        self._open.add(task)
        task.add_done_callback(done)

    def forget(self) -> None:
        """Cancel all open questions."""
        for task in tuple(self._open):
            task.cancel()


_LOOKS = {"ok": ("check", "ok"), "note": ("circle", "muted"), "fail": ("alert", "bad")}


class Glyph(QWidget):
    """A glyph in one of the theme's colours."""

    def __init__(self, theme: Theme, name: str, color: str) -> None:
        super().__init__()
        self._theme = theme
        self._name = name
        self._color = color
        self.setFixedSize(QSize(theme.size("glyph"), theme.size("glyph")))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        drawing.draw(painter, self._name, self.rect().toRectF(), self._theme.color(self._color))


class FindingsList(QWidget):
    """Asks when it is first shown, and again by its button. `found` carries what was found."""

    found = Signal(object)

    def __init__(self, theme: Theme, machine: Machine) -> None:
        super().__init__()
        self._theme = theme
        self._machine = machine
        self._questions = Questions()
        self._asked = False
        self.note = words_label(theme, "", quiet=True)
        self.again = QPushButton(QCoreApplication.translate("Settings", "Check again"))
        self.again.clicked.connect(self.ask)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(theme.size("gap"))
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(theme.size("gap"))
        box.addLayout(self._rows)
        box.addWidget(self.note)
        box.addWidget(self.again, alignment=Qt.AlignmentFlag.AlignLeading)
        box.addStretch()

    def ask(self) -> None:
        """Try everything for real; the answer comes when it comes."""
        self._asked = True
        self.again.setEnabled(False)
        self.note.setText(QCoreApplication.translate("Settings", "Trying what works here…"))
        self._questions.ask(self._machine.findings(), self.show_findings)

    def ask_once(self) -> None:
        """Ask, unless it was asked before."""
        if not self._asked:
            self.ask()

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Show these: what needs the person first, what works in one line."""
        while (old := self._rows.takeAt(0)) is not None:
            widget = old.widget()
            if widget is not None:
                widget.deleteLater()
        for finding in sorted(findings, key=lambda each: each.verdict != "fail"):
            if finding.verdict != "ok":
                self._rows.addWidget(self._row(finding))
        fine_ones = [_name(finding) for finding in findings if finding.verdict == "ok"]
        if fine_ones:
            works = QCoreApplication.translate("Settings", "Works")
            self._rows.addWidget(self._row(Finding(works, "ok", ", ".join(fine_ones))))
        bad = sum(finding.verdict == "fail" for finding in findings)
        tr = QCoreApplication.translate
        fine = tr("Settings", "Everything that is needed works.")
        count = tr("Settings", "{count} to mend before Wisp can work here.").format(count=bad)
        self.note.setText(count if bad else fine)
        self.again.setEnabled(True)
        self.found.emit(findings)

    def _row(self, finding: Finding) -> QWidget:
        theme, row = self._theme, QWidget()
        grid = QGridLayout(row)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.size("gap") + theme.count("grid"))
        grid.setVerticalSpacing(theme.count("grid") // 2)
        grid.setColumnStretch(1, 1)
        name, color = _LOOKS[finding.verdict]
        grid.addWidget(Glyph(theme, name, color), 0, 0, Qt.AlignmentFlag.AlignTop)
        said = _name(finding)
        grid.addWidget(words_label(theme, f"{said}: {finding.detail}"), 0, 1)
        if finding.fix:
            grid.addWidget(_copyable(theme, finding.fix), 1, 1)
        row.setAccessibleName(f"{said}: {finding.verdict}. {finding.detail} {finding.fix}")
        return row


def _name(finding: Finding) -> str:
    return QCoreApplication.translate("Settings", finding.name)


def _copyable(theme: Theme, words: str) -> QLabel:
    made = words_label(theme, words, quiet=True)
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return made


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
        name = tr("Settings", "Key for {provider}").format(provider=providers()[provider].maker)
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
            where = store.keep(self._provider, key)
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
        known = bool(store.key_of(self._provider))
        self.field.setPlaceholderText(tr("Settings", "a key is kept") if known else tr("Settings", "no key yet"))
