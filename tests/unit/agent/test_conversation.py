"""What tools may change about the conversation they run in, and the checklist calls carry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.agent.agent_events import ToolProgress
from app.agent.deps import ConversationRequests
from app.agent.policy import Mode, Policy
from app.protocol.call import JsonValue
from app.protocol.message import user
from tests.unit.agent.stage import Stage


def _stage(folder: Path, *replies: Any, **parts: Any) -> tuple[Stage, ConversationRequests]:
    policy = Policy(folder)
    conversation = ConversationRequests(policy)
    return Stage(folder, *replies, policy=policy, conversation=conversation, **parts), conversation


async def test_a_conversation_that_is_handed_over_begins_with_its_summary(tmp_path: Path) -> None:
    stage, conversation = _stage(tmp_path, "<look/>", "Enough.", "Yes.")
    await conversation.hand_over("Two files are left.")
    await stage.send()
    assert len(stage.provider.requests[1].messages) == 3
    await stage.send("Go on.")
    (message,) = stage.provider.requests[2].messages
    assert [part.text for part in message.parts if hasattr(part, "text")] == [
        "[This conversation goes on from an earlier one. What matters of it:]\nTwo files are left.",
        "Go on.",
    ]


async def test_a_conversation_that_is_reset_begins_with_nothing(tmp_path: Path) -> None:
    stage, conversation = _stage(tmp_path, "Cleared.", "Hello.", "Still here.")
    await conversation.reset()
    await stage.send("Forget all this.")
    await stage.send("Hi.")
    await stage.send("Still there?")
    assert stage.provider.requests[1].messages == (user("Hi."),)
    assert len(stage.provider.requests[2].messages) == 3


async def test_a_new_name_is_in_the_prompt_of_the_next_turn(tmp_path: Path) -> None:
    stage, conversation = _stage(tmp_path, "Robin it is.", "Hi.")
    await conversation.rename("Robin")
    await stage.send("Be Robin.")
    await stage.send("Hello.")
    assert "You are Wisp," in stage.provider.requests[0].system
    assert "You are Robin," in stage.provider.requests[1].system


async def test_the_mode_is_the_persons_to_switch(tmp_path: Path) -> None:
    stage, conversation = _stage(tmp_path, '<click x="1"/>', "I would click.", '<run command="make"/>', "Built.")
    stage.session.switch_mode(Mode.PLAN)
    assert (conversation.is_planning(), conversation.is_yolo()) == (True, False)
    await stage.send()
    stage.session.switch_mode(Mode.YOLO)
    assert (conversation.is_planning(), conversation.is_yolo()) == (False, True)
    await stage.send()
    assert stage.bench.done == ["run make"]


async def test_the_checklist_of_a_call_that_worked_is_kept_and_shown(tmp_path: Path) -> None:
    kept: list[str] = []

    async def keep(progress: str) -> Mapping[str, JsonValue]:
        kept.append(progress)
        return {"total": 1}

    failing = '<click x="left" task_progress="- [x] wrong"/>'
    stage, _ = _stage(tmp_path, '<look task_progress="- [ ] one"/>', failing, "Done.", keep_progress=keep)
    await stage.send()
    assert kept == ["- [ ] one"]
    assert stage.of(ToolProgress) == [ToolProgress("c1", "task_progress", {"total": 1})]
