"""What it uses: tokens and money, this turn, this conversation, today."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QGridLayout, QLabel

from app.agent.archive import Spent
from app.ui.panels import wording
from app.ui.panels.page import Page
from app.ui.theme import Theme


class UsagePage(Page):
    """A small table; what is not known yet is a dash."""

    def __init__(self, theme: Theme) -> None:
        tr = QCoreApplication.translate
        super().__init__(theme, tr("Usage", "Usage"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.size("gap"))
        self._grid.setVerticalSpacing(theme.size("gap"))
        self._grid.setColumnStretch(0, 1)
        rows = (
            "",
            tr("Usage", "Tokens read"),
            tr("Usage", "Tokens written"),
            tr("Usage", "Read again"),
            tr("Usage", "Cost"),
        )
        for row, name in enumerate(rows):
            self._grid.addWidget(self.label(name, quiet=True), row, 0)
        columns = (tr("Usage", "This turn"), tr("Usage", "Conversation"), tr("Usage", "Today"))
        self.cells: list[list[QLabel]] = []
        for column, name in enumerate(columns, start=1):
            self._grid.addWidget(self._number(name, quiet=True), 0, column)
            cells = [self._number("–", strong=row == len(rows) - 1) for row in range(1, len(rows))]
            for row, cell in enumerate(cells, start=1):
                self._grid.addWidget(cell, row, column)
            self.cells.append(cells)
        self.about = self.label(
            tr(
                "Usage",
                "A token is a piece of about four letters. What is read again costs less.",
            ),
            "small",
            quiet=True,
        )
        self.box.addLayout(self._grid)
        self.box.addWidget(self.about)
        self.box.addWidget(self.note)
        self.box.addStretch(1)

    @property
    def wanted_height(self) -> int:
        return self.box.heightForWidth(self.theme.size("bubble_width"))

    def show_spent(self, turn: Spent, conversation: Spent) -> None:
        self._fill(0, turn)
        self._fill(1, conversation)

    def show_today(self, today: Spent) -> None:
        self._fill(2, today)

    def _fill(self, column: int, spent: Spent) -> None:
        read = spent.input_tokens + spent.cache_write_tokens
        numbers = [wording.amount(number) for number in (read, spent.output_tokens, spent.cache_read_tokens)]
        for cell, words in zip(self.cells[column], [*numbers, wording.money(spent.cost_usd)], strict=True):
            cell.setText(words)

    def _number(self, words: str, *, strong: bool = False, quiet: bool = False) -> QLabel:
        made = self.label(words, "small" if quiet else "text", strong=strong, quiet=quiet)
        made.setWordWrap(False)
        made.setAlignment(Qt.AlignmentFlag.AlignTrailing | Qt.AlignmentFlag.AlignVCenter)
        return made
