"""What tools may change about the conversation they run in, and the checklist calls carry."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, ToolProgress
from app.agent.deps import ConversationRequests
from app.agent.policy import Mode, Policy
from app.protocol.call import JsonValue
from app.protocol.message import user
from app.providers.profiles import profile_of
from app.services.tasks import Checklist
from app.services.themes import Appearance
from app.tools.conversation import SAY, TASKS, Speech, Tasks
from app.tools.exec import COMMANDS
from app.tools.executor import Executor
from app.tools.registry import Registry
from tests.support.stage import FakeClock, Stage


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
    policy = Policy(tmp_path, Mode.PLAN)
    conversation = ConversationRequests(policy)
    replies = ('<click x="1"/>', "I would click.", '<run command="make"/>', "Built.")
    stage = Stage(tmp_path, *replies, policy=policy, conversation=conversation)
    assert (conversation.is_planning(), conversation.is_yolo()) == (True, False)
    await stage.send()
    policy.switch(Mode.YOLO)
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


def _talking(folder: Path, *replies: Any, mode: Mode = Mode.ASK, **parts: Any) -> Stage:
    """A session with the tools of the conversation itself, and one command to be taught."""
    policy = Policy(folder, mode)
    conversation = ConversationRequests(policy)
    tools = Registry(SAY, TASKS, COMMANDS)
    executor = Executor(
        Registry(SAY, TASKS), [Speech(), Tasks(conversation, Checklist(folder / "list.md"), Appearance())], FakeClock()
    )
    return Stage(folder, *replies, registry=tools, executor=executor, policy=policy, conversation=conversation, **parts)


_PROPOSED = "<new_task><context>Two files are left.</context></new_task>"


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
@pytest.mark.parametrize("allows", [True, False])
async def test_a_fresh_conversation_is_proposed_and_the_person_decides(
    tmp_path: Path, *, allows: bool, mode: Mode
) -> None:
    stage = _talking(tmp_path, _PROPOSED, *([] if allows else ["I stay."]), "Here I am.", mode=mode)

    def decide(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            assert (event.tool, "only the summary" in event.sentence) == ("new_task", True)
            asyncio.get_running_loop().call_soon(lambda: stage.session.answer(event.approval_id, allow=allows))

    stage.session.subscribe(decide)
    await stage.send("Go on.")
    await stage.send("And now?")
    assert ("Two files are left." in str(stage.provider.requests[-1].messages[0])) is allows


async def test_where_nobody_can_decide_the_conversation_stays(tmp_path: Path) -> None:
    stage = _talking(tmp_path, _PROPOSED, "I go on here.", attended=False)
    ended = await stage.send("Go on.")
    assert ended.text == "I go on here."


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
@pytest.mark.parametrize(("model", "name"), [("gpt-5", "bash"), ("claude-sonnet-5-5", "execute_command")])
async def test_commands_are_taught_by_the_name_that_the_model_knows(
    tmp_path: Path, dialect: str, model: str, name: str
) -> None:
    stage = _talking(tmp_path, "Yes.", dialect=dialect, tool_names=profile_of(model).tool_names)
    await stage.send()
    (request,) = stage.provider.requests
    taught = request.system + json.dumps([dict(tool) for tool in request.tools])
    assert [one for one in ("bash", "execute_command") if re.search(rf"\b{one}\b", taught)] == [name]
    assert Registry(COMMANDS).find(name) == Registry(COMMANDS).find("execute_command")


@pytest.mark.parametrize("dialect", ["xml", "batch", "native"])
@pytest.mark.parametrize("is_on", [True, False])
async def test_the_checklist_is_taught_where_the_setting_is_on(tmp_path: Path, dialect: str, *, is_on: bool) -> None:
    stage = _talking(tmp_path, "Yes.", dialect=dialect, settings={"chat.focus_chain": is_on})
    await stage.send()
    (request,) = stage.provider.requests
    taught = request.system + json.dumps([dict(tool) for tool in request.tools])
    assert {word for word in ("task_progress", "focus_chain") if word in taught} == (
        {"task_progress", "focus_chain"} if is_on else set()
    )
