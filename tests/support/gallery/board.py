"""The gallery: the live orb states, cards and tones, in light and dark, side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QEventLoop, QPoint, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QInputMethodEvent, QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from app.agent.agent_events import Selected, Way
from app.agent.recording import PastConversation, Spent
from app.features import loading
from app.ui.bubble.window import BubbleWindow
from app.ui.composer.attachments import Attached
from app.ui.orb.state import Orb
from app.ui.orb.window import OrbWindow
from app.ui.pages.listing import Page
from app.ui.pages.pages import HistoryPage, InboxPage, UsagePage
from app.ui.pages.rewrite import RewritePage, difference
from app.ui.presenter.view import Card, News
from app.ui.presenter.wording import folded
from app.ui.theme import drawing, theme
from app.ui.theme.motion import Ticker
from app.ui.theme.theme import Theme
from app.ui.windows.floating import Floating, WindowDeps
from app.ui.windows.overlays import CaptionWindow
from app.ui.windows.stage import RowMaker
from tests.support.gallery import samples

_HOUR_S = 3600
_SAMPLES = (
    ("Send Anna the letter with her new address", 0.4, 3, 0.11),
    ("What is on the screen?", 3, 1, 0.004),
    ("Rename the holiday pictures by date, and put those with Karl in them into a folder of their own", 27, 8, 0.62),
    ("Open the calculator and type 12*7=", 52, 1, 0.0),
    ("Summarise the three reports in Downloads", 170, 4, 0.37),
)


def past(now: float | None = None) -> list[PastConversation]:
    """Return sample conversations, the newest first. `now` is in seconds since 1970; None means this moment."""
    end = time.time() if now is None else now
    return [
        PastConversation(str(number), title, end - hours * _HOUR_S - 300, end - hours * _HOUR_S, turns, cost)
        for number, (title, hours, turns, cost) in enumerate(_SAMPLES)
    ]


_NEWS = (
    News("1", "info", "A command of an earlier time still runs: python -m http.server (run-3)", "", 100.0),
    News("2", "warning", "The service is busy; trying again in 4 s.", "", 4000.0),
    News("3", "question", "There are two Annas in your contacts. Anna Berg or Anna Lind?", "", 7000.0),
    News("4", "error", "The key was refused. Open the settings and enter another one.", "", 7900.0),
    News("5", "done", "The letter is in your outbox.", "", 8190.0),
)
_NOW = 8200.0
_DAY = 1_790_000_000.0
"""The gallery's own today: the same words every day."""


def pages(theme: Theme) -> dict[str, Page]:
    """Return sample pages by name, such as `history`, `news` and `usage`."""
    history, deleting = HistoryPage(theme), HistoryPage(theme)
    for page in (history, deleting):
        page.show_conversations(past(_DAY), _DAY)
    deleting.ask_to_delete("1")
    inbox = InboxPage(theme)
    inbox.show_news(_NEWS, _NOW)
    usage = UsagePage(theme)
    usage.show_spent(Spent(12_840, 1_203, 96_000, 4_100, 0.06, 1), Spent(61_400, 8_822, 512_300, 20_480, 0.41, 6))
    usage.show_today(Spent(182_000, 24_010, 1_730_000, 81_000, None, 21))
    rewrite, (old, new) = RewritePage(theme), samples.rewritten()
    rewrite.show_selected(
        Selected(old, "", ""), {name: Way(name) for name in ("Shorter", "Fix spelling")}, has_model=True
    )
    rewrite.show_new(difference(old, new), obstacle="", is_same=False)
    return {"history": history, "deleting": deleting, "news": inbox, "usage": usage, "rewrite": rewrite}


Piece = TypeVar("Piece", bound=Floating)

_PAUSE_MS = 1500
_COLUMNS = 4
_TALL_PX = 1000
_WALLPAPER_RATIO = 1.6


class Board(QWidget):
    """All pieces of the presence in one colour scheme, by name. They are widgets inside the board, not windows."""

    def __init__(self, look: Theme) -> None:
        super().__init__()
        self._theme = look
        self._wallpaper = QSvgRenderer(str(look.wallpaper)) if look.wallpaper else None
        self._around = WindowDeps(None, composited=True)
        self._ticker = Ticker(look.ms("frame"), self)
        self._makers: list[RowMaker] = []
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, on=False)
        self.pieces: Mapping[str, QWidget] = {}
        self.pieces = dict(self._made())
        self._fit()

    @property
    def problems(self) -> tuple[str, ...]:
        """The errors in the theme file."""
        return self._theme.problems

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(*self._theme.color("sunken")))
        if self._wallpaper is not None:
            tile = QSize(self.width(), round(self.width() / _WALLPAPER_RATIO))
            for top in range(0, self.height(), tile.height()):
                self._wallpaper.render(painter, QRectF(0, top, tile.width(), tile.height()))

    def _made(self) -> Iterator[tuple[str, Floating]]:
        for state in Orb:
            orb = self._child(OrbWindow(self._theme, self._around, self._ticker))
            orb.show_state(state, share=0.6 if state is Orb.BUSY else None, unread=3 if state is Orb.IDLE else 0)
            yield f"orb-{state.value}", orb
        speaking = self._child(OrbWindow(self._theme, self._around, self._ticker))
        speaking.utter("excited", "…" * 10_000)  # so long that it is said as long as anybody looks
        yield "orb-speaking", speaking
        yield "composer", self._composer()
        yield "composer-attached", self._composer(samples.attached(), "“holidays.tif” (212.0 MB) cannot be shown.")
        yield "composer-completed", self._composing("Open the c")
        scenes = {
            "at-work": samples.at_work(),
            "finished": samples.finished(),
            "cards": samples.cards(),
            "checklist": samples.checklist(),
            "small-actions": samples.small_actions(),
            "search": samples.search(),
            "web": samples.web(),
            "changed": samples.changed(),
            "answer": samples.answer(),
            "short-answer": samples.short_answer(),
            "tones": samples.tones(self._theme),
            "approval": samples.approval(),
            "approval-click": samples.click_approval(),
            "question": samples.question(),
            "trouble": samples.trouble(),
        }
        for name, events in scenes.items():
            yield f"bubble-{name}", self._bubble(events)
        yield "minimised", self._minimised()
        for name, page in pages(self._theme).items():
            bubble = self._bubble(samples.finished())
            bubble.show_page(page)
            yield f"page-{name}", bubble

    def _composer(self, attached: Sequence[Attached] = (), note: str = "") -> BubbleWindow:
        bubble = self._bubble(())
        for one in attached:
            bubble.composer.chips.add(one)
        bubble.composer.tell(note)
        return bubble

    def _composing(self, words: str) -> BubbleWindow:
        bubble = self._composer()
        bubble.composer.field.complete_from([title for title, *_ in _SAMPLES])
        typed = QInputMethodEvent()
        typed.setCommitString(words)
        QApplication.sendEvent(bubble.composer.field, typed)
        return bubble

    def _minimised(self) -> CaptionWindow:
        chip = self._child(CaptionWindow(self._theme, self._around, self._ticker))
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
        maker.note_newest(cards[-1] if cards else "", view.items, {})
        words = ("Wisp", "Open the calculator and type 12*7=")
        bubble = self._child(BubbleWindow(self._theme, self._around, self._ticker, maker.make, words))
        width = self._theme.size("bubble_width") + 2 * bubble.margin
        bubble.resize(width, _TALL_PX)
        bubble.show_view(view, folded(view.items, running=view.running))
        bubble.height_wanted.connect(self._fit)
        return bubble

    def _fit(self) -> None:
        """Give each bubble the height of its thread, which is only known once the thread is shown, and lay out the
        board again."""
        for piece in self.pieces.values():
            if isinstance(piece, BubbleWindow):
                height = piece.wanted_size(_TALL_PX).height() + 2 * piece.margin
                piece.resize(piece.width(), height)
        self._lay_out()

    def _child(self, piece: Piece) -> Piece:
        piece.setParent(self, Qt.WindowType.Widget)
        return piece

    def _lay_out(self) -> None:
        """Place the orbs in one line and the other pieces in columns below, each at the end of the shortest column."""
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


PLAIN = {scheme: ("", scheme) for scheme in theme.SCHEMES}
"""Themes and schemes by the names of their boards."""


def boards(
    own: Path | None = None, *, reduced: bool = False, shown: Mapping[str, tuple[str, str]] = PLAIN
) -> dict[str, Board]:
    """Return a board for each theme and scheme in `shown`, by the board's name. `own` is a theme file whose tokens are
    used too.

    `reduced` stops all movement. Needs a QApplication.
    """
    loading.everything()  # as at each start of Wisp, so that the words of features' cards are known
    made = {}
    for name, (kind, scheme) in shown.items():
        look = theme.load(scheme, kind=kind, scale=drawing.system_scale(), own=own, reduced=reduced)
        board = Board(look)
        board.setStyleSheet(drawing.sheet(look))
        board.setPalette(drawing.palette(look))
        made[name] = board
    return made


def shoot(made: Mapping[str, Board], folder: Path) -> list[Path]:
    """Save a PNG of each board and each piece in the folder, and return the paths. Waits until all text has
    appeared."""
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
