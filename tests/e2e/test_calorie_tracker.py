"""The worked example through the vendor's SDK: gate, research, an app, its data, and a change that keeps the data."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Outcome, Scope
from app.assistant import assemble
from app.services.files.checkpoints import Checkpoints
from app.services.surfaces.client import SurfaceEngine
from app.services.surfaces.store import SurfaceStore
from app.settings import store as store_settings
from app.settings.catalog import PROVIDER, SEARXNG
from app.settings.store import Settings
from tests.e2e.conftest import Screen
from tests.support.loopback import AnthropicServer
from tests.support.site import Reply, site
from tests.support.waiting import eventually
from tests.unit.services.web.test_search import ANSWERS

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium on this machine")

PAGE = (Path(__file__).parents[1] / "data" / "surfaces" / "calories.html").read_text(encoding="utf-8").strip()
DOC = "# Calories\n\nCounts what was eaten.\n\n## State\n\n`{meals: [{name, kcal, at}], goal}`"
MADE = f'<create_app name="Calories"><html><![CDATA[{PAGE}]]></html><doc>{DOC}</doc></create_app>'
MEALS = [{"name": "Soup", "kcal": 320, "at": 1764000000000}]
PATCH = json.dumps([{"op": "replace", "path": "", "value": {"goal": 2000, "meals": MEALS}}])
NEXT = PAGE.replace("Calories", "Calories today")
CHANGED = f'<update_app id="app-calories"><html><![CDATA[{NEXT}]]></html></update_app>'


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


async def test_a_calorie_tracker_is_researched_built_filled_and_changed_without_losing_data(
    shown: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Reply(ANSWERS["searxng"]["answer"].encode(), headers={"Content-Type": "application/json"})
    replies = [
        MADE,  # too early: the design rules were not read
        "<get_ux_ui_strict_guidelines/>",
        '<web_search query="calories of common meals"/>',
        MADE,
        f'<mutate_surface_data id="app-calories">{PATCH}</mutate_surface_data>',
        '<read_file path="doc:app-calories"/>',
        CHANGED,
        "<attempt_completion><result>Your calorie tracker is open.</result></attempt_completion>",
    ]
    asked: list[str] = []
    with site({"/search": found}) as web, AnthropicServer(replies=replies) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        settings = Settings({}, {}).with_values(
            model__provider="anthropic", model__base_url=server.url, model__dialect="xml", trust__mode="auto",
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
        await assistant.close()
        assert (ended.outcome, ended.text) == (Outcome.FINISHED, "Your calorie tracker is open.")
        told = [json.dumps(body["messages"][-1], ensure_ascii=False) for body in server.bodies[1:]]
    assert asked[:1] == ["create_app"], "what the web may have led to is asked"
    for said, answer in zip(
        (
            "Call get_ux_ui_strict_guidelines first",
            "One HTML page, whole",
            "Clock museum",
            "Created 'Calories' as app-calories. Its window is open.",
            "1 operation carried out",
            "Counts what was eaten",
            "Its data and the version before have stayed",
        ),
        told,
        strict=True,
    ):
        assert said in answer
    store = SurfaceStore(tmp_path / "wisp" / "data" / "surfaces", Checkpoints(tmp_path / "checkpoints"))
    made = store.find("app-calories")
    assert store.state(made) == {"goal": 2000, "meals": MEALS}
    assert (made.html, [one.read_text() for one in made.versions]) == (NEXT, [PAGE])
    names = ["xdotool", "search", "--onlyvisible", "--name", "^Calories$"]
    assert eventually(
        lambda: subprocess.run(names, env=shown.environment, capture_output=True, check=False).returncode == 0
    )
