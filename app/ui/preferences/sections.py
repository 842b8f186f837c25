"""What pages of the settings' window show besides settings: keys, findings, grants and folders."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from app.agent.policy import Subject
from app.agent.policy.grants import SavedGrant, SavedGrants
from app.base import paths
from app.base.errors import WispError
from app.settings import store
from app.settings.providers import key_holders, providers
from app.ui.buttons import PushButton
from app.ui.machine import Machine, MachineFinding, Trial
from app.ui.theme import drawing
from app.ui.theme.drawing import words_label
from app.ui.theme.theme import Theme

Answer = TypeVar("Answer")


class Questions:
    """Keeps track of a window's open requests, so that they can be cancelled with it. Needs a running event loop."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def ask(self, question: Coroutine[Any, Any, Answer], answered: Callable[[Answer], None]) -> None:
        """Await the request, then call `answered` with its result on the GUI thread."""

        def done(task: asyncio.Task[Answer]) -> None:
            self._open.discard(task)
            if not task.cancelled():
                answered(task.result())

        task = asyncio.ensure_future(question)
        self._open.add(task)
        task.add_done_callback(done)

    def forget(self) -> None:
        """Cancel all open requests."""
        for task in tuple(self._open):
            task.cancel()


_LOOKS = {"ok": ("check", "ok"), "note": ("circle", "muted"), "fail": ("alert", "warn")}


class Glyph(QWidget):
    """A glyph in a colour of the theme."""

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
    """Shows the results of the checks of this machine. `ask_once` runs the checks, and a button runs them again.

    With `only_bad`, the list shows only failed checks, and hides if no check failed. Each check that found something
    has a button for what is to be done; `wanted` carries the setting that one opens. `known` are results of before.
    """

    found = Signal(object)
    wanted = Signal(str)

    def __init__(
        self, theme: Theme, machine: Machine, *, only_bad: bool = False, known: Sequence[MachineFinding] = ()
    ) -> None:
        super().__init__()
        self._theme = theme
        self._machine = machine
        self._questions = Questions()
        self._asked = bool(known)
        self._only_bad = only_bad
        self.setHidden(only_bad)
        self.note = words_label(theme, "", quiet=True)
        self.again = PushButton(QCoreApplication.translate("Settings", "Check again"))
        self.again.clicked.connect(self.ask)
        self._rows = drawing.spaced(QVBoxLayout(), theme.size("gap"))
        box = drawing.spaced(QVBoxLayout(self), theme.size("gap"))
        box.addLayout(self._rows)
        box.addWidget(self.note)
        box.addWidget(self.again, alignment=Qt.AlignmentFlag.AlignLeading)
        box.addStretch()
        if known:
            self.show_findings(known)

    def forget(self) -> None:
        """Wait for no results any more."""
        self._questions.forget()

    def ask(self) -> None:
        """Run all checks in the background, and show the results."""
        self._asked = True
        self.again.setEnabled(False)
        self.note.setText(QCoreApplication.translate("Settings", "Checking what works here…"))
        self._questions.ask(self._machine.findings(), self.show_findings)

    def ask_once(self) -> None:
        """Run the checks unless they ran before."""
        if not self._asked:
            self.ask()

    def show_findings(self, findings: Sequence[MachineFinding]) -> None:
        """Show the results: first each failed check with what to do, then the others."""
        while (old := self._rows.takeAt(0)) is not None:
            widget = old.widget()
            if widget is not None:
                widget.deleteLater()
        if self._only_bad:
            findings = [finding for finding in findings if finding.verdict == "fail"]
            self.setVisible(bool(findings))
        for finding in sorted(findings, key=lambda each: each.verdict != "fail"):
            if finding.verdict != "ok":
                self._rows.addWidget(self._row(finding))
        fine_ones = [_name(finding) for finding in findings if finding.verdict == "ok"]
        if fine_ones:
            works = QCoreApplication.translate("Settings", "Works")
            self._rows.addWidget(self._row(MachineFinding(works, "ok", ", ".join(fine_ones))))
        bad = sum(finding.verdict == "fail" for finding in findings)
        tr = QCoreApplication.translate
        fine = tr("Settings", "Everything that is needed works.")
        count = tr("Settings", "To solve before Wisp can work here: {count}.").format(count=bad)
        self.note.setText(count if bad else fine)
        self.again.setEnabled(True)
        self.found.emit(findings)

    def _row(self, finding: MachineFinding) -> QWidget:
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
            grid.addWidget(self._remedy(finding), 2, 1, Qt.AlignmentFlag.AlignLeading)
        row.setAccessibleName(f"{said}: {finding.verdict}. {finding.detail} {finding.fix}")
        return row

    def _remedy(self, finding: MachineFinding) -> PushButton:
        """It mends a finding, or opens where that is done; outside of Wisp, it looks again."""
        tr = QCoreApplication.translate
        if found := _COMMAND.search(finding.fix):
            return _copy_button(found[1])
        if not finding.opens:
            made = PushButton(tr("Settings", "Check again"))
            made.clicked.connect(self.ask)
        elif Path(finding.opens).is_absolute():
            made = PushButton(tr("Settings", "Open the file"))
            made.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(finding.opens)))
        else:
            made = PushButton(tr("Settings", "Open the setting"))
            made.clicked.connect(lambda: self.wanted.emit(finding.opens))
        made.setAccessibleDescription(f"{_name(finding)}: {finding.fix}")
        return made


_COMMAND = re.compile(r"(?:^|: )((?:sudo|(?:\S+/)?pipx?|wisp|dbus-run-session|\./scripts/setup) .+)$")
"""The command at the end of what a finding says to do."""


def _copy_button(command: str) -> PushButton:
    tr = QCoreApplication.translate
    made = PushButton(tr("Settings", "Copy the command"))
    made.setAccessibleDescription(command)

    def copy() -> None:
        QGuiApplication.clipboard().setText(command)
        made.setText(tr("Settings", "Copied."))

    made.clicked.connect(copy)
    return made


def _name(finding: MachineFinding) -> str:
    return QCoreApplication.translate("Settings", finding.name)


def _copyable(theme: Theme, words: str) -> QLabel:
    made = words_label(theme, words, quiet=True)
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return made


Where = Callable[[], tuple[str, str]]
"""Returns an address and a model."""


class KeyRow(QWidget):
    """A row to enter a key, which is never shown again. A key that its service refuses is not stored.

    `where` says at which address and with which model the key is tried; "" for the usual ones.

    Signals: `kept`, a key was stored; `tried`, the end of a test, with what is wrong or "".
    """

    kept = Signal(str)
    tried = Signal(str)

    def __init__(self, theme: Theme, provider: str, machine: Machine, where: Where = lambda: ("", "")) -> None:
        super().__init__()
        self._provider = provider
        self._machine = machine
        self._where = where
        self._questions = Questions()
        tr = QCoreApplication.translate
        self._holder = key_holders()[provider][0]
        name = tr("Settings", "Key for {provider}").format(provider=self._holder)
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setObjectName(f"key.{provider}")
        self.field.setAccessibleName(name)
        self.keep_button = PushButton(tr("Settings", "Save"))
        self.test_button = PushButton(tr("Settings", "Test"))
        self.keep_button.setAccessibleDescription(name)
        self.test_button.setAccessibleDescription(name)
        self.keep_button.clicked.connect(self.keep)
        self.test_button.clicked.connect(self.test)
        self.field.returnPressed.connect(self.keep)
        self.answer = words_label(theme, "", quiet=True)
        row = drawing.spaced(QHBoxLayout(), theme.size("gap"))
        for widget in (self.field, self.keep_button, self.test_button):
            row.addWidget(widget)
        self.test_button.setVisible(provider in providers())  # the others are tried by a search or a message
        box = drawing.spaced(QVBoxLayout(self), theme.count("grid"))
        about = words_label(theme, name, strong=True)
        about.setBuddy(self.field)
        box.addWidget(about)
        box.addLayout(row)
        box.addWidget(self.answer)
        self.answer.hide()
        self._show_whether_known()

    @property
    def typed(self) -> str:
        """The key that is typed and not yet stored."""
        return self.field.text().strip()

    def forget(self) -> None:
        """Wait for no answer of the service any more."""
        self._questions.forget()

    def keep(self) -> None:
        """Store the typed key. That of a model's provider is tried first."""
        if self.typed and self._provider in providers():
            self.test()
        elif self.typed:
            self._say(self._store(self.typed))

    def test(self) -> None:
        """Let the model say hello with the typed key, else with the stored one. A key that works is stored."""
        asking = QCoreApplication.translate("Settings", "Asking {provider}…")
        self._say(asking.format(provider=self._holder))
        self._let_press(may_press=False)
        key = self.typed
        trying = self._machine.tried(self._provider, key, *self._where())
        self._questions.ask(trying, lambda trial: self._answered(key, trial))

    def _answered(self, key: str, trial: Trial) -> None:
        self._let_press(may_press=True)
        where = self._store(key) if key and not trial.is_refused else ""
        self._say(" ".join(filter(None, (trial_words(self._holder, trial), where))))
        self.tried.emit(trial.problem if trial.is_refused else "")

    def _let_press(self, *, may_press: bool) -> None:
        self.keep_button.setEnabled(may_press)
        self.test_button.setEnabled(may_press)

    def _store(self, key: str) -> str:
        """Store the key in the keyring, or in a file if there is none. Return a sentence that says where."""
        tr = QCoreApplication.translate
        try:
            where = store.keep(self._provider, key)
        except OSError as error:
            return tr("Settings", "The key could not be saved: {why}").format(why=error)
        self.field.clear()
        self._show_whether_known()
        self.kept.emit(self._provider)
        in_keyring = tr("Settings", "The key is saved in the system's keyring.")
        return (
            in_keyring if where == "keyring" else tr("Settings", "The key is saved in a file that only you can read.")
        )

    def _say(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.show()

    def _show_whether_known(self) -> None:
        tr = QCoreApplication.translate
        variable = key_holders()[self._provider][1]
        from_outside = tr("Settings", "a key is in {variable}").format(variable=variable)
        known = tr("Settings", "a key is saved") if store.key_of(self._provider) else tr("Settings", "no key yet")
        self.field.setPlaceholderText(from_outside if os.environ.get(variable) else known)


def trial_words(who: str, trial: Trial) -> str:
    """A sentence for the person on what came of trying a model."""
    if trial.problem:
        return trial.problem
    works = QCoreApplication.translate("Settings", "It works. {provider} says: “{words}”")
    return works.format(provider=who, words=trial.said)


class GrantsList(QWidget):
    """What Wisp may always use, each in a line with a button that takes it back. It is read whenever it shows."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._saved = SavedGrants()
        tr = QCoreApplication.translate
        self.note = words_label(theme, "", quiet=True)
        self._rows = drawing.spaced(QVBoxLayout(), theme.size("gap"))
        box = drawing.spaced(QVBoxLayout(self), theme.size("padding"))
        box.addWidget(
            words_label(
                theme, tr("Settings", "Wisp uses these without asking. Inside a program it can do all that you can.")
            )
        )
        box.addLayout(self._rows)
        box.addWidget(self.note)

    def showEvent(self, event: QShowEvent) -> None:
        self._read()
        super().showEvent(event)

    def _read(self) -> None:
        while (old := self._rows.takeAt(0)) is not None:
            widget = old.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        grants = self._saved.all()
        for one in grants:
            self._rows.addWidget(self._row(one))
        none = QCoreApplication.translate(
            "Settings", "None yet. When you answer a question of Wisp with “Always”, it is listed here."
        )
        self._say(self._saved.problem or ("" if grants else none))

    def _row(self, grant: SavedGrant) -> QWidget:
        theme, row = self._theme, QWidget()
        grid = QGridLayout(row)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(theme.size("gap"))
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(0, 1)
        tr = QCoreApplication.translate
        words = tr("Settings", "{kind}, since {day}").format(kind=_kind(grant.subject), day=_day(grant.since))
        button = PushButton(tr("Settings", "Remove"))
        button.setAccessibleDescription(grant.name)
        button.clicked.connect(lambda: self._remove(grant))
        grid.addWidget(words_label(theme, grant.name, strong=True), 0, 0)
        grid.addWidget(words_label(theme, words, quiet=True), 1, 0)
        grid.addWidget(button, 0, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        row.setAccessibleName(f"{grant.name}: {words}")
        return row

    def _remove(self, grant: SavedGrant) -> None:
        try:
            self._saved.remove(grant.key)
        except WispError as error:
            self._say(error.for_people())
        else:
            self._read()

    def _say(self, words: str) -> None:
        self.note.setText(words)
        self.note.setVisible(bool(words))


def _kind(subject: Subject) -> str:
    tr = QCoreApplication.translate
    words = {
        Subject.PROGRAM: tr("Settings", "Program"),
        Subject.HOST: tr("Settings", "Website"),
        Subject.SERVER: tr("Settings", "Tool server"),
        Subject.FOLDER: tr("Settings", "Folder to write in"),
        Subject.COMMAND: tr("Settings", "Command"),
    }
    return words.get(subject, subject.value)


def _day(since: str) -> str:
    """A day, as in 2026-11-27, as the person writes it."""
    day = QDate.fromString(since, Qt.DateFormat.ISODate)
    return QLocale().toString(day, QLocale.FormatType.ShortFormat) if day.isValid() else since


class Folders(QWidget):
    """Wisp's folders, each in a line with a button that opens it, and the sentence about privacy."""

    def __init__(self, theme: Theme, open_folder: Callable[[Path], None] | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._open = open_folder or opened
        tr = QCoreApplication.translate
        box = drawing.spaced(QVBoxLayout(self), theme.size("gap"))
        box.addWidget(words_label(theme, tr("Settings", "Data folder"), strong=True))
        for words, folder in (
            (tr("Settings", "Conversations, what Wisp remembers, files that it made"), paths.data_dir()),
            (tr("Settings", "Settings and rules"), paths.config_dir()),
            (tr("Settings", "Log, crash reports, places of windows; you may delete them"), paths.state_dir()),
        ):
            box.addLayout(self._line(words, folder))
        moved = tr("Settings", "To keep all of it elsewhere, start Wisp with WISP_DATA_DIR=/another/folder.")
        box.addWidget(words_label(theme, moved, quiet=True))
        box.addSpacing(theme.size("padding"))
        box.addWidget(words_label(theme, tr("Settings", "Privacy"), strong=True))
        for promise in (
            tr(
                "Settings",
                (
                    "What you say and the pictures of the screen go to the model you chose. What Wisp searches for "
                    "goes to the search engine, and what you send to others, such as ntfy or tool servers, goes there."
                ),
            ),
            tr(
                "Settings",
                (
                    "Without a model, or with a model on this computer, no words and pictures are sent to a maker of "
                    "models."
                ),
            ),
            tr("Settings", "There is no telemetry. Crash reports stay here until you send one yourself."),
        ):
            box.addWidget(words_label(theme, promise, quiet=True))

    def _line(self, words: str, folder: Path) -> QHBoxLayout:
        row, texts = QHBoxLayout(), QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(words_label(self._theme, words))
        texts.addWidget(words_label(self._theme, str(folder), quiet=True))
        button = PushButton(QCoreApplication.translate("Settings", "Open"))
        button.setAccessibleDescription(str(folder))
        button.clicked.connect(lambda: self._open(folder))
        row.addLayout(texts, 1)
        row.addWidget(button)
        return row


def opened(folder: Path) -> None:
    """Open a folder in the system's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
