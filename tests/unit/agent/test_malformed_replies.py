"""Replies that are written wrongly: each ends in an act, in a repair, or in an honest end."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import Outcome
from app.agent.policy import Mode
from app.protocol.call import ToolCall, ToolResult
from app.providers.api import Thinking
from app.providers.scripted import Reply
from app.tools.computer import COMPUTER
from app.tools.conversation import SAY, Speech
from app.tools.edit import EDITS
from app.tools.executor import Executor
from app.tools.file import FILES
from app.tools.registry import Family, Registry, TurnContext
from app.tools.screen import SCREEN
from tests.support.stage import FakeClock, Stage

DATA = Path(__file__).parents[2] / "data" / "replies" / "malformed.toml"
REPLIES: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["reply"]
RIGHT = '<computer_click target="Save"/>'
DONE = "<attempt_completion><result>Saved.</result></attempt_completion>"


class Recorded:
    """Runs every tool by writing down its call."""

    def __init__(self) -> None:
        self.done: list[ToolCall] = []

    async def run(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(call)
        return ToolResult(True, call.name, {}, "Done.")


def _stage(folder: Path, *replies: Reply, dialect: str) -> tuple[Stage, Recorded]:
    recorded = Recorded()
    specs = [spec for family in (COMPUTER, SCREEN, FILES, EDITS) for spec in family.tools]
    real = Family(Recorded, tuple(replace(spec, execute=Recorded.run) for spec in specs))
    registry = Registry(SAY, real)
    executor = Executor(registry, [Speech(), recorded], FakeClock())
    stage = Stage(
        folder, *replies, dialect=dialect, registry=registry, executor=executor, attended=False, mode=Mode.YOLO
    )
    return stage, recorded


def _reply(entry: dict[str, Any]) -> Reply:
    if "pieces" in entry:
        return [Thinking(piece["think"]) for piece in entry["pieces"]]
    text: str = entry["text"]
    return text


def _how(entry: dict[str, Any], dialect: str) -> str:
    """Return what the model must be told: the given words, or the call that it meant as this dialect writes it."""
    given = entry.get("arguments", {"target": "Save"})
    if "told" in entry:
        return str(entry["told"])
    if dialect == "native":
        return f"computer_click with {json.dumps(given)}"
    attrs = "".join(f' {name}="{value}"' for name, value in given.items())
    return f"<computer_click{attrs}/>"


@pytest.mark.parametrize("dialect", ["xml", "native"])
@pytest.mark.parametrize("entry", REPLIES, ids=[entry["name"] for entry in REPLIES])
async def test_it_acts_or_is_told_how_or_ends_honestly(tmp_path: Path, entry: dict[str, Any], dialect: str) -> None:
    more = [DONE] if entry["ends"] == "act" else [RIGHT, DONE]
    stage, recorded = _stage(tmp_path, _reply(entry), *more, dialect=dialect)
    ended = await stage.send("Save the file.")
    done = [(call.name, dict(call.arguments)) for call in recorded.done]
    asked = len(stage.provider.requests)
    if entry["ends"] == "end":
        assert (done, asked) == ([], 1)
        assert ended.outcome in (Outcome.ANSWERED, Outcome.FAILED)
        return
    assert (done[0], asked) == (("computer_click", {"target": "Save"}), 1 + len(more))
    assert ended.outcome is Outcome.FINISHED
    if entry["ends"] == "repair":
        assert _how(entry, dialect) in stage.asked(1)


@pytest.mark.parametrize("dialect", ["xml", "native"])
@pytest.mark.parametrize("entry", REPLIES, ids=[entry["name"] for entry in REPLIES])
async def test_the_same_reply_again_and_again_ends_and_never_as_finished(
    tmp_path: Path, entry: dict[str, Any], dialect: str
) -> None:
    stage, _ = _stage(tmp_path, *[_reply(entry)] * 13, dialect=dialect)
    ended = await stage.send("Save the file.")
    assert ended.outcome is not Outcome.FINISHED
    assert len(stage.provider.requests) < 13
