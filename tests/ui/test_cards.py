"""Cards of their own kind, and what bad input does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QImage
from pytestqt.qtbot import QtBot

from app.agent import agent_events
from app.ui.bubble.rows import RowWidget
from app.ui.bubble.speech import NoticeRow
from app.ui.cards.card import CardRow, FoldRow
from app.ui.cards.contents import BrowserView, SourceLink
from app.ui.cards.picture import CodeView, FilmStrip, PictureView
from app.ui.presence import Presence
from app.ui.presenter.view import Card, ShownPicture
from app.ui.theme.appearance import Look
from app.ui.windows.overlays import PictureWindow
from tests.support.gallery import samples
from tests.support.presence import Drive
from tests.support.waiting import until

Made = Callable[[Sequence[agent_events.AgentEvent], str], CardRow]


@pytest.fixture
def card(qtbot: QtBot, still: Look) -> Made:
    def made(events: Sequence[agent_events.AgentEvent], tool: str) -> CardRow:
        items = samples.view_of(events).items
        shown = [item for item in items if isinstance(item, Card) and item.tool == tool][-1]
        row = CardRow(still.theme, still.ticker, opens=lambda card: True)
        qtbot.addWidget(row)
        row.show_row(shown)
        row.resize(368, row.height_for(368))
        row.show()
        return row

    return made


def part(row: RowWidget, kind: type) -> object:
    (found,) = row.findChildren(kind)
    return found


def test_a_browsers_steps_are_gone_through_by_the_keyboard(qtbot: QtBot, card: Made) -> None:
    row = card(samples.web(), "browser_action")
    browser = part(row, BrowserView)
    assert isinstance(browser, BrowserView)
    assert (browser.words, browser.accessibleName()) == ("Step 3 of 3", "https://museum.example/visit/today")
    console = part(row, CodeView)
    assert isinstance(console, CodeView)
    assert (console.shown, console.isVisible()) == ("error: map.js not found", True)
    with qtbot.waitSignal(row.height_changed):
        qtbot.keyClick(browser.slider, Qt.Key.Key_Left)
    assert (browser.words, browser.accessibleName()) == ("Step 2 of 3", "https://museum.example/visit")
    assert not console.isVisible()
    assert row.expanded


def _grabbed(browser: BrowserView) -> tuple[QImage, QImage, PictureView]:
    """What the card paints now: the bar above the picture, and the picture, which is returned as well."""
    picture = part(browser, PictureView)  # type: ignore[arg-type]
    assert isinstance(picture, PictureView)
    whole = browser.grab().toImage()
    assert whole.devicePixelRatio() == 1.0
    return whole.copy(0, 0, browser.width(), picture.y() - 1), picture.grab().toImage(), picture


def test_a_browsers_card_shows_the_address_and_the_page_with_the_place_of_the_click(qtbot: QtBot, card: Made) -> None:
    row = card(samples.web(), "browser_action")
    browser = part(row, BrowserView)
    assert isinstance(browser, BrowserView)
    bar, clicked, picture = _grabbed(browser)
    for _ in range(2):
        qtbot.keyClick(browser.slider, Qt.Key.Key_Left)
    assert browser.words == "Step 1 of 3"
    earlier_bar, opened, _ = _grabbed(browser)
    assert bar != earlier_bar  # the address of another page
    scale = picture.height() / 600  # the pictures of these steps are 960 by 600 pixels
    center = QPoint(round(480 * scale), round(155 * scale))
    marked = [
        QPoint(x, y)
        for x in range(clicked.width())
        for y in range(clicked.height())
        if clicked.pixel(x, y) != opened.pixel(x, y)
    ]
    assert marked, "the click of the last step is not marked"
    middle = QPoint(
        sum(point.x() for point in marked) // len(marked), sum(point.y() for point in marked) // len(marked)
    )
    assert (middle - center).manhattanLength() <= 3


def test_a_found_page_opens_in_the_persons_own_browser_and_only_pages_do(qtbot: QtBot, card: Made) -> None:
    class Opener(QObject):
        def __init__(self) -> None:
            super().__init__()
            self.opened: list[str] = []

        @Slot(QUrl)
        def open(self, url: QUrl) -> None:
            self.opened.append(url.toString())

    results = [
        {"title": "Good", "url": "https://museum.example/visit"},
        {"title": "Bad", "url": "file:///etc/passwd"},
        {"title": "Worse", "url": "javascript:alert(1)"},
    ]
    row = card(
        [
            agent_events.TagStart("1", "web_search", {"query": "x"}),
            agent_events.ToolFinished("1", "web_search", True, "web_search", {"results": results}),
        ],
        "web_search",
    )
    opener = Opener()
    for scheme in ("https", "file", "javascript"):
        QDesktopServices.setUrlHandler(scheme, opener, "open")
    links = row.findChildren(SourceLink)
    for link in links:
        qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    for scheme in ("https", "file", "javascript"):
        QDesktopServices.unsetUrlHandler(scheme)
    assert [link.text() for link in links] == ["Good", "Bad", "Worse"]
    assert opener.opened == ["https://museum.example/visit"]


def test_a_diff_of_ten_thousand_lines_is_shown_by_its_end(qtbot: QtBot, card: Made) -> None:
    diff = "".join(f"-old line {number}\n+new line {number}\n" for number in range(5_000))
    row = card(
        [
            agent_events.TagStart("1", "replace_in_file", {"path": "long.py"}),
            agent_events.TagDelta("1", "diff", diff),
            agent_events.ToolFinished("1", "replace_in_file", True, "file_changed", {"path": "long.py"}),
        ],
        "replace_in_file",
    )
    code = part(row, CodeView)
    assert isinstance(code, CodeView)
    assert code.shown.startswith("… ")
    assert code.shown.endswith("+new line 4999")
    assert row.height() < 400


def test_escapes_and_markup_in_output_are_only_text(qtbot: QtBot, card: Made) -> None:
    row = card(
        [
            agent_events.TagStart("1", "execute_command", {"command": "x"}),
            agent_events.ToolProgress("1", "output", {"output": "\x1b[31mred\x1b[0m <b>bold</b>\x1b]0;title\x07\n"}),
            agent_events.ToolFinished("1", "execute_command", True, "ran"),
        ],
        "execute_command",
    )
    code = part(row, CodeView)
    assert isinstance(code, CodeView)
    assert code.toPlainText() == "red <b>bold</b>"


def test_a_tap_on_the_screens_picture_opens_it_in_full(qtbot: QtBot, presence: Presence) -> None:
    for event in samples.at_work()[:-3]:
        presence.inbox.receive(event)
    presence.inbox.change(lambda view: view)
    presence.unfold()
    qtbot.waitUntil(lambda: bool(presence.bubble.findChildren(PictureView)))
    (picture,) = presence.bubble.findChildren(PictureView)
    qtbot.mouseClick(picture, Qt.MouseButton.LeftButton)
    viewer = presence.stage._viewer
    assert isinstance(viewer, PictureWindow)
    qtbot.waitUntil(viewer.isVisible)
    qtbot.keyClick(viewer, Qt.Key.Key_Escape)
    assert not viewer.isVisible()


def test_what_a_command_printed_is_closed_once_the_answer_says_it_again(qtbot: QtBot, presence: Presence) -> None:
    printed = "one.txt\ntwo.txt"
    presence.unfold()
    for event in (
        agent_events.TagStart("1", "execute_command", {"command": "ls"}),
        agent_events.ToolFinished("1", "execute_command", True, "command_ended", {"stdout": printed}),
    ):
        presence.inbox.receive(event)
    qtbot.waitUntil(lambda: [row.is_open for row in presence.bubble.findChildren(CardRow)] == [True])
    presence.inbox.receive(agent_events.SayDelta("s1", "neutral", f"```\n{printed}\n```"))
    qtbot.waitUntil(lambda: [row.is_open for row in presence.bubble.findChildren(CardRow)] == [False])


def test_an_event_of_no_known_kind_changes_nothing(qtbot: QtBot, presence: Presence) -> None:
    before = presence.inbox.view
    presence.inbox.receive(object())  # type: ignore[arg-type]
    presence.inbox.change(lambda view: view)
    assert presence.inbox.view is before


def test_the_steps_of_a_task_open_with_its_pictures_which_are_kept_as_a_guide(
    qtbot: QtBot, presence: Presence, drive: Drive, tmp_path: Path
) -> None:
    place, other = tmp_path / "guide.html", tmp_path / "guide.md"
    mine = tmp_path / "guide" / "01.png"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")

    async def person() -> None:
        ended = agent_events.TurnEnded("t1", agent_events.Outcome.FINISHED, "The calculator shows 84.")
        for event in (*samples.finished()[:-3], ended):
            presence.inbox.receive(event)
        presence.inbox.change(lambda view: view)
        presence.unfold()
        await until(lambda: bool(_shown(presence, FoldRow)))
        (fold,) = _shown(presence, FoldRow)
        assert isinstance(fold, FoldRow)
        assert not _films(presence)
        fold.press()
        await until(lambda: bool(_films(presence)))
        names = [picture.accessibleName() for picture in _films(presence)[0].pictures]
        assert names == ["1. Looked at the screen"]
        _films(presence)[0].pictures[0].press()
        viewer = presence.stage._viewer
        assert viewer is not None
        assert viewer.isVisible()
        viewer.hide()
        presence.panels.ask_where = lambda proposal: str(place)
        _films(presence)[0].save.click()
        await until(place.exists)
        presence.panels.ask_where = lambda proposal: str(other)
        _films(presence)[0].save.click()
        await until(other.exists)
        await until(lambda: bool(_shown(presence, NoticeRow)))

    drive(person())
    page = place.read_text(encoding="utf-8")
    assert "<h1>Open the calculator and type 12*7=</h1>" in page
    assert page.count("<figure>") == page.count("data:image/png;base64,") == 1
    assert "left: 62.50%; top: 77.83%" in page
    assert other.read_text(encoding="utf-8") == (
        "# Open the calculator and type 12\\*7=\n\n## 1. Looked at the screen\n\n"
        "![Looked at the screen](<guide-2/01.png>)\n"
    )
    assert mine.read_text(encoding="utf-8") == "mine"
    ringed = QImage(str(tmp_path / "guide-2" / "01.png"))
    before = QImage.fromData(samples.picture().data)
    assert ringed.size() == before.size()
    assert ringed.pixel(607, 467) != before.pixel(607, 467)  # the ring's edge


def _shown(presence: Presence, kind: type[RowWidget]) -> list[RowWidget]:
    return [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, kind)]


def _films(presence: Presence) -> list[FilmStrip]:
    """Of the rows as they are now: a row that goes out of sight is made again."""
    return [film for row in _shown(presence, FoldRow) for film in row.findChildren(FilmStrip)]


def test_pictures_beyond_the_edge_come_into_sight_with_the_keyboard(qtbot: QtBot, still: Look) -> None:
    film = FilmStrip(still.theme, None)  # type: ignore[arg-type]
    qtbot.addWidget(film)
    sample = samples.picture(400, 300)
    picture = ShownPicture(sample.data, 400, 300)
    film.show_frames(tuple((f"Step {number}", replace(picture)) for number in range(9)))
    film.resize(368, film.height_for(368))
    film.show()
    qtbot.waitActive(film)
    last = film.pictures[-1]
    assert last.x() > 368
    last.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: 0 <= last.x() <= 368 - last.width())
