"""The gallery: every state of the orb, every card, every tone, live, in light and dark, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QEventLoop, QPoint, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from app.ui import style, theme
from app.ui.bubble.chip import ChipWindow
from app.ui.bubble.window import BubbleWindow
from app.ui.composer.attached import Attached
from app.ui.composer.window import ComposerWindow
from app.ui.floating import Floating, Surroundings
from app.ui.gallery import pages, samples
from app.ui.interrupts import Interrupts
from app.ui.motion import Ticker
from app.ui.orb.state import Orb
from app.ui.orb.window import OrbWindow
from app.ui.presenter.folding import folded
from app.ui.presenter.view import Card
from app.ui.rows import RowMaker
from app.ui.theme import Theme

Piece = TypeVar("Piece", bound=Floating)

_PAUSE_MS = 1500
_COLUMNS = 4
_TALL_PX = 1000


class Board(QWidget):
    """One scheme: the pieces on a plain ground, each under its name. They are children, not windows."""

    def __init__(self, look: Theme) -> None:
        super().__init__()
        self._theme = look
        self._around = Surroundings(None, composited=True)
        self._ticker = Ticker(look.ms("frame"), self)
        self._makers: list[RowMaker] = []
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, on=False)
        self.pieces: Mapping[str, QWidget] = {}
        self.pieces = dict(self._made())
        self._fit()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the theme file."""
        return self._theme.problems

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(*self._theme.color("sunken")))

    def _made(self) -> Iterator[tuple[str, Floating]]:
        for state in Orb:
            orb = self._child(OrbWindow(self._theme, self._around, self._ticker))
            orb.show_state(state, share=0.6 if state is Orb.BUSY else None, unread=3 if state is Orb.IDLE else 0)
            yield f"orb-{state.value}", orb
        yield "composer", self._composer()
        yield "composer-attached", self._composer(samples.attached(), "“holidays.tif” (212.0 MB) cannot be shown.")
        scenes = {
            "at-work": samples.at_work(),
            "finished": samples.finished(),
            "cards": samples.cards(),
            "checklist": samples.checklist(),
            "small-actions": samples.small_actions(),
            "search": samples.search(),
            "web": samples.web(),
            "changed": samples.changed(),
            "tones": samples.tones(self._theme),
            "approval": samples.approval(),
            "approval-click": samples.click_approval(),
            "question": samples.question(),
            "trouble": samples.trouble(),
        }
        for name, events in scenes.items():
            yield f"bubble-{name}", self._bubble(events)
        yield "minimised", self._minimised()
        for name, page in pages.pages(self._theme).items():
            bubble = self._bubble(samples.finished())
            bubble.show_page(page, getattr(bubble.header, name, bubble.header.history))
            yield f"page-{name}", bubble

    def _composer(self, attached: Sequence[Attached] = (), note: str = "") -> ComposerWindow:
        composer = self._child(ComposerWindow(self._theme, self._around, "Open the calculator and type 12*7="))
        for one in attached:
            composer.chips.add(one)
        composer.tell(note)
        size = composer.wanted_size()
        composer.resize(size.width() + 2 * composer.margin, size.height() + 2 * composer.margin)
        return composer

    def _minimised(self) -> ChipWindow:
        chip = self._child(ChipWindow(self._theme, self._around))
        view = samples.view_of(samples.at_work())
        chip.show_view(replace(view, since=view.since - 83.0))
        size = chip.body_size()
        chip.resize(size.width() + 2 * chip.margin, size.height() + 2 * chip.margin)
        return chip

    def _bubble(self, events: samples.Events) -> BubbleWindow:
        view = samples.view_of(events)
        maker = RowMaker(self._theme, self._ticker)
        self._makers.append(maker)
        cards = [item.key for item in view.items if isinstance(item, Card)]
        maker.note_newest(cards[-1] if cards else "", {})
        bubble = self._child(BubbleWindow(self._theme, self._around, maker.make, "Wisp"))
        width = self._theme.size("bubble_width") + 2 * bubble.margin
        bubble.resize(width, _TALL_PX)
        bubble.show_view(view, folded(view.items))
        bubble.height_wanted.connect(self._fit)
        return bubble

    def _fit(self) -> None:
        """Bubbles as high as their threads, which they only know once they are shown."""
        for piece in self.pieces.values():
            if isinstance(piece, BubbleWindow):
                height = piece.wanted_size(_TALL_PX).height() + 2 * piece.margin
                piece.resize(piece.width(), height)
        self._lay_out()

    def _child(self, piece: Piece) -> Piece:
        piece.setParent(self, Qt.WindowType.Widget)
        return piece

    def _lay_out(self) -> None:
        """Orbs in a line, then the others in columns, each piece at the end of the shortest one."""
        x, wide = 0, self._theme.size("bubble_width") + 2 * self._theme.size("shadow_margin")
        tops = [self._theme.size("orb_hover") + 2 * self._theme.size("orb_margin")] * _COLUMNS
        for name, piece in self.pieces.items():
            if name.startswith("orb-"):
                piece.move(x, 0)
                x += piece.width()
            else:
                column = tops.index(min(tops))
                piece.move(column * wide, tops[column])
                tops[column] += piece.height()
            piece.show()
        self.setFixedSize(max(x, wide * _COLUMNS), max(tops))


def boards(own: Path | None = None, *, reduced: bool = False) -> dict[str, Board]:
    """A board for each scheme, with a theme file's own tokens if one is given; `reduced` holds all movement still.
    Needs a QApplication."""
    made = {}
    for scheme in theme.SCHEMES:
        look = theme.load(scheme, scale=style.system_scale(), own=own, reduced=reduced)
        board = Board(look)
        board.setStyleSheet(style.sheet(look))
        board.setPalette(style.palette(look))
        made[scheme] = board
    return made


def show(application: QApplication, made: Mapping[str, Board]) -> int:
    """One window for each board, until all are closed."""
    windows = []
    for scheme, board in made.items():
        window = QScrollArea()
        window.setWidget(board)
        window.setWindowTitle(f"Wisp gallery: {scheme}")
        window.resize(board.size().boundedTo(application.primaryScreen().availableSize()))
        window.show()
        windows.append(window)
    application.setQuitOnLastWindowClosed(True)
    with Interrupts(application, application.quit) as interrupts:
        return interrupts.exit_code(application.exec())


def shoot(made: Mapping[str, Board], folder: Path) -> list[Path]:
    """A picture of each board and of each of its pieces, once the speech has been spoken."""
    for board in made.values():
        board.move(QPoint(0, 0))
        board.show()
    spoken = QEventLoop()
    QTimer.singleShot(_PAUSE_MS, spoken.quit)
    spoken.exec()
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for scheme, board in made.items():
        for name, piece in {"all": board, **board.pieces}.items():
            path = folder / f"{name}-{scheme}.png"
            picture = board.grab() if piece is board else board.grab(piece.geometry())
            picture.save(str(path))
            files.append(path)
        board.close()
        board.deleteLater()
    return files
