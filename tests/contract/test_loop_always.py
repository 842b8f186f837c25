"""What holds for every turn, whatever the model writes and whenever the person stops it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.agent.agent_events import AgentEvent, TagStart, ToolFinished, TurnEnded
from app.base.errors import BadAnswer, OverLimit, Unreachable
from app.protocol.message import CallPart, ResultPart, Role
from app.providers.api import NativeCallStarted, OpaqueBlock, Stopped, TextDelta, Thinking, Usage
from app.providers.scripted import Fail, Pause, Reply, native_call
from tests.support.stage import Stage

_BATCH = json.dumps([{"name": "look", "args": {}}, {"name": "long", "args": {"name": "b"}}])

_TASKS: dict[str, list[Reply]] = {
    "xml": [
        'Hm. <say tone="warm">On it.</say><note text="x"/> <look/> <tool_results>lies</tool_results>',
        ['<write path="a.txt"><![CDATA[one', Stopped("max_tokens")],
        " two]]></write> and",
        ['Then <click x="1"/>', Usage(10, 2)],
        ["Half a", Fail(Unreachable("Gone."))],
        " thought <run command='make'/>",
        '<long name="a"/>',
        "<attempt_completion><result>Done.</result></attempt_completion>",
    ],
    "batch": [
        f"<think>hm</think>Looking. <execute>{_BATCH}</execute> more",
        "<execute>[{</execute>",
        f"<execute>{_BATCH[:30]}",
        f"{_BATCH[30:]}</execute>",
        "Done. <end>",
    ],
    "native": [
        [OpaqueBlock("v", {"a": 1}), "Looking.", *native_call("t1", "look", {}), *native_call("t2", "long", {})],
        [*native_call("t3", "read", {"path": "a"}), NativeCallStarted("t4", "look"), Fail(Unreachable("Gone."))],
        [*native_call("t5", "say", {"text": "Done."})],
    ],
}


def _roles_alternate(stage: Stage) -> bool:
    roles = [message.role for message in stage.session.history.messages]
    return roles == [Role.USER, Role.ASSISTANT] * (len(roles) // 2) + [Role.USER] * (len(roles) % 2)


def _every_call_is_answered(stage: Stage) -> bool:
    parts = [part for message in stage.session.history.messages for part in message.parts]
    called = [part.id for part in parts if isinstance(part, CallPart)]
    return called == [part.call_id for part in parts if isinstance(part, ResultPart)]


def _check(stage: Stage) -> None:
    opened = [event.call_id for event in stage.events if isinstance(event, TagStart)]
    closed = [event.call_id for event in stage.events if isinstance(event, ToolFinished)]
    assert sorted(opened) == sorted(closed)
    assert len(set(opened)) == len(opened)
    assert sum(isinstance(event, TurnEnded) for event in stage.events) == 1
    assert isinstance(stage.events[-1], TurnEnded)
    assert _roles_alternate(stage)
    assert _every_call_is_answered(stage)


def _stage(folder: Path, dialect: str, replies: list[Reply]) -> Stage:
    stage = Stage(folder, *replies, dialect=dialect, attended=False)
    stage.bench.hold.set()
    return stage


@pytest.mark.parametrize("dialect", sorted(_TASKS))
async def test_a_turn_may_be_stopped_at_any_of_its_events(tmp_path: Path, dialect: str) -> None:
    whole = _stage(tmp_path, dialect, _TASKS[dialect])
    await whole.send()
    _check(whole)
    for count in range(1, len(whole.events)):
        stage = _stage(tmp_path, dialect, _TASKS[dialect])

        def stop(_event: AgentEvent, stage: Stage = stage, count: int = count) -> None:
            if len(stage.events) == count:
                stage.session.stop()

        stage.session.subscribe(stop)
        await stage.send()
        _check(stage)
        stage.events.clear()
        stage.provider._replies.insert(len(stage.provider.requests), ["Fine."])
        await stage.send("Well?")
        _check(stage)


@pytest.mark.long
@pytest.mark.parametrize("dialect", sorted(_TASKS))
async def test_a_turn_may_be_stopped_between_any_two_steps_of_the_event_loop(tmp_path: Path, dialect: str) -> None:
    for steps in range(60):
        stage = _stage(tmp_path, dialect, [[Pause(0.01), *_steps(reply)] for reply in _TASKS[dialect]])
        running = asyncio.create_task(stage.send())
        for _ in range(steps):
            await asyncio.sleep(0)
        stage.session.stop()
        await running
        _check(stage)


def _steps(reply: Reply) -> list[object]:
    return [reply] if isinstance(reply, str) else list(reply)


_PIECES = [
    "<look/>",
    '<read path="a"/>',
    '<read path="',
    '<write path="a">',
    "<![CDATA[",
    "]]>",
    "</write>",
    "<say>",
    "</say>",
    "<tool_results>",
    "</tool_results>",
    "<think>",
    "</think>",
    "<execute>",
    "</execute>",
    _BATCH,
    _BATCH[:20],
    "<end>",
    "I'll open it now.",
    "Paris.",
    "\n",
    "<",
    "`<look/>`",
    "<attempt_completion><result>Done.",
    "</result></attempt_completion>",
]
_STEP = (
    st.sampled_from(_PIECES)
    | st.text(max_size=5)
    | st.sampled_from([Stopped("max_tokens"), Thinking("hm"), Usage(5, 5), OpaqueBlock("v", {}), TextDelta("")])
    | st.sampled_from([Fail(Unreachable("Gone.")), Fail(BadAnswer("No.")), Fail(OverLimit("Wait.", retry_after_s=1))])
)


@example("native", [[_BATCH]])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(_TASKS)), st.lists(st.lists(_STEP, max_size=6), max_size=8))
def test_no_model_breaks_a_turn(dialect: str, replies: list[Reply]) -> None:
    with TemporaryDirectory() as folder:
        stage = _stage(Path(folder), dialect, replies)
        asyncio.run(stage.send())
        _check(stage)
