"""A published MCP App on a real desktop: unchanged, with its server's answers, and with nothing that was not allowed.

The page is `dist/mcp-app.html` of `@modelcontextprotocol/server-basic-vanillajs` 2.0.3 (MIT License,
https://github.com/modelcontextprotocol/ext-apps).
"""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from app.agent.agent_events import Scope
from app.agent.policy import Mode
from app.base.clock import SystemClock
from app.base.geometry import Rect
from app.desktop.backends import Frame
from app.desktop.ocr.rapid import RapidOcr
from app.desktop.x11.virtual import VirtualDesktop
from app.features.apps.client import ServedApps, SurfaceEngine
from app.features.apps.store import SurfaceStore, standard_folder
from app.features.mcp.configuration import ServerEntry
from app.features.mcp.tools import MCP, McpTools
from app.protocol.call import Block
from app.services.files.checkpoints import Checkpoints
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Registry, TurnContext, admitted
from tests.support.answering import AnsweringRoom, answering_room
from tests.support.mcp_world import World
from tests.support.waiting import eventually, until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium on this machine"),
]

PAGE = Path(__file__).parents[1] / "data" / "surfaces" / "published-mcp-app.html"
ADDRESS = "ui://get-time/mcp-app.html"


class Desk:
    """A private desktop, a tool server with the published page, and somebody who answers for the surfaces."""

    def __init__(self, world: World, entry: ServerEntry, engine: SurfaceEngine, desktop: VirtualDesktop) -> None:
        self.world = world
        self.entry = entry
        self.engine = engine
        self.room: AnsweringRoom
        self._desktop = desktop

    async def use(self) -> str:
        """Use the server's tool as a model does. Returns what the model reads."""
        store = SurfaceStore(standard_folder(), Checkpoints(self.world.data / "checkpoints"))
        tools = McpTools(self.world.servers, lambda: ServedApps(store, self.engine))
        executor = Executor(Registry(MCP), [tools], SystemClock(), seed=1)
        call = Block("c", "use_mcp_tool", args={"server_name": self.entry.name, "tool_name": "get-time"})
        done = await executor.run(call, WrittenByThePerson(), TurnContext(admitted, turn_id="t1"))
        assert done.result.ok, done.result.llm_echo
        return done.result.llm_echo

    def press(self, keys: str) -> None:
        command = f"xdotool search --onlyvisible --name get-time windowfocus %1; xdotool key --delay 80 {keys}"
        subprocess.run(command, shell=True, env=self._desktop.environment, check=False)

    def calls(self) -> int:
        file = self.world.workspace / "calls"
        return file.read_text().count("get-time") if file.exists() else 0

    async def shows(self, text: str) -> None:
        """Go on once this is written in the window."""
        for _ in range(20):
            if text in (shown := await self._text()):
                return
        raise AssertionError(shown)

    async def _text(self) -> str:
        """What is written in the window, without blanks."""
        [surface] = standard_folder().glob("app-*")
        taken = await self.engine.look(surface.name)
        assert taken
        picture = Image.open(io.BytesIO(taken[0])).convert("RGBA")
        ocr = RapidOcr()
        frame = Frame(Rect(0, 0, *picture.size), picture.tobytes("raw", "BGRA"))
        found = await ocr.read_text(frame)
        await ocr.close()
        return "".join(line.text for line in found).replace(" ", "")


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    world = World(tmp_path)
    shutil.copy(PAGE, world.workspace / "page.html")
    result = {
        "content": [{"type": "text", "text": "2031-05-06T07:08"}],
        "structuredContent": {"time": "2031-05-06T07:08"},
    }
    told = {
        "tools": [{"name": "get-time", "_meta": {"ui": {"resourceUri": ADDRESS}}}],
        "calls": {"get-time": [{"answer": result}]},
        "pages": {ADDRESS: "page.html"},
        "count": "calls",
    }
    entry = world.entry(told, name="clock")
    own = {"HOME": str(tmp_path / "home"), "WISP_DATA_DIR": str(tmp_path / "wisp")}
    with VirtualDesktop(1280, 800) as desktop:
        engine = SurfaceEngine(standard_folder(), environment={**desktop.environment, **own})
        made = Desk(world, entry, engine, desktop)
        with answering_room(tmp_path, mode=Mode.AUTO, engine=engine, servers=world.servers) as room:
            made.room = room
            answers = room.answers
            answers.begin()
            yield made
            await answers.close()
        await engine.stop()
        assert eventually(lambda: not engine.is_running)
    await world.servers.close()


async def test_a_published_app_shows_its_result_and_calls_its_own_tool_after_a_question(desk: Desk) -> None:
    desk.room.allows(Scope.TASK)
    said = await desk.use()
    assert "2031-05-06T07:08" in said
    assert "The server's own page shows this to the person, as app-get-time-of-clock. Its window is open." in said
    await desk.shows("2031-05-06")
    assert desk.calls() == 1
    desk.press("Tab Return")
    await until(lambda: desk.calls() == 2)
    [asked] = desk.room.asked
    assert "get-time" in asked.sentence
    assert "clock" in asked.sentence
    desk.press("Return")
    await until(lambda: desk.calls() == 3)
    assert len(desk.room.asked) == 1, "the person allowed this tool of this page for as long as Wisp is open"
    desk.press("Tab Tab Return")  # its field with a message, and the button that sends it
    await until(lambda: bool(desk.room.passed_on))
    [(name, text)] = desk.room.passed_on
    assert (name, desk.room.asked[1].detail) == ("get-time of clock", f"text: {text}")


async def test_a_call_and_a_link_that_the_person_denies_do_nothing(desk: Desk) -> None:
    desk.room.denies()
    await desk.use()
    await desk.shows("2031-05-06")
    desk.press("Tab Return")
    await until(lambda: len(desk.room.asked) == 1)
    desk.press("Tab Tab Tab Tab Tab Tab Return")
    await until(lambda: len(desk.room.asked) == 2)
    assert "modelcontextprotocol.io" in desk.room.asked[1].sentence
    assert desk.calls() == 1
    assert [kind for kind in desk.room.audited if kind != "refused"] == []
