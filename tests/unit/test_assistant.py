"""An assistant as it is put together from settings."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from app.agent.agent_events import AgentEvent, TagStart, ToolFinished, ToolRunning
from app.assistant import assembled
from app.history import archive
from app.history.archive import read_journal
from app.protocol.call import Block
from app.services.journal.audit import newest
from app.services.journal.database import Database
from app.settings.store import Settings
from tests.support.loopback import OpenAIServer


@pytest.mark.parametrize(("model", "pictures"), [("gpt-oss:20b", 0), ("some-model", 1)])
async def test_looking_brings_a_picture_unless_the_model_takes_none(model: str, pictures: int) -> None:
    settings = Settings(
        {"model.provider": "openai", "model.id": model, "model.base_url": "http://127.0.0.1:11434/v1"}, {}
    )
    async with assembled(settings, without_screen=True) as assistant:
        result = await assistant.run(Block("c1", "screen_capture", args={}))
    assert (result.ok, len(result.llm_media)) == (True, pictures)


async def test_nobody_is_asked_in_yolo_mode() -> None:
    async with assembled(Settings({"trust.mode": "yolo"}, {}), without_screen=True) as assistant:
        question = Block("c1", "ask_followup_question", args={"question": "Which?"})
        assert "Nobody answers questions" in (await assistant.run(question)).llm_echo


async def test_what_a_turn_changed_is_taken_back_whole(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("before\n")
    async with assembled(Settings({"files.workspace": str(tmp_path)}, {}), without_screen=True) as assistant:
        for name in ("old.txt", "new.txt"):
            await assistant.run(Block("c1", "write_file", args={"path": name, "content": "after\n"}))
        told = await assistant.take_back(assistant.by_hand)
    assert sorted(told) == [f"Took back: {tmp_path / 'new.txt'}", f"Took back: {tmp_path / 'old.txt'}"]
    assert [(file.name, file.read_text()) for file in tmp_path.glob("*.txt")] == [("old.txt", "before\n")]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (5, ["Took back: {}/f4", "Took back: {}/f3", "Took back: {}/f2", "Took back: {}/f1", "Took back: {}/f0"]),
        (6, ["Took back: {0}/f5, {0}/f4, {0}/f3 and 3 more"]),
    ],
)
async def test_many_files_that_come_back_are_told_in_one_line(tmp_path: Path, count: int, told: list[str]) -> None:
    async with assembled(Settings({"files.workspace": str(tmp_path)}, {}), without_screen=True) as assistant:
        for number in range(count):
            await assistant.run(Block("c1", "write_file", args={"path": f"f{number}", "content": "x"}))
        assert await assistant.take_back(assistant.by_hand) == [line.format(tmp_path) for line in told]
    assert list(tmp_path.glob("f*")) == []


async def test_what_a_button_does_is_shown_like_a_call_and_can_be_taken_back(tmp_path: Path) -> None:
    shown: list[AgentEvent] = []
    async with assembled(Settings({"files.workspace": str(tmp_path)}, {}), without_screen=True) as assistant:
        assert await assistant.perform("write_file", {"path": "a.txt", "content": "x"}, shown.append)
        assert [type(event) for event in shown] == [TagStart, ToolRunning, ToolFinished]
        finished = shown[-1]
        assert isinstance(finished, ToolFinished)
        assert (finished.tool, finished.ok, finished.payload["path"]) == ("write_file", True, "a.txt")
        assert len({getattr(event, "call_id", "") for event in shown}) == 1
        assert (tmp_path / "a.txt").read_text() == "x"
        await assistant.take_back(assistant.by_hand)
    assert not (tmp_path / "a.txt").exists()


async def test_a_button_whose_call_fails_shows_the_failure_and_says_so(tmp_path: Path) -> None:
    shown: list[AgentEvent] = []
    async with assembled(Settings({"files.workspace": str(tmp_path)}, {}), without_screen=True) as assistant:
        assert not await assistant.perform("set_wallpaper", {"path": "missing.png"}, shown.append)
    finished = shown[-1]
    assert isinstance(finished, ToolFinished)
    assert (finished.ok, finished.event) == (False, "tool_error")
    assert finished.payload["reason"]


@pytest.mark.long
async def test_a_command_of_an_earlier_start_is_told(tmp_path: Path) -> None:
    async with assembled(Settings({}, {}), without_screen=True) as first:
        result = await first.run(
            Block("c1", "execute_command", args={"command": "sleep 60", "keep": True, "background": True})
        )
        run_id = str(result.payload["run_id"])
    async with assembled(Settings({}, {}), without_screen=True) as second:
        told = await second.from_before()
        await second.run(Block("c2", "stop_command", args={"run_id": run_id}))
        assert told == [f"A command of an earlier time still runs: sleep 60 ({run_id})"]
        assert await second.from_before() == []


def _audited() -> list[tuple[str, dict[str, object]]]:
    entries = [sealed.entry for sealed in read_journal(lambda db: newest(db, 20))]
    return [(entry.kind, json.loads(entry.details)) for entry in entries]


async def _audit_of(*blocks: Block, folder: Path) -> list[tuple[str, dict[str, object]]]:
    async with assembled(Settings({"files.workspace": str(folder)}, {}), without_screen=True) as assistant:
        for block in blocks:
            await assistant.run(block)
    return await asyncio.to_thread(_audited)


async def test_what_a_person_runs_by_hand_is_in_the_audit_with_who_allowed_it(tmp_path: Path) -> None:
    found = await _audit_of(Block("c1", "write_file", args={"path": "a", "content": "x"}), folder=tmp_path)
    assert [kind for kind, _ in found] == ["allowed", "file_written", "done"]
    assert found[0][1]["by"] == "the person who started wisp tool"


async def test_what_is_run_by_hand_changes_nothing_while_it_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "Database", partial(Database, busy_s=0.05, limit_s=0.1))
    write = Block("c1", "write_file", args={"path": "a", "content": "x"})
    async with assembled(Settings({"files.workspace": str(tmp_path)}, {}), without_screen=True) as assistant:
        await assistant.run(Block("c0", "make_folder", args={"path": ["b"]}))
        with closing(sqlite3.connect(archive.journal_path(), isolation_level=None)) as other:
            other.execute("begin immediate")
            assert not (await assistant.run(write)).ok
            assert (await assistant.run(Block("c2", "list_files", args={"path": "."}))).ok
        assert not (tmp_path / "a").exists()


async def test_an_act_of_a_dry_run_is_never_recorded_as_done(tmp_path: Path) -> None:
    acts = Block("c1", "computer_key", args={"keys": "a"}), Block("c2", "open_app", args={"name": "Calculator"})
    found = await _audit_of(*acts, folder=tmp_path)
    assert [(kind, details["tool"]) for kind, details in found] == [
        ("allowed", "computer_key"),
        ("dry_run", "computer_key"),
        ("allowed", "open_app"),
        ("dry_run", "open_app"),
    ]


async def test_an_act_that_fails_is_recorded_as_failed(tmp_path: Path) -> None:
    found = await _audit_of(Block("c1", "delete_file", args={"path": "nothing-here"}), folder=tmp_path)
    assert [kind for kind, _ in found] == ["allowed", "failed"]


async def test_a_model_that_reads_little_is_asked_in_few_words_and_sees_pictures_only_where_it_asks(
    tmp_path: Path,
) -> None:
    async with OpenAIServer(["Hello."] * 2) as server:
        for tokens in (0, 8192):
            settings = Settings(
                {
                    "model.provider": "openai",
                    "model.id": "llama3.2",
                    "model.base_url": server.url,
                    "model.dialect": "native",
                    "model.context_tokens": tokens,
                    "files.workspace": str(tmp_path),
                },
                {},
            )
            async with assembled(settings, without_screen=True) as assistant:
                await assistant.send("hello")
                reading = await assistant.run(Block("c1", "read_screen", args={}))
                looked = await assistant.run(Block("c2", "screen_capture", args={}))
                assert (reading.ok, len(looked.llm_media)) == (True, 1)
    usual, little = [len(json.dumps([body["messages"], body.get("tools", [])])) for body in server.bodies]
    assert little < 0.55 * usual
    assert (little + 4 * server.bodies[1]["max_tokens"]) / 4 < 0.7 * 8192
