"""What works on this machine and what does not, each with the one thing to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui import icons
from app.ui.machine import Finding, Machine
from app.ui.preferences.fields import words_label
from app.ui.questions import Questions
from app.ui.theme import Theme

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
        icons.draw(painter, self._name, self.rect().toRectF(), self._theme.color(self._color))


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
        """Ask if nobody has."""
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
