"""What a surface may wish: its state, within a budget; what Wisp must answer waits for one that is there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.base.errors import ToolMisuse, WispError
from app.features.apps.bridge import ASKED, VERBS, Bridge, bounded
from app.features.apps.chromium import settings
from app.features.apps.store import APP, Surface, SurfaceStore, Written, standard_folder
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from tests.support.waiting import until


class Room:
    """A bridge with one surface. `opened` and `changed` are what it did outside the surface."""

    def __init__(self, folder: Path) -> None:
        self.store = SurfaceStore(standard_folder(), Checkpoints(folder / "checkpoints"))
        self.surface = self.make("Meals")
        self.opened: list[str] = []
        self.changed: list[tuple[str, Any]] = []
        self.bridge = Bridge(
            self.store, self._open, lambda surface, value: self.changed.append((surface, value)), self._resize
        )

    def make(self, name: str) -> Surface:
        return self.store.create(APP, name, Written("<html></html>", "", None), ChangeOrigin("t", "create_app"))

    async def call(self, name: str, **given: Any) -> Any:
        return await self.bridge.call(self.surface, name, given)

    async def _resize(self, surface_id: str, width: int, height: int) -> bool:
        self.changed.append((surface_id, (width, height)))
        return True

    async def _open(self, surface_id: str) -> None:
        self.opened.append(surface_id)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    return Room(tmp_path)


async def test_state_is_kept_and_other_windows_hear_of_it(room: Room) -> None:
    assert await room.call("getState") == {}
    assert await room.call("setState", value={"meals": [1]}) is True
    assert await room.call("getState") == {"meals": [1]}
    assert room.changed == [("app-meals", {"meals": [1]})]


async def test_another_surface_is_opened_by_its_id_and_nothing_else_is(room: Room) -> None:
    other = room.make("Timer")
    assert await room.call("launchApp", id="app-timer") == other.id
    for wrong in ("../../etc", "", "mousepad", "/usr/bin/xterm"):
        with pytest.raises(WispError):
            await room.call("launchApp", id=wrong)
    assert room.opened == [other.id]


@pytest.mark.parametrize(
    "name", ["readFile", "press", "type", "answer", "execute_command", "__class__", "", "getstate", "wishes"]
)
def test_there_is_no_wish_to_act_to_read_files_or_to_answer(name: str, room: Room) -> None:
    with pytest.raises(ToolMisuse, match="The bridge has no"):
        asyncio.run(room.call(name))
    assert name not in VERBS


@pytest.mark.long
@pytest.mark.parametrize("name", ASKED)
async def test_where_nobody_is_there_the_page_is_told_so(name: str, room: Room) -> None:
    with pytest.raises(ToolMisuse, match=f"Nobody is there to answer {name}"):
        await room.call(name, prompt="Hello")


async def test_an_open_wisp_answers_what_is_asked_with_the_surface_named(room: Room) -> None:
    heard = asyncio.ensure_future(room.bridge.wishes())
    await until(lambda: room.bridge.is_heard)
    asked = asyncio.ensure_future(room.call("askAI", prompt="How many?"))
    [wish] = await heard
    assert (wish.surface, wish.name, wish.kind, wish.arguments) == (
        "app-meals", "Meals", "askAI", {"prompt": "How many?"},
    )  # fmt: skip
    room.bridge.answer(wish.number, "400", "")
    assert await asked == "400"


async def test_what_is_asked_just_before_wisp_looks_is_answered(room: Room) -> None:
    asked = asyncio.ensure_future(room.call("askAI", prompt="How many?"))
    await asyncio.sleep(0)
    [wish] = await room.bridge.wishes()
    room.bridge.answer(wish.number, "400", "")
    assert await asked == "400"


async def test_a_refusal_reaches_the_page_as_its_sentence(room: Room) -> None:
    heard = asyncio.ensure_future(room.bridge.wishes())
    await until(lambda: room.bridge.is_heard)
    asked = asyncio.ensure_future(room.call("webFetch", url="http://10.0.0.1/"))
    [wish] = await heard
    room.bridge.answer(wish.number, None, "That is an inner address.")
    with pytest.raises(ToolMisuse, match="inner address"):
        await asked


@pytest.mark.long
@pytest.mark.parametrize("name", ["notify", "launchApp", *ASKED])
async def test_each_wish_has_a_budget_of_an_hour(name: str, room: Room) -> None:
    for _ in range(settings()["budget"][name]):
        with pytest.raises(WispError) as refused:
            await room.call(name, id="app-none")
        assert "in the last hour" not in str(refused.value)
    with pytest.raises(ToolMisuse, match=f"{name} was used .* in the last hour"):
        await room.call(name, id="app-none")


async def test_a_flood_is_refused_and_leaves_other_surfaces_alone(room: Room) -> None:
    answers = await asyncio.gather(*(room.call("getState") for _ in range(200)), return_exceptions=True)
    assert sum(answer == {} for answer in answers) <= settings()["budget"]["a_second"]
    assert await room.bridge.call(room.make("Other"), "getState", {}) == {}


@pytest.mark.parametrize("given", [None, [], "x", {"value": "x" * 1_100_000}, {"value": float("nan")}])
def test_arguments_are_plain_json_of_limited_size(given: Any) -> None:
    with pytest.raises(WispError):
        bounded(given)
