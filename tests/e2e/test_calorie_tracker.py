"""The worked example through the vendor's SDK: gate, research, an app, its use, and a change that keeps the data."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.agent.agent_events import AgentEvent, ApprovalWanted, Outcome, Scope
from app.assembly import registry
from app.assistant import assemble
from app.features.apps.client import SurfaceEngine
from app.features.apps.store import SurfaceStore
from app.features.web.settings import SEARXNG
from app.protocol.call import ToolCall
from app.protocol.dialects.choose import by_name
from app.services.files.checkpoints import Checkpoints
from app.settings import store as store_settings
from app.settings.catalog import PROVIDER
from app.settings.store import Settings
from scripts.device import PersonsDevices
from tests.e2e.conftest import Screen
from tests.features.web.test_search import ANSWERS
from tests.support import loopback
from tests.support.loopback import AnthropicServer
from tests.support.site import Reply, site
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium on this machine")

PAGE = (Path(__file__).parents[1] / "data" / "surfaces" / "calories.html").read_text(encoding="utf-8").strip()
DOC = "# Calories\n\nCounts what was eaten.\n\n## State\n\n`{meals: [{name, kcal, at}], goal}`"
NEXT = PAGE.replace("Calories", "Calories today")
READS_RULES = ToolCall("", "get_ux_ui_strict_guidelines")
MAKES = ToolCall("", "create_app", {"name": "Calories", "html": PAGE, "doc": DOC})
FIRST = (
    MAKES,  # too early: the design rules were not read
    READS_RULES,
    ToolCall("", "web_search", {"query": "calories of common meals"}),
    MAKES,
    ToolCall("", "attempt_completion", {"result": "Your calorie tracker is open."}),
)
SECOND = (
    ToolCall("", "read_surface_data", {"id": "app-calories"}),
    ToolCall("", "read_file", {"path": "doc:app-calories"}),
    READS_RULES,
    ToolCall("", "update_app", {"id": "app-calories", "html": NEXT}),
    ToolCall("", "attempt_completion", {"result": "It says today now."}),
)
ANSWERED = (
    "Call get_ux_ui_strict_guidelines first",
    "One HTML page, whole",
    "Clock museum",
    "Created 'Calories' as app-calories. Its window is open.",
    "Soup",
    "Counts what was eaten",
    "One HTML page, whole",
    "Its data and the version before have stayed",
)
Box = tuple[float, float, float, float]
FORM_Y = (362, 419)
"""Where the page has its form while no meal is listed, and below one meal, in pixels."""
NAME_X, KCAL_X, ADD_X = 230, 595, 818
TODAY = (190, 20, 250, 60)
"""Where the second page has the last word of its heading, and the first page nothing."""
DARK = 160


class Eater:
    """A person at the window of the calorie tracker, with eyes, a mouse and a keyboard."""

    def __init__(self, screen: Screen, engine: SurfaceEngine, state: Callable[[], Any]) -> None:
        self._environment = screen.environment
        self._engine = engine
        self._devices = PersonsDevices(screen.environment)
        self._state = state

    async def sees(self, box: Box, limit_s: float = 60) -> bool:
        """Return whether something dark comes to stand in this part of the window."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not await self._is_dark(box):
                    pass
                return True
        return False

    async def eats(self, name: str, kcal: str) -> None:
        """Enter a meal below those that are listed. Go on once it is kept."""
        before = self.meals()
        y = FORM_Y[len(before)]
        assert await self.sees((ADD_X - 20, y - 10, ADD_X + 20, y + 10))
        for x, words in ((NAME_X, name), (KCAL_X, f"{kcal}\n")):
            ring = (x - 20, y - 28, x + 20, y - 22)  # around the field that has the keyboard
            for _ in range(10):  # because a click just after a page has appeared may get lost
                self._click(x, y)
                if await self.sees(ring, limit_s=6):
                    break
            self._devices.type(words)
        await until(lambda: self.meals() == [*before, (name, int(kcal))])

    async def _is_dark(self, box: Box) -> bool:
        if not (taken := await self._engine.look("app-calories")):
            return False
        shown = Image.open(io.BytesIO(taken[0])).convert("L").resize((900, 680))
        return any(shown.crop(box).histogram()[:DARK])

    def _click(self, x: int, y: int) -> None:
        found = ["xdotool", "search", "--onlyvisible", "--name", "^Calories —", "mousemove", "--window", "%1"]
        subprocess.run([*found, str(x), str(y)], env=self._environment, check=True)
        self._devices.click()

    def meals(self) -> list[tuple[str, int]]:
        return [(meal["name"], meal["kcal"]) for meal in self._state().get("meals", [])]

    def leave(self) -> None:
        self._devices.close()


@pytest.fixture
def shown(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    for name, value in screen.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    yield screen
    engine = SurfaceEngine(tmp_path / "wisp" / "data" / "surfaces")
    asyncio.run(engine.stop())
    assert eventually(lambda: not engine.is_running)


def _reply(dialect: str, number: int, call: ToolCall) -> str | loopback.Reply:
    if dialect == "native":
        return loopback.Reply.of(loopback.Call(call.name, call.arguments, f"toolu_{number:02}"), stop="tool_use")
    return by_name(dialect).write([call], registry().specs)


@pytest.mark.parametrize("dialect", ["xml", pytest.param("native", marks=pytest.mark.long)])
async def test_a_calorie_tracker_is_researched_built_used_and_changed_without_losing_what_was_entered(
    shown: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    found = Reply(ANSWERS["searxng"]["answer"].encode(), headers={"Content-Type": "application/json"})
    replies = [_reply(dialect, number, call) for number, call in enumerate((*FIRST, *SECOND))]
    asked: list[str] = []
    store = SurfaceStore(tmp_path / "wisp" / "data" / "surfaces", Checkpoints(tmp_path / "checkpoints"))
    with site({"/search": found}) as web, AnthropicServer(replies=replies) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        settings = Settings({}, {}).with_values(
            model__provider="anthropic", model__base_url=server.url, model__dialect=dialect, trust__mode="auto",
            files__workspace=str(shown.home),
        )  # fmt: skip
        for setting, value in ((SEARXNG, web.url), (PROVIDER, "anthropic")):
            store_settings.save(setting, value)
        assistant = assemble(settings)

        def answer(event: AgentEvent) -> None:
            """Allow what is asked, as the person at the presence does."""
            if isinstance(event, ApprovalWanted):
                asked.append(event.tool)
                asyncio.get_running_loop().call_soon(
                    lambda: assistant.answer(event.approval_id, allow=True, scope=Scope.TASK.value)
                )

        assistant.subscribe(answer)
        ended = await assistant.send("make me a calorie tracker", own="make me a calorie tracker")
        assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Your calorie tracker is open.")
        assert asked[:1] == ["create_app"], "what the web may have led to is asked"
        person = Eater(shown, SurfaceEngine(store.folder), lambda: store.state(store.find("app-calories")))
        await person.eats("Soup", "320")
        ended = await assistant.send("let it say today", own="let it say today")
        assert (ended.outcome, ended.text) == (Outcome.FINISHED, "It says today now.")
        assert person.meals() == [("Soup", 320)]
        assert await person.sees(TODAY)
        await person.eats("Apple", "80")
        person.leave()
        await assistant.close()
        told = [json.dumps(body["messages"][-1], ensure_ascii=False) for body in server.bodies]
    results = [text for number, text in enumerate(told) if number not in (0, len(FIRST))]  # without the person's words
    assert all(said in result for said, result in zip(ANSWERED, results, strict=True)), results
    made = store.find("app-calories")
    assert person.meals() == [("Soup", 320), ("Apple", 80)], "the new page went on from what was entered before"
    assert (made.html, [one.read_text() for one in made.versions]) == (NEXT, [PAGE])
