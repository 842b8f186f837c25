"""While another program acts on the desktop through Wisp, Wisp's own tasks only look; afterwards they act again."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.agent_events import ToolFinished
from app.assistant import assembled
from app.base import paths
from app.desktop.driving import Driving
from app.protocol.call import Block
from app.settings.store import Settings
from tests.e2e.conftest import Screen

_CLICK, _LOOK = Block("c1", "computer_move", {"x": "50", "y": "50"}), Block("c2", "list_windows", {})


@pytest.fixture
def client(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> Driving:
    for name, value in screen.environment.items():
        monkeypatch.setenv(name, value)
    return Driving(paths.display_socket("driving", of=""))


async def test_a_call_waits_for_no_other_program_and_says_who_acts(client: Driving) -> None:
    async with assembled(Settings()) as assistant:
        client.take("Claude Code", alone=True)
        refused = await assistant.run(_CLICK)
        assert not refused.ok
        assert "Claude Code" in refused.llm_echo
        assert (await assistant.run(_LOOK)).ok
        client.release()
        assert (await assistant.run(_CLICK)).ok
        client.take("Claude Code", alone=True)  # because nobody has it between two calls
        client.release()


async def test_a_task_gives_the_desktop_back_at_its_end(client: Driving, tmp_path: Path) -> None:
    replies = ('<computer_move x="50" y="50"/>', "<attempt_completion><result>ok</result></attempt_completion>")
    script = tmp_path / "script.toml"
    script.write_text("".join(f"[[replies]]\ntext = '''{reply}'''\n" for reply in replies))
    settings = Settings().with_values(model__provider="scripted", model__script=str(script), trust__mode="yolo")
    done = list[bool]()
    async with assembled(settings) as assistant:
        assistant.subscribe(lambda event: done.append(event.ok) if isinstance(event, ToolFinished) else None)
        await assistant.send("go")
        client.take("Claude Code", alone=True)
        client.release()
    assert done[0]
