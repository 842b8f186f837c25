"""The cards of pictures that Wisp made: what their buttons do, and how a drawing grows."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest
from mss import MSS
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.agent import agent_events
from app.agent.agent_events import Media
from app.assistant import assemble
from app.features.looks import FEATURE
from app.features.looks.cards import Drafts
from app.settings import store
from app.settings.catalog import IMAGES_URL
from app.settings.store import Settings
from app.ui import eventloop
from app.ui.cards.card import CardRow
from app.ui.cards.kinds import CardKind
from app.ui.cards.picture import PictureView
from app.ui.presence import Presence
from app.ui.presenter.view import NoticeItem
from tests.support.loopback.openai import OpenAIServer
from tests.support.loopback.replies import Status
from tests.support.loopback.server import Seen
from tests.support.presence import Drive
from tests.support.waiting import until, within
from tests.ui.fake_agent import FakeAgent
from tests.ui.shown_cards import call, cards, picture, show, views


@pytest.fixture
def kinds() -> Mapping[str, CardKind]:
    return FEATURE.cards()


class Drawer:
    """Notes what it should draw, and draws what the test gives it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.drawn = asyncio.Queue[Media | None]()

    async def draw(self, text: str, /) -> Media | None:
        self.texts.append(text)
        return await self.drawn.get()


def _shown(presence: Presence) -> list[QColor]:
    """The colours of the pictures on the cards."""
    rows = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, CardRow)]
    pictures = [view for row in rows for view in row.findChildren(PictureView) if view.isVisible()]
    return [view.grab().toImage().pixelColor(30, 30) for view in pictures]


async def _press(presence: Presence, button: str) -> None:
    """Click in the middle of a button of the first card, where nothing may cover it."""
    await until(lambda: bool(views(presence)) and button in views(presence)[0].buttons)
    widget = views(presence)[0].buttons[button]
    place = widget.rect().center()
    await until(lambda: widget.window().childAt(widget.mapTo(widget.window(), place)) is widget)
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place)


def _told(presence: Presence) -> str:
    return "\n".join(item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem))


def test_a_generated_picture_is_inserted_saved_copied_hung_up_and_drawn_again(
    presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    drawn = picture("teal")
    file, copy = tmp_path / "sun.png", tmp_path / "copy.png"
    file.write_bytes(drawn.data)
    payload: dict[str, object] = {
        **{"path": "pictures/sun.png", "file": str(file), "title": "a sun"},
        **{"prompt": "a sun over hills", "size": "landscape"},
    }

    async def person() -> None:
        show(presence, call(1, "generate_image", payload, (drawn,)))
        await until(lambda: bool(views(presence)))
        [view] = views(presence)
        assert list(view.buttons) == ["insert", "save", "copy", "wallpaper", "again"]
        presence.panels.ask_where = lambda proposal: str(copy)
        view.buttons["save"].click()
        await until(copy.exists)
        view.buttons["copy"].click()
        await until(lambda: not QGuiApplication.clipboard().image().isNull())
        assert QGuiApplication.clipboard().image().pixelColor(5, 5) == QColor("teal")
        view.buttons["wallpaper"].click()
        await until(lambda: len(agent.performed) == 1)
        view.buttons["again"].click()
        await until(lambda: len(agent.performed) == 2)
        view.buttons["insert"].click()
        await until(lambda: bool(presence.composer.chips.attached))
        assert [one.path for one in presence.composer.chips.attached] == [str(file)]

    drive(person())
    assert copy.read_bytes() == drawn.data
    assert agent.performed == [
        ("set_wallpaper", {"path": "pictures/sun.png"}),
        ("generate_image", {"prompt": "a sun over hills", "size": "landscape"}),
    ]


def _draws(_seen: Seen) -> Status:
    coded = base64.b64encode(picture("blue").data).decode()
    return Status(200, body=json.dumps({"created": 1, "data": [{"b64_json": coded}]}))


def _scripted(folder: Path, replies: list[dict[str, Any]]) -> Settings:
    """Return the settings of an assistant whose model gives these replies, and which works in a new folder."""
    folder.mkdir()
    script = folder.with_suffix(".json")
    script.write_text(json.dumps({"replies": replies}))
    values = {"model.provider": "scripted", "model.script": str(script), "trust.mode": "yolo"}
    return Settings({**values, "files.workspace": str(folder)}, {})


def _corner() -> tuple[int, ...]:
    with MSS(display=os.environ["DISPLAY"]) as screen:
        return screen.grab({"left": 2, "top": 2, "width": 1, "height": 1}).pixel(0, 0)


def test_the_buttons_of_a_drawn_picture_do_what_they_say(
    qapp: QApplication, presence: Presence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real assistant, a service that draws on loopback, and the picture behind a real screen's windows."""
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "")
    copy, folder = tmp_path / "copy.png", tmp_path / "work"
    call = '<generate_image prompt="a blue field" size="landscape"/>'
    settings = _scripted(folder, [{"text": call}, {"text": "There it is."}])

    async def person() -> None:
        assistant = assemble(settings)
        presence.attach(assistant)
        try:
            presence.open()
            await assistant.send("Draw a blue field.")
            presence.unfold()
            presence.panels.ask_where = lambda proposal: str(copy)
            await _press(presence, "save")
            await until(copy.exists)
            await _press(presence, "wallpaper")
            await until(lambda: "unhang" in views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) == (0, 0, 255)
            await _press(presence, "unhang")
            await until(lambda: "wallpaper" in views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) != (0, 0, 255)
            await _press(presence, "again")
            await until(lambda: len(views(presence)) == 2)
            assert len(list(folder.glob("images/*.png"))) == 2
            await _press(presence, "insert")
            await until(lambda: bool(presence.composer.chips.attached))
            await assistant.take_back(assistant.by_hand)
            assert len(list(folder.glob("images/*.png"))) == 1
        finally:
            presence.detach()
            await assistant.close()

    with OpenAIServer(extra=_draws) as server:
        store.save(IMAGES_URL, server.url)
        eventloop.run_until(qapp, _story(person()))
    assert copy.read_bytes() == picture("blue").data
    assert [seen.body["prompt"] for seen in (*server.requests, *server.others) if "images" in seen.path] == [
        "a blue field"
    ] * 2


@pytest.mark.long
def test_a_drawing_in_svg_grows_with_no_service_and_its_buttons_do_what_they_say(
    qapp: QApplication, presence: Presence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "")
    copy, folder = tmp_path / "copy.svg", tmp_path / "work"
    begun = (
        '<create_svg name="Sea"><![CDATA[<svg viewBox="0 0 80 60"><script/><rect width="80" height="60" fill="blue"/>'
    )
    steps = [
        [begun, "<desc>", "The sea. " * 80, {"pause_s": 3600}],
        [f"{begun}</svg>]]></create_svg>"],
        ["There it is."],
    ]
    settings = _scripted(folder, [{"steps": reply} for reply in steps])

    async def person() -> None:
        assistant = assemble(settings)
        presence.attach(assistant)
        try:
            presence.open()
            turn = asyncio.ensure_future(assistant.send("Draw the sea."))
            await until(lambda: _shown(presence) == [QColor("blue")])
            assert list(folder.rglob("*.svg")) == []
            assistant.stop()
            await turn
            await assistant.send("Go on.")
            presence.panels.ask_where = lambda proposal: str(copy)
            await _press(presence, "save")
            await until(copy.exists)
            QGuiApplication.clipboard().clear()
            await _press(presence, "copy")
            await until(lambda: QGuiApplication.clipboard().image().width() == 1024)
            assert QGuiApplication.clipboard().image().pixelColor(5, 5) == QColor("blue")
            await _press(presence, "wallpaper")
            await until(lambda: "unhang" in views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) == (0, 0, 255)
            await _press(presence, "unhang")
            await until(lambda: "wallpaper" in views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) != (0, 0, 255)
            await _press(presence, "insert")
            await until(lambda: [one.path for one in presence.composer.chips.attached] == [f"{folder}/images/sea.svg"])
        finally:
            presence.detach()
            await assistant.close()

    eventloop.run_until(qapp, _story(person()))
    assert copy.read_bytes() == (folder / "images" / "sea.svg").read_bytes()
    assert b"script" not in copy.read_bytes()


async def _story(person: Coroutine[Any, Any, None]) -> int:
    await within(person)
    return 0


def test_a_wallpaper_is_taken_back_by_one_press_where_it_was_hung_up(
    presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    drawn, file = picture("teal"), tmp_path / "sun.png"
    file.write_bytes(drawn.data)
    payload: dict[str, object] = {"path": "pictures/sun.png", "file": str(file), "title": "a sun"}

    async def person() -> None:
        show(presence, call(1, "create_svg", payload, (drawn,)))
        await until(lambda: bool(views(presence)))
        [view] = views(presence)
        view.buttons["wallpaper"].click()
        await until(lambda: "unhang" in view.buttons)
        assert "wallpaper" not in view.buttons
        view.buttons["unhang"].click()
        await until(lambda: "wallpaper" in view.buttons)

    drive(person())
    assert agent.performed == [("set_wallpaper", {"path": "pictures/sun.png"}), ("set_wallpaper", {"restore": True})]


@pytest.mark.skipif(sys.platform == "win32", reason="only administrators make links there")
def test_what_a_command_put_in_a_pictures_place_is_neither_saved_copied_nor_inserted(
    presence: Presence, drive: Drive, tmp_path: Path
) -> None:
    secret, file, copy = tmp_path / "secret.png", tmp_path / "sun.png", tmp_path / "copy.png"
    secret.write_bytes(picture("red").data)
    file.symlink_to(secret)
    payload: dict[str, object] = {"path": "sun.png", "file": str(file), "title": "sun"}

    async def person() -> None:
        show(presence, call(1, "create_svg", payload, (picture("teal"),)))
        await until(lambda: bool(views(presence)))
        [view] = views(presence)
        presence.panels.ask_where = lambda proposal: str(copy)
        for number, button in enumerate(("save", "copy", "insert"), 1):
            view.buttons[button].click()
            await until(lambda number=number: _told(presence).count("no longer where it was made") >= number)  # type: ignore[misc]

    QGuiApplication.clipboard().clear()
    drive(person())
    assert not copy.exists()
    assert QGuiApplication.clipboard().image().isNull()
    assert not presence.composer.chips.attached


def test_a_drawing_grows_on_its_card_while_it_is_written_and_ends_as_its_result(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    done = call(1, "create_svg", {"path": "sun.svg", "file": "/sun.svg", "title": "sun"}, (picture("teal"),))[-1]
    agent.offers[Drafts] = drawer = Drawer()

    def write(text: str) -> None:
        presence.inbox.receive(agent_events.TagDelta("c1", "svg", text))

    async def person() -> None:
        show(presence, [agent_events.TagStart("c1", "create_svg", {"name": "sun"})])
        write("<svg><rect/>")
        drawer.drawn.put_nowait(picture("red"))
        await until(lambda: _shown(presence) == [QColor("red")])
        write("<circ")
        drawer.drawn.put_nowait(None)
        await until(lambda: len(drawer.texts) == 2 and drawer.drawn.empty())
        assert _shown(presence) == [QColor("red")], "what cannot be drawn yet leaves the picture as it is"
        write("le/></svg>")
        await until(lambda: len(drawer.texts) == 3)
        show(presence, [done])
        drawer.drawn.put_nowait(picture("red"))  # too late
        await until(lambda: drawer.drawn.empty() and _shown(presence) == [QColor("teal")])
        [view] = views(presence)
        assert list(view.buttons) == ["insert", "save", "copy", "wallpaper"]

    drive(person())
    assert [card.picture and card.picture.data for card in cards(presence)] == [picture("teal").data]
    assert drawer.texts == ["<svg><rect/>", "<svg><rect/><circ", "<svg><rect/><circle/></svg>"]


def test_a_drawing_that_no_words_led_to_is_not_drawn_again(presence: Presence, drive: Drive, tmp_path: Path) -> None:
    payload: dict[str, object] = {"path": "sun.svg", "file": str(tmp_path / "sun.svg"), "title": "sun"}

    async def person() -> None:
        show(presence, call(1, "create_svg", payload, (picture("teal"),)))
        await until(lambda: bool(views(presence)))
        assert "again" not in views(presence)[0].buttons

    drive(person())
