"""Which mode counts is told when it changes, also when yolo ends by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.agent.agent_events import ModeChanged, Notice
from app.agent.policy import Mode, Policy
from app.agent.policy.policy import PolicyDeps
from tests.support.stage import Stage


async def test_yolo_is_told_with_its_time_and_its_end(tmp_path: Path) -> None:
    ended = asyncio.Event()
    policy = Policy(tmp_path, surroundings=PolicyDeps(yolo_s=0.5))
    stage = Stage(tmp_path, "Done.", policy=policy)
    stage.session.subscribe(lambda event: ended.set() if event == ModeChanged("ask") else None)
    policy.switch(Mode.YOLO)
    await stage.send()
    async with asyncio.timeout(10):
        await ended.wait()
    begun, over = stage.of(ModeChanged)
    assert isinstance(begun, ModeChanged)
    assert (begun.mode, 0 < begun.left_s <= 0.5) == ("yolo", True)
    assert over == ModeChanged("ask", 0.0)
    await stage.session.close()


async def test_a_conversation_that_begins_in_yolo_says_so_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Done.", "Done.", mode=Mode.YOLO)
    await stage.send()
    await stage.send()
    assert [event.mode for event in stage.of(ModeChanged) if isinstance(event, ModeChanged)] == ["yolo"]
    await stage.session.close()


async def test_ask_is_nothing_to_tell(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "Done.")
    await stage.send()
    assert stage.of(ModeChanged) == []


async def test_rules_that_cannot_be_used_are_told_once(tmp_path: Path) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text('[[rule]]\nthen = "permit"\n')
    stage = Stage(tmp_path, "Done.", "Done.", policy=Policy(tmp_path, persons=rules))
    await stage.send()
    await stage.send()
    assert stage.of(Notice) == [
        Notice(
            "warning",
            f'{rules}:1: then must be "deny", "ask" or "allow", not \'permit\'. Until that is mended, everything but '
            "looking and talking asks first, and so does reading outside the workspace.",
        )
    ]
