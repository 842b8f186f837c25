"""The cards of what Wisp made: what their buttons do, and which of them follow their windows."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from mss import MSS
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.agent import agent_events
from app.agent.agent_events import Media
from app.assistant import assemble
from app.settings import store
from app.settings.catalog import IMAGES_URL
from app.settings.store import Settings
from app.ui import eventloop
from app.ui.bubble.speech import NoticeRow
from app.ui.cards.card import CardRow
from app.ui.cards.made import MOST_LIVE, MadeView
from app.ui.cards.picture import PictureView
from app.ui.machine import Collection, CollectionEntry
from app.ui.presence import Presence
from app.ui.presenter.view import Card, NoticeItem, Use
from tests.support.loopback.openai import OpenAIServer
from tests.support.loopback.replies import Status
from tests.support.loopback.server import Seen
from tests.support.waiting import until, within
from tests.ui.conftest import Drive
from tests.ui.fake_agent import FakeAgent


class PinnedApps:
    """The collection of apps, which notes what the person does with them."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, str]] = []

    async def entries(self, _search: str) -> Sequence[CollectionEntry]:
        return []

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        self.acts.append((action, key))
        return action


@pytest.fixture
def apps() -> PinnedApps:
    return PinnedApps()


@pytest.fixture
def collections(apps: PinnedApps) -> dict[str, Collection]:
    return {"apps": apps}


def _picture(color: str) -> Media:
    image = QImage(80, 60, QImage.Format.Format_RGB32)
    image.fill(QColor(color))
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return Media(bytes(kept.data()), "image/png", 80, 60, color)


def _call(number: int, tool: str, payload: dict[str, object], media: tuple[Media, ...] = ()) -> list[object]:
    return [
        agent_events.TagStart(f"c{number}", tool, {"name": "x"}),
        agent_events.ToolFinished(f"c{number}", tool, True, tool, payload, media=media),  # type: ignore[arg-type]
    ]


def _views(presence: Presence) -> list[MadeView]:
    rows = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, CardRow)]
    return [view for row in rows for view in row.findChildren(MadeView)]


def _shown(presence: Presence) -> list[QColor]:
    """The colours of the pictures on the cards."""
    rows = [row for row in presence.bubble.thread_view.realised.values() if isinstance(row, CardRow)]
    pictures = [view for row in rows for view in row.findChildren(PictureView) if view.isVisible()]
    return [view.grab().toImage().pixelColor(30, 30) for view in pictures]


async def _press(presence: Presence, use: Use) -> None:
    """Click in the middle of a button of the first card, where nothing may cover it."""
    await until(lambda: bool(_views(presence)) and use in _views(presence)[0].buttons)
    button = _views(presence)[0].buttons[use]
    place = button.rect().center()
    await until(lambda: button.window().childAt(button.mapTo(button.window(), place)) is button)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=place)


def _told(presence: Presence) -> str:
    return "\n".join(item.sentence for item in presence.inbox.view.items if isinstance(item, NoticeItem))


def _show(presence: Presence, events: list[object]) -> None:
    for event in events:
        presence.inbox.receive(event)  # type: ignore[arg-type]
    presence.inbox.change(lambda view: view)
    presence.unfold()


def test_a_generated_picture_is_inserted_saved_copied_hung_up_and_drawn_again(
    presence: Presence, agent: FakeAgent, drive: Drive, tmp_path: Path
) -> None:
    drawn = _picture("teal")
    file, copy = tmp_path / "sun.png", tmp_path / "copy.png"
    file.write_bytes(drawn.data)
    payload: dict[str, object] = {
        **{"path": "pictures/sun.png", "file": str(file), "title": "a sun"},
        **{"prompt": "a sun over hills", "size": "landscape"},
    }

    async def person() -> None:
        _show(presence, _call(1, "generate_image", payload, (drawn,)))
        await until(lambda: bool(_views(presence)))
        [view] = _views(presence)
        assert list(view.buttons) == [Use.INSERT, Use.SAVE, Use.COPY, Use.WALLPAPER, Use.AGAIN]
        presence.panels.ask_where = lambda proposal: str(copy)
        view.buttons[Use.SAVE].click()
        await until(copy.exists)
        view.buttons[Use.COPY].click()
        await until(lambda: not QGuiApplication.clipboard().image().isNull())
        assert QGuiApplication.clipboard().image().pixelColor(5, 5) == QColor("teal")
        view.buttons[Use.WALLPAPER].click()
        await until(lambda: len(agent.performed) == 1)
        view.buttons[Use.AGAIN].click()
        await until(lambda: len(agent.performed) == 2)
        view.buttons[Use.INSERT].click()
        await until(lambda: bool(presence.composer.chips.attached))
        assert [one.path for one in presence.composer.chips.attached] == [str(file)]

    drive(person())
    assert copy.read_bytes() == drawn.data
    assert agent.performed == [
        ("set_wallpaper", {"path": "pictures/sun.png"}),
        ("generate_image", {"prompt": "a sun over hills", "size": "landscape"}),
    ]


def _draws(_seen: Seen) -> Status:
    coded = base64.b64encode(_picture("blue").data).decode()
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
            await _press(presence, Use.SAVE)
            await until(copy.exists)
            await _press(presence, Use.WALLPAPER)
            await until(lambda: Use.UNHANG in _views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) == (0, 0, 255)
            await _press(presence, Use.UNHANG)
            await until(lambda: Use.WALLPAPER in _views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) != (0, 0, 255)
            await _press(presence, Use.AGAIN)
            await until(lambda: len(_views(presence)) == 2)
            assert len(list(folder.glob("images/*.png"))) == 2
            await _press(presence, Use.INSERT)
            await until(lambda: bool(presence.composer.chips.attached))
            await assistant.take_back(assistant.by_hand)
            assert len(list(folder.glob("images/*.png"))) == 1
        finally:
            presence.detach()
            await assistant.close()

    with OpenAIServer(extra=_draws) as server:
        store.save(IMAGES_URL, server.url)
        eventloop.run_until(qapp, _story(person()))
    assert copy.read_bytes() == _picture("blue").data
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
            await _press(presence, Use.SAVE)
            await until(copy.exists)
            QGuiApplication.clipboard().clear()
            await _press(presence, Use.COPY)
            await until(lambda: QGuiApplication.clipboard().image().width() == 1024)
            assert QGuiApplication.clipboard().image().pixelColor(5, 5) == QColor("blue")
            await _press(presence, Use.WALLPAPER)
            await until(lambda: Use.UNHANG in _views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) == (0, 0, 255)
            await _press(presence, Use.UNHANG)
            await until(lambda: Use.WALLPAPER in _views(presence)[0].buttons)
            assert await asyncio.to_thread(_corner) != (0, 0, 255)
            await _press(presence, Use.INSERT)
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
    drawn, file = _picture("teal"), tmp_path / "sun.png"
    file.write_bytes(drawn.data)
    payload: dict[str, object] = {"path": "pictures/sun.png", "file": str(file), "title": "a sun"}

    async def person() -> None:
        _show(presence, _call(1, "create_svg", payload, (drawn,)))
        await until(lambda: bool(_views(presence)))
        [view] = _views(presence)
        view.buttons[Use.WALLPAPER].click()
        await until(lambda: Use.UNHANG in view.buttons)
        assert Use.WALLPAPER not in view.buttons
        view.buttons[Use.UNHANG].click()
        await until(lambda: Use.WALLPAPER in view.buttons)

    drive(person())
    assert agent.performed == [("set_wallpaper", {"path": "pictures/sun.png"}), ("set_wallpaper", {"restore": True})]


@pytest.mark.skipif(sys.platform == "win32", reason="only administrators make links there")
def test_what_a_command_put_in_a_pictures_place_is_neither_saved_copied_nor_inserted(
    presence: Presence, drive: Drive, tmp_path: Path
) -> None:
    secret, file, copy = tmp_path / "secret.png", tmp_path / "sun.png", tmp_path / "copy.png"
    secret.write_bytes(_picture("red").data)
    file.symlink_to(secret)
    payload: dict[str, object] = {"path": "sun.png", "file": str(file), "title": "sun"}

    async def person() -> None:
        _show(presence, _call(1, "create_svg", payload, (_picture("teal"),)))
        await until(lambda: bool(_views(presence)))
        [view] = _views(presence)
        presence.panels.ask_where = lambda proposal: str(copy)
        for number, use in enumerate((Use.SAVE, Use.COPY, Use.INSERT), 1):
            view.buttons[use].click()
            await until(lambda number=number: _told(presence).count("no longer where it was made") >= number)  # type: ignore[misc]

    QGuiApplication.clipboard().clear()
    drive(person())
    assert not copy.exists()
    assert QGuiApplication.clipboard().image().isNull()
    assert not presence.composer.chips.attached


def test_a_drawing_grows_on_its_card_while_it_is_written_and_ends_as_its_result(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    done = _call(1, "create_svg", {"path": "sun.svg", "file": "/sun.svg", "title": "sun"}, (_picture("teal"),))[-1]

    def write(text: str) -> None:
        presence.inbox.receive(agent_events.TagDelta("c1", "svg", text))

    async def person() -> None:
        _show(presence, [agent_events.TagStart("c1", "create_svg", {"name": "sun"})])
        write("<svg><rect/>")
        agent.drawn.put_nowait(_picture("red"))
        await until(lambda: _shown(presence) == [QColor("red")])
        write("<circ")
        agent.drawn.put_nowait(None)
        await until(lambda: len(agent.drafts) == 2 and agent.drawn.empty())
        assert _shown(presence) == [QColor("red")], "what cannot be drawn yet leaves the picture as it is"
        write("le/></svg>")
        await until(lambda: len(agent.drafts) == 3)
        _show(presence, [done])
        agent.drawn.put_nowait(_picture("red"))  # too late
        await until(lambda: agent.drawn.empty() and _shown(presence) == [QColor("teal")])
        [view] = _views(presence)
        assert list(view.buttons) == [Use.INSERT, Use.SAVE, Use.COPY, Use.WALLPAPER]

    drive(person())
    assert [card.picture and card.picture.data for card in _cards(presence)] == [_picture("teal").data]
    assert agent.drafts == ["<svg><rect/>", "<svg><rect/><circ", "<svg><rect/><circle/></svg>"]


def test_a_drawing_that_no_words_led_to_is_not_drawn_again(presence: Presence, drive: Drive, tmp_path: Path) -> None:
    payload: dict[str, object] = {"path": "sun.svg", "file": str(tmp_path / "sun.svg"), "title": "sun"}

    async def person() -> None:
        _show(presence, _call(1, "create_svg", payload, (_picture("teal"),)))
        await until(lambda: bool(_views(presence)))
        assert Use.AGAIN not in _views(presence)[0].buttons

    drive(person())


@pytest.mark.parametrize(
    ("tool", "about"),
    [("create_app", {"name": "Timer"}), ("use_mcp_tool", {"tool_name": "start", "server_name": "clock"})],
)
def test_the_card_of_an_app_follows_its_window_opens_it_and_pins_it(
    presence: Presence, agent: FakeAgent, apps: PinnedApps, drive: Drive, tool: str, about: dict[str, object]
) -> None:
    agent.windows["app-timer"] = _picture("red")

    async def person() -> None:
        _show(presence, _call(1, tool, {"id": "app-timer", **about}))
        await until(lambda: bool(_views(presence)) and _views(presence)[0].picture.isVisible())
        [view] = _views(presence)
        first = view.picture.grab().toImage().pixelColor(30, 30)
        agent.windows["app-timer"] = _picture("lime")
        await until(lambda: view.picture.grab().toImage().pixelColor(30, 30) != first)
        view.picture.press()
        await until(lambda: len(agent.performed) == 1)
        view.buttons[Use.PIN].click()
        await until(lambda: apps.acts == [("pin", "app-timer")])
        notices = presence.bubble.thread_view
        await until(lambda: any(isinstance(row, NoticeRow) for row in notices.realised.values()))
        agent.windows.clear()
        await until(lambda: any(card.made and card.made.is_closed for card in _cards(presence)))

    drive(person())
    assert agent.performed == [("launch_app", {"id": "app-timer"})]


def _cards(presence: Presence) -> list[Card]:
    return [item for item in presence.inbox.view.items if isinstance(item, Card) and item.made]


def _live(presence: Presence) -> list[str]:
    return [card.made.surface for card in _cards(presence) if card.made and card.made.is_live]


def test_five_cards_are_live_and_a_press_revives_an_older_one(
    presence: Presence, agent: FakeAgent, drive: Drive
) -> None:
    names = [f"app-{number}" for number in range(MOST_LIVE + 2)]
    agent.windows.update({name: _picture("red") for name in names})

    async def person() -> None:
        events = [one for at, name in enumerate(names) for one in _call(at, "launch_app", {"id": name, "name": name})]
        _show(presence, events)
        await until(lambda: _live(presence) == names[-MOST_LIVE:])
        presence.things.use(Use.REVIVE, _cards(presence)[0])
        await until(lambda: _live(presence) == [names[0], *names[-MOST_LIVE + 1 :]])
        presence.close()
        await until(lambda: not presence.is_open)
        agent.looked_at.clear()

    drive(person())
    assert agent.looked_at == [], "nothing is looked at while the bubble is closed"


@pytest.mark.parametrize("tool", ["create_app", "create_shortcut"])
def test_what_was_made_stays_in_sight_when_the_steps_fold(
    presence: Presence, agent: FakeAgent, drive: Drive, tool: str
) -> None:
    async def person() -> None:
        steps = [one for at in range(3) for one in _call(at, "list_surfaces", {})]
        made = _call(9, tool, {"id": "app-timer", "name": "Timer"})
        ended = agent_events.TurnEnded("t1", agent_events.Outcome.FINISHED, "It is open.")
        _show(presence, [*steps, *made, ended])
        await until(lambda: bool(_views(presence)))

    drive(person())
