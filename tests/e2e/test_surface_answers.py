"""A surface in the real browser asks for each thing: it gets what is allowed, a refusal rejects, a flood is held."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Mode
from app.desktop.x11.virtual import VirtualDesktop
from app.features.apps.client import SurfaceEngine
from app.features.apps.store import APP, SurfaceStore, Written, standard_folder
from app.features.schedule import timer
from app.services.files.changes import ChangeOrigin
from app.services.files.checkpoints import Checkpoints
from tests.support.answering import PAGE, AnsweringRoom, answering_room
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="there is no Chromium on this machine")

ASKING = """<!doctype html><html lang="en"><head><title>Asking</title></head><body><script>
const came = {};
(async () => {
  const ways = { %s };
  for (const [name, way] of Object.entries(ways)) {
    try { came[name] = await way(); } catch (error) { came[name] = { refused: error.message }; }
  }
  for (let kept = false; !kept; await new Promise((done) => setTimeout(done, 300))) {
    try { kept = await wisp.setState({ came }); } catch { /* because a flood spends this call as well */ }
  }
})();
</script></body></html>"""


class Desk:
    """A private desktop on which one surface is shown, with somebody who answers."""

    def __init__(self, room: AnsweringRoom, store: SurfaceStore, engine: SurfaceEngine) -> None:
        self.room = room
        self._store = store
        self._engine = engine

    async def asks(self, **ways: str) -> dict[str, Any]:
        """Show a surface that tries each way in turn. Returns what each brought; `refused` is an error's words."""
        listed = ", ".join(f"{name}: async () => {code}" for name, code in ways.items())
        page = Written(ASKING % listed, "", None)
        surface = self._store.create(APP, "Asking", page, ChangeOrigin("t", "create_app"))
        answers = self.room.answers
        answers.begin()
        try:
            await self._engine.open(surface.id)
            await until(lambda: "came" in self._store.state(surface), limit_s=90)
        finally:
            await answers.close()
        came: dict[str, Any] = self._store.state(surface)["came"]
        return came


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(timer, "set_for", lambda _due: "")
    store = SurfaceStore(standard_folder(), Checkpoints(tmp_path / "checkpoints"))
    own = {"HOME": str(tmp_path / "home"), "WISP_DATA_DIR": str(tmp_path / "wisp")}
    with VirtualDesktop(1280, 800) as desktop:
        engine = SurfaceEngine(store.folder, environment={**desktop.environment, **own})
        replies = [json.dumps({"kcal": 400}), *["more"] * 40]
        with answering_room(tmp_path, *replies, mode=Mode.AUTO, engine=engine) as room:
            yield Desk(room, store, engine)
        asyncio.run(engine.stop())
        assert eventually(lambda: not engine.is_running)


async def test_each_thing_that_a_surface_asks_is_answered(desk: Desk) -> None:
    came = await desk.asks(
        ai="JSON.parse(await wisp.askAI('How many kcal has soup?', {system: 'JSON'})).kcal",
        hits="(await wisp.webSearch('clock museum')).map((hit) => hit.title)",
        page=f"(await wisp.webFetch('{PAGE}')).text",
        plan="(await wisp.cron('daily 9:00', 'Say what was eaten')).title",
    )
    assert came == {"ai": 400, "hits": ["Clock museum"], "page": "Open from ten to five.", "plan": "Asking"}
    assert [one.tool for one in desk.room.asked] == ["web_search", "web_fetch", "cron"]
    assert all(one.sentence.startswith("The app “Asking” asks for this.") for one in desk.room.asked)


async def test_a_refusal_rejects_with_a_sentence_and_nothing_is_reached(desk: Desk) -> None:
    desk.room.denies()
    came = await desk.asks(
        search="await wisp.webSearch('clock museum')",
        inner="await wisp.webFetch('http://127.0.0.1:8080/')",
        plan="await wisp.cron('daily 9:00', 'Say what was eaten')",
        acts="await wisp.execute_command('id')",
        approves="await new Promise((done) => { parent.postMessage({jsonrpc: '2.0', id: 999, "
        "method: 'wisp/answer', params: {number: 1}}, '*'); addEventListener('message', (event) => "
        "{ if (event.data.id === 999) done(event.data.error.message); }); })",
    )
    assert {name: said["refused"] for name, said in came.items() if isinstance(said, dict)} == {
        "search": "You did not allow that.",
        "inner": "127.0.0.1 is an address of this machine or of the local network; only public addresses can be "
        "reached.",
        "plan": "You did not allow that.",
        "acts": "wisp.execute_command is not a function",
    }
    assert came["approves"] == "The bridge has no answer."
    assert (desk.room.web.asked, desk.room.agenda.all()) == ([], [])


@pytest.mark.long
async def test_a_flood_spends_its_own_budget_and_asks_the_person_once(desk: Desk) -> None:
    desk.room.denies()
    many = "(await Promise.allSettled(Array.from({length: 300}, (_, n) => %s)))"
    many += ".filter((one) => one.status === '%s').length"
    came = await desk.asks(
        searched=many % ("wisp.webSearch('clock ' + n)", "fulfilled"),
        rest="await new Promise((done) => setTimeout(done, 1200))",
        answered=many % ("wisp.askAI('again ' + n)", "fulfilled"),
    )
    assert came["searched"] == 0
    assert 0 < came["answered"] <= 30
    assert len(desk.room.model.requests) == came["answered"]
    assert len(desk.room.asked) == 1
    assert desk.room.web.asked == []
