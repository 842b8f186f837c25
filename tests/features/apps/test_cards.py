"""The cards of small apps: they follow the windows, and their buttons do what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from PySide6.QtGui import QColor

from app.agent.agent_events import Media
from app.features.apps import FEATURE
from app.features.apps.cards import LivePictures
from app.ui.bubble.speech import NoticeRow
from app.ui.cards.kinds import CardKind
from app.ui.machine import Collection, CollectionEntry
from app.ui.presence import Presence
from tests.support.presence import Drive
from tests.support.waiting import until
from tests.ui.fake_agent import FakeAgent
from tests.ui.shown_cards import call, cards, picture, show, views


class PinnedApps:
    """The collection of apps, which notes what the person does with them."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, str]] = []

    async def entries(self, _search: str) -> Sequence[CollectionEntry]:
        return []

    async def act(self, action: str, key: str, _words: str = "", /) -> str:
        self.acts.append((action, key))
        return action


class Windows:
    """The windows that are open, by the ids of their apps."""

    def __init__(self) -> None:
        self.open: dict[str, Media] = {}

    async def look(self, surface_id: str, /) -> tuple[bytes, int, int] | None:
        seen = self.open.get(surface_id)
        return (seen.data, seen.width, seen.height) if seen else None


@pytest.fixture
def kinds() -> Mapping[str, CardKind]:
    return FEATURE.cards()


@pytest.fixture
def apps() -> PinnedApps:
    return PinnedApps()


@pytest.fixture
def collections(apps: PinnedApps) -> dict[str, Collection]:
    return {"apps": apps}


@pytest.fixture
def windows(agent: FakeAgent) -> Windows:
    made = Windows()
    agent.offers[LivePictures] = made
    return made


@pytest.mark.parametrize(
    ("tool", "about"),
    [("create_app", {"name": "Timer"}), ("use_mcp_tool", {"tool_name": "start", "server_name": "clock"})],
)
def test_the_card_of_an_app_follows_its_window_opens_it_and_pins_it(
    presence: Presence,
    agent: FakeAgent,
    windows: Windows,
    apps: PinnedApps,
    drive: Drive,
    tool: str,
    about: dict[str, object],
) -> None:
    windows.open["app-timer"] = picture("red")

    async def person() -> None:
        show(presence, call(1, tool, {"id": "app-timer", **about}))
        await until(lambda: bool(views(presence)) and views(presence)[0].picture.isVisible())
        [view] = views(presence)
        first = view.picture.grab().toImage().pixelColor(30, 30)
        assert first == QColor("red")
        windows.open["app-timer"] = picture("lime")
        await until(lambda: view.picture.grab().toImage().pixelColor(30, 30) != first)
        view.picture.press()
        await until(lambda: len(agent.performed) == 1)
        view.buttons["pin"].click()
        await until(lambda: apps.acts == [("pin", "app-timer")])
        notices = presence.bubble.thread_view
        await until(lambda: any(isinstance(row, NoticeRow) for row in notices.realised.values()))
        windows.open.clear()
        await until(lambda: "Its window is closed" in _lines(presence))

    drive(person())
    assert agent.performed == [("launch_app", {"id": "app-timer"})]


def _lines(presence: Presence) -> list[str]:
    return [card.content.line.text for card in cards(presence) if card.content and card.content.line]


def test_an_older_app_says_how_it_follows_again(kinds: Mapping[str, CardKind]) -> None:
    shown = kinds["app"].shown({"id": "widget-clock"})
    assert shown is not None
    rested = kinds["app"].rested(shown)
    assert [list(one.buttons) for one in (shown, rested)] == [["open", "pin"], ["revive", "pin"]]
    assert (rested.is_live, rested.on_picture, rested.about) == (False, "revive", shown.about)
    assert kinds["app"].shown({}) is None
