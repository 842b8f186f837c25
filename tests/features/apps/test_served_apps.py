"""What a page of a tool server gets from Wisp, and what it does not get."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.agent.served_pages import ServedPage
from app.base.errors import ToolMisuse
from app.features.apps.client import ServedApps, SurfaceEngine
from app.features.apps.served_apps import make_own, served
from app.features.apps.store import Surface
from app.services.files.changes import ChangeOrigin
from tests.features.apps.test_bridge import Room

RESULT = {"content": [{"type": "text", "text": "12:00"}], "structuredContent": {"time": "12:00"}}


class Hosted(Room):
    """A bridge with a page of a server beside the surface that a model wrote."""

    page: Surface

    async def host(self, app: ServedPage, page: str = "<html>clock</html>") -> str:
        apps = ServedApps(self.store, SurfaceEngine(self.store.folder, is_dry=True))
        said, _ = await apps.show(app, partial(asyncio.sleep, 0, page), ChangeOrigin("t1"))
        self.page = next(one for one in self.store.all() if served(one))
        return said

    async def asks(self, method: str, **given: Any) -> Any:
        return await self.bridge.call(self.page, method, given)


@pytest.fixture
async def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    hosted = Hosted(tmp_path)
    await hosted.host(ServedPage("clock", "get-time", {"zone": "utc"}, RESULT, "clock", "mark"))
    return hosted


async def test_a_page_is_greeted_with_the_theme_and_then_told_of_its_call(room: Hosted) -> None:
    hello = await room.asks("ui/initialize", protocolVersion="2026-01-26")
    assert (hello["protocolVersion"], hello["hostInfo"]["name"]) == ("2026-01-26", "Wisp")
    assert set(hello["hostCapabilities"]) == {"openLinks", "serverTools", "logging", "message"}
    about = hello["hostContext"]
    assert (about["theme"], about["displayMode"], about["toolInfo"]["tool"]["name"]) == ("light", "inline", "get-time")
    assert about["styles"]["variables"]["--color-background-primary"].startswith("#")
    assert await room.asks("ui/notifications/initialized") == [
        {"method": "ui/notifications/tool-input", "params": {"arguments": {"zone": "utc"}}},
        {"method": "ui/notifications/tool-result", "params": RESULT},
    ]
    assert await room.asks("ui/notifications/size-changed", width=512.4, height="x") is True
    assert room.changed == [(room.page.id, (512, 0))]


async def test_a_tool_call_is_a_wish_about_the_pages_own_server_whatever_the_page_says(room: Hosted) -> None:
    calling = asyncio.ensure_future(room.asks("tools/call", name="add", arguments={"a": 1}, server="mail"))
    [wish] = await room.bridge.wishes()
    assert (wish.kind, wish.surface) == ("tools/call", room.page.id)
    place = {"server": "clock", "pin": "clock", "mark": "mark"}
    assert wish.arguments == {**place, "tool": "add", "arguments": {"a": 1}}
    room.bridge.answer(wish.number, {"content": []}, "")
    assert await calling == {"content": []}


@pytest.mark.parametrize(
    "content", [{"type": "text", "text": "Buy\nmilk."}, [{"type": "text", "text": "Buy"}, {"text": "milk."}]]
)
async def test_a_message_of_a_page_is_a_wish_in_its_words(room: Hosted, content: Any) -> None:
    sending = asyncio.ensure_future(room.asks("ui/message", role="user", content=content))
    [wish] = await room.bridge.wishes()
    assert (wish.kind, wish.arguments) == ("ui/message", {"text": "Buy\nmilk."})
    room.bridge.answer(wish.number, {}, "")
    assert await sending == {}


async def test_what_a_page_would_put_before_the_model_is_refused_with_the_way_that_there_is(room: Hosted) -> None:
    with pytest.raises(ToolMisuse, match="ui/message"):
        await room.asks("ui/update-model-context", content=[{"type": "text", "text": "x"}])
    with pytest.raises(ToolMisuse, match="text"):
        await room.asks("ui/message", role="user", content=[{"type": "image", "data": ""}])


@pytest.mark.parametrize("name", ["getState", "setState", "askAI", "launchApp", "notify", "resources/read"])
async def test_a_page_of_a_server_has_nothing_of_the_bridge_of_surfaces(room: Hosted, name: str) -> None:
    with pytest.raises(ToolMisuse, match="The bridge has no"):
        await room.asks(name)


@pytest.mark.parametrize("name", ["tools/call", "ui/open-link", "ui/initialize"])
async def test_a_surface_that_a_model_wrote_has_no_server(room: Hosted, name: str) -> None:
    with pytest.raises(ToolMisuse, match="The bridge has no"):
        await room.bridge.call(room.surface, name, {"name": "get-time", "url": "https://example.com/"})


async def test_the_page_of_a_tool_is_kept_once_and_comes_anew_with_each_result(room: Hosted) -> None:
    first = room.page
    await room.host(ServedPage("clock", "get-time", {}, {"content": []}, "clock", "mark"), "<html>new</html>")
    assert (room.page.id, room.page.html) == (first.id, "<html>new</html>")
    told = served(room.page)
    assert told and told.result == {"content": []}
    assert len([one for one in room.store.all() if served(one)]) == 1


async def test_a_page_that_is_none_is_not_shown_and_the_tools_result_stays(room: Hosted) -> None:
    assert "empty" in await room.host(ServedPage("clock", "x", {}, {}), " ")
    assert "too large" in await room.host(ServedPage("clock", "x", {}, {}), "x" * 3_000_001)
    await room.host(ServedPage("clock", "get-time", {}, {"content": [{"text": "x" * 1_100_000}]}, "clock", "mark"))
    told = served(room.page)
    assert told and told.result["isError"]


async def test_a_server_of_the_same_name_elsewhere_leaves_the_page_of_the_first_alone(room: Hosted) -> None:
    await room.host(
        ServedPage("clock", "get-time", {}, RESULT, "clock of /a/.mcp.json", "other"), "<html>theirs</html>"
    )
    kept = {found.pin: one.html for one in room.store.all() if (found := served(one))}
    assert kept == {"clock": "<html>clock</html>", "clock of /a/.mcp.json": "<html>theirs</html>"}


async def test_a_page_that_a_model_wrote_anew_is_no_longer_the_servers(room: Hosted) -> None:
    make_own(room.store, room.page, ChangeOrigin("t2", "update_app"))
    with pytest.raises(ToolMisuse, match="The bridge has no"):
        await room.asks("tools/call", name="add")
