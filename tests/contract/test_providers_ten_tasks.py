"""Ten tasks through every dialect and both vendors' SDKs: whoever speaks, and however, the same is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted, Outcome
from app.agent.policy import Mode
from app.protocol.call import ToolCall
from app.protocol.dialects.choose import NAMES, by_name
from tests.contract.providers import VENDORS, Vendor
from tests.support.loopback import Call, Drop, Fault, Reply, Status, Thought
from tests.support.sampling import sampled
from tests.support.stage import BROKEN, PICTURE, Stage

NASTY = 'a < b && "c" \\ </write> ]]> </content>\n<read path="x"/>\t日本 🙂\n'


@dataclass(frozen=True)
class Pass:
    """One model pass: what is thought and said, then what is called, each a name with arguments."""

    said: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    thought: str = ""


@dataclass(frozen=True)
class Broken:
    """A pass that fails after these words."""

    reply: Reply | Status


def calling(name: str, **args: Any) -> Pass:
    return Pass(calls=((name, args),))


@dataclass(frozen=True)
class Task:
    name: str
    passes: tuple[Pass | Broken, ...]
    done: list[str]
    answer: str = "Done."


TASKS = (
    Task("answers at once", (Pass("It is noon."),), [], "It is noon."),
    Task("reads and answers", (Pass("Reading.", (("read", {"path": "a"}),)), Pass("Done.")), ["read a"]),
    Task(
        "makes two calls that belong together",
        (Pass("Both.", (("read", {"path": "a"}), ("read", {"path": "b"}))), Pass("Done.")),
        ["read a", "read b"],
    ),
    Task(
        "writes text that looks like calls",
        (calling("write", path="x.txt", content=NASTY), Pass("Done.")),
        [f"write x.txt: {NASTY}"],
    ),
    Task(
        "looks and clicks",
        (calling("look"), calling("click", x=12), Pass("Done.")),
        ["look", "click 12", "clicked 12"],
    ),
    Task(
        "runs a command", (Pass("Running.", (("run", {"command": "ls -l 'a b'"}),)), Pass("Done.")), ["run ls -l 'a b'"]
    ),
    Task(
        "goes on after a failed call",
        (calling("read", path="a"), calling("read", path="b"), Pass("Done.")),
        ["read a", "read b"],
    ),
    Task(
        "waits for a crowded service",
        (
            Broken(Status(529)),
            calling("read", path="a"),
            Broken(Status(429, headers={"retry-after": "3"})),
            Pass("Done."),
        ),
        ["read a"],
    ),
    Task(
        "goes on after an error in the middle of the words",
        (
            Broken(Reply.of("Let me ", Fault())),
            Pass("read.", (("read", {"path": "a"}),)),
            Broken(Reply.of("Do", Drop())),
            Pass("ne."),
        ),
        ["read a"],
    ),
    Task(
        "thinks and acts",
        (Pass("Hm.", (("note", {"text": "n"}), ("read", {"path": "a"})), "I think."), Pass("Done.")),
        ["note n", "read a"],
    ),
)


def replies(task: Task, dialect: str) -> Iterator[Reply | Status]:
    """The task's passes as this dialect has a model write them."""
    for number, one in enumerate(task.passes):
        if isinstance(one, Broken):
            yield one.reply
        elif dialect == "native":
            yield _native(one, number)
        elif dialect == "batch":
            yield _written(one, dialect, one.calls)
        else:
            yield from _one_feedback_call_each(one)


def _native(one: Pass, number: int) -> Reply:
    calls = [Call(name, args, f"call_{number}_{place}") for place, (name, args) in enumerate(one.calls)]
    parts = [*([Thought(one.thought)] if one.thought else []), *([one.said] if one.said else []), *calls]
    return Reply.of(*parts, stop="tool_use" if calls else "end_turn")


def _written(one: Pass, dialect: str, calls: tuple[tuple[str, dict[str, Any]], ...]) -> Reply:
    specs = Stage(Path()).registry.specs
    text = by_name(dialect).write([ToolCall("", name, args) for name, args in calls], specs) if calls else ""
    return Reply.of(*([Thought(one.thought)] if one.thought else []), f"{one.said}\n{text}".strip("\n"))


def _one_feedback_call_each(one: Pass) -> Iterator[Reply]:
    """Inline XML is cut after the first call that feeds back: the next comes with the next reply."""
    specs = {spec.name: spec for spec in Stage(Path()).registry.specs}
    batch: list[tuple[str, dict[str, Any]]] = []
    for call in one.calls:
        batch.append(call)
        if specs[call[0]].feeds_back:
            yield _written(one, "xml", tuple(batch))
            batch = []
    if batch or not one.calls:
        yield _written(one, "xml", tuple(batch))


def _allow(stage: Stage, event: AgentEvent) -> None:
    if isinstance(event, ApprovalWanted):
        stage.session.answer(event.approval_id, allow=True)


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("task", sampled(TASKS, 3, lambda task: task.name))
async def test_the_same_is_done_whoever_speaks_and_however(
    tmp_path: Path, task: Task, dialect: str, vendor: Vendor
) -> None:
    async with vendor.server(replies(task, dialect)) as server:
        provider = vendor.provider(server.url, 20.0)
        stage = Stage(tmp_path, dialect=dialect, mode=Mode.AUTO, provider=provider, model=vendor.model)
        if task.name == "goes on after a failed call":
            stage.bench.failures = [BROKEN]
        stage.session.subscribe(lambda event: _allow(stage, event))
        ended = await stage.send()
        await provider.close()
    assert (ended.outcome, ended.text) == (Outcome.FINISHED, task.answer)
    assert stage.bench.done == task.done
    assert server.replies == []
    if "look" in task.done:
        assert vendor.pictures(server.bodies[1]) == [PICTURE.data]
