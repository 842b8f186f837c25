"""The recorded cases of executing batches, their results, history and limits, and of the tools' own semantics.

Every case either runs here through the real reader, executor and session, or `_NOT_OURS` says why it cannot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.agent.agent_events import (
    AgentEvent,
    Outcome,
    PassStarted,
    SayDelta,
    TagStart,
    ThoughtDelta,
    ToolFinished,
    ToolRunning,
)
from app.agent.recording import EntryKind, History
from app.agent.turn import ASK_AT, WARN_AT, LoopDetector
from app.base.clock import SystemClock
from app.base.errors import ToolFailed
from app.protocol.arguments import to_call
from app.protocol.call import FINISHED, Block, ToolCall, ToolResult
from app.protocol.dialects.api import Answer
from app.protocol.dialects.batch import BatchDialect
from app.protocol.dialects.xml import XmlDialect
from app.protocol.message import (
    BatchClosed,
    CallClosed,
    CallCut,
    Message,
    Misread,
    ReaderEvent,
    Text,
    TextPart,
    Thought,
    assistant,
    user,
)
from app.protocol.spec import Effect, Param, ToolSpec, unbound
from app.protocol.spec import ValueType as Type
from app.providers.api import TextDelta
from app.services.files.places import Workspace
from app.services.processes.commands import Processes, Run
from app.tools.conversation import SAY, Speech
from app.tools.exec import COMMANDS, Commands
from app.tools.executor import Executor, WrittenByThePerson
from app.tools.registry import Family, Registry, TurnContext, admitted
from tests.conftest import DATA
from tests.support.stage import FakeClock, Stage, texts

_NOT_OURS = {
    "cg-acc-circuit": "a run is not ended by a count of failures: see the test of a call that fails again and again",
}
_ELSEWHERE = {"unescape_entities", "parse_options", "checklist_line", "read_slice", "sandbox_path"}
"""Kinds that test_conformance_work.py runs."""

Case = Mapping[str, Any]
Items = list[dict[str, Any]]


def _cases(path: str) -> list[Case]:
    found: list[Case] = json.loads((DATA / path).read_text(encoding="utf-8"))["cases"]
    return found


_RESULTS = _cases("conformance/cogency_execute_results.json")
_TOOLS = _cases("conformance_work/tool_semantics.json")
_RUN: set[str] = set()


def _of(kind: str) -> pytest.MarkDecorator:
    _RUN.add(kind)
    cases = [case for case in (*_RESULTS, *_TOOLS) if case["kind"] == kind and case["id"] not in _NOT_OURS]
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


# --- a session in the batch dialect, over the tools of a case


class Recorded:
    """Tools that do what the case says of them."""

    def __init__(self, tools: Mapping[str, Any]) -> None:
        self._tools = tools

    async def run(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        shape = self._tools[call.name]
        if "raises" in shape:
            raise ToolFailed(shape["raises"])
        message = call.text("message", shape["defaults"]["message"])
        return ToolResult(True, call.name, {}, shape["returns"]["content"].format(message=message))


def _family(names: Sequence[str]) -> Family:
    params = (Param("message"),)
    return Family(Recorded, tuple(ToolSpec(name, "", Effect.READS, Recorded.run, attrs=params) for name in names))


def _stage(folder: Path, case: Case, replies: Sequence[list[Any]], **more: Any) -> Stage:
    tools = case.get("tools", {})
    registry = Registry(SAY, _family(list(tools)))
    executor = Executor(registry, [Speech(), Recorded(tools)], FakeClock(), seed=1)
    return Stage(folder, *replies, dialect="batch", registry=registry, executor=executor, **more)


def _replies(events: Sequence[Case]) -> list[list[Any]]:
    """What a model says so that a reader gives these events: one reply a batch, and a last one that ends."""
    replies: list[list[Any]] = [[]]
    calls: list[ToolCall] = []
    for event in events:
        match event["type"]:
            case "respond":
                replies[-1].append(TextDelta(event["content"]))
            case "think":
                replies[-1].append(TextDelta(f"<think>{event['content']}</think>"))
            case "call":
                calls.append(_call(event["content"]))
            case "execute":
                replies[-1].append(TextDelta(BatchDialect().write(calls, ())))
                calls = []
                replies.append([])
    replies[-1].append(TextDelta("\n<end>"))
    return replies


def _call(content: Case) -> ToolCall:
    return ToolCall("c", content["name"], content["args"])


def _inside(text: str, tag: str) -> Any:
    return json.loads(text[text.index(f"<{tag}>") + len(tag) + 2 : text.rindex(f"</{tag}>")])


def _comparable(items: Sequence[Case] | None) -> Items | None:
    """Tool, status and content; of a failure only that it says something, since its words are ours."""
    if items is None:
        return None
    return [
        {**item, "content": bool(item["content"]) if item["status"] == "failure" else item["content"]} for item in items
    ]


# --- execute_batch


@_of("execute_batch")
async def test_every_call_of_a_batch_has_its_result_by_position(case: Case, tmp_path: Path) -> None:
    batch = BatchDialect().write([_call(call) for call in case["calls"]], ())
    stage = _stage(tmp_path, case, [[batch], ["<end>"]])
    await stage.send()
    assert _inside(stage.asked(1), "results") == case["expected"]["results"]


# --- accumulate


@_of("accumulate")
async def test_a_run_shows_what_was_recorded(case: Case, tmp_path: Path) -> None:
    stage = _stage(tmp_path, case, _replies(case["input_events"]))
    ended = await stage.send()
    wanted = case.get("recommended_events", case["expected_events"])
    shown = [_pass(events, joined=case["stream_mode"] == "event") for events in _passes(stage.events)]
    assert [one for one in shown if any(one.values())] == list(_recorded_passes(wanted))
    assert ended.outcome is Outcome.FINISHED


@_of("accumulate")
async def test_a_run_keeps_what_was_recorded(case: Case, tmp_path: Path) -> None:
    stage = _stage(tmp_path, case, _replies(case["input_events"]))
    await stage.send()
    wanted = list(case["expected_persisted"])
    if "recommended_events" in case:
        items = next(event["items"] for event in case["recommended_events"] if event["kind"] == "results")
        wanted.append({"type": "results", "items": items})
    assert _sorted(_kept(stage)) == _sorted(
        {**entry, "items": _comparable(entry["items"])} if "items" in entry else entry for entry in wanted
    )


def _passes(events: Sequence[AgentEvent]) -> list[list[AgentEvent]]:
    passes: list[list[AgentEvent]] = []
    for event in events:
        if isinstance(event, PassStarted):
            passes.append([])
        elif passes:
            passes[-1].append(event)
    return passes


def _pass(events: Sequence[AgentEvent], *, joined: bool) -> dict[str, Any]:
    said = [event.text for event in events if isinstance(event, SayDelta)]
    arguments = {event.call_id: dict(event.arguments) for event in events if isinstance(event, ToolRunning)}
    opened = [event for event in events if isinstance(event, TagStart)]
    finished = {event.call_id: event for event in events if isinstance(event, ToolFinished)}
    order = [type(event) for event in events if isinstance(event, (TagStart, ToolFinished))]
    assert order == [TagStart] * len(opened) + [ToolFinished] * len(finished)
    done = [finished[event.call_id] for event in opened]
    return {
        "think": "".join(event.text for event in events if isinstance(event, ThoughtDelta)),
        "text": ["".join(said)] if joined and said else said,
        "calls": [{"name": event.tool, "args": arguments.get(event.call_id, {})} for event in opened],
        "results": _comparable([_item(event) for event in done]),
        "counts": _counts([event.ok for event in done]),
    }


def _item(event: ToolFinished) -> dict[str, Any]:
    return {"tool": event.tool, "status": "success" if event.ok else "failure", "content": event.echo}


def _counts(oks: Sequence[bool]) -> dict[str, int]:
    if not oks:
        return {}
    return {"tools_executed": len(oks), "success_count": sum(oks), "failure_count": len(oks) - sum(oks)}


def _recorded_passes(events: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """The recorded events in the same form: results end a pass."""
    one: dict[str, Any] = {"think": "", "text": [], "calls": [], "results": [], "counts": {}}
    for event in events:
        match event["kind"]:
            case "think":
                one["think"] += event["text"]
            case "text":
                one["text"].append(event["text"])
            case "call":
                one["calls"].append({"name": event["name"], "args": event["args"]})
            case "results":
                yield {**one, "results": _comparable(event["items"]), "counts": event["counts"]}
                one = {"think": "", "text": [], "calls": [], "results": [], "counts": {}}
    if any(one.values()):
        yield one


def _kept(stage: Stage) -> Iterator[dict[str, Any]]:
    """What stands in the history, read again."""
    for entry in stage.session.history.entries:
        text = texts(entry.message.parts)
        if entry.kind is EntryKind.RESULTS:
            yield {"type": "results", "items": _comparable(_inside(text, "results"))}
        elif entry.kind is EntryKind.MODEL:
            yield from _read_again(text)


def _read_again(text: str) -> Iterator[dict[str, Any]]:
    spoken = {"text": "", "think": ""}
    for event in _events(text):
        match event:
            case Text():
                spoken["text"] += event.text
            case Thought():
                spoken["think"] += event.text
            case CallClosed():
                yield {"type": "call", "content": {"name": event.block.name, "args": event.block.args}}
    yield from ({"type": kind, "content": said.strip()} for kind, said in spoken.items() if said.strip())


def _events(text: str) -> list[ReaderEvent]:
    reader = BatchDialect().reader(())
    return reader.feed(text) + reader.flush()


def _sorted(entries: Any) -> list[str]:
    return sorted(json.dumps(entry, sort_keys=True) for entry in entries)


# --- decode_call


@_of("decode_call")
def test_a_call_is_decoded_or_refused_with_a_reason(case: Case) -> None:
    wanted = case["expected"]
    outcomes: list[dict[str, Any]] = []
    for event in _events(f"<execute>[{case['input']}]</execute>"):
        match event:
            case CallClosed():
                outcomes.append({"name": event.block.name, "args": event.block.args})
            case Misread():
                outcomes.append({"error": event.detail.partition(":")[0]})
            case BatchClosed():
                assert "error" not in wanted
    assert outcomes == [wanted]


# --- rebuild_messages


@_of("rebuild_messages")
def test_history_is_rebuilt_from_what_happened(case: Case) -> None:
    rebuilt = [_plain(entry.message) for entry in _history(case["events"]).entries]
    assert rebuilt == [_plain_recorded(message) for message in case["expected_messages"]]


def _history(events: Sequence[Case]) -> History:
    history, dialect = History(), BatchDialect()
    calls: list[ToolCall] = []
    for event in events:
        match event["type"]:
            case "user":
                history.add(EntryKind.PERSON, user(event["content"]))
            case "call":
                calls.append(_call(json.loads(event["content"])))
            case "result":
                if calls:
                    history.add(EntryKind.MODEL, assistant(dialect.write(calls, ())))
                calls = []
                history.add(EntryKind.RESULTS, dialect.answer([_answer(item) for item in json.loads(event["content"])]))
    return history


def _answer(item: Case) -> Answer:
    return Answer("c", item["tool"], ToolResult(item["status"] == "success", item["tool"], {}, ""))


def _plain(message: Message) -> dict[str, Any]:
    [part] = message.parts
    assert isinstance(part, TextPart)
    return _plain_recorded({"role": message.role.value, "content": part.text})


def _plain_recorded(message: Case) -> dict[str, Any]:
    """The JSON in it as values; a result that was recorded without content is one with none."""
    for tag in ("execute", "results"):
        if message["content"].startswith(f"<{tag}>"):
            items = _inside(message["content"], tag)
            return {"role": message["role"], tag: [{**{"content": ""}, **item} for item in items]}
    return dict(message)


# --- validate_args


@_of("validate_args")
def test_arguments_are_judged_and_absent_ones_get_the_handlers_default(case: Case) -> None:
    shape: Mapping[str, Case] = case["schema"]
    params = [Param(name, Type(value["type"]), required=value["required"]) for name, value in shape.items()]
    call = to_call(
        ToolSpec("tool", "", Effect.READS, unbound, attrs=tuple(params)), Block("c", "tool", args=case["args"])
    )
    read: Mapping[Type, Callable[..., Any]] = {Type.TEXT: call.text, Type.INTEGER: call.integer}
    effective = {param.name: read[param.kind](param.name, *_default(shape[param.name])) for param in params}
    assert effective == case["expected"]["effective"]
    assert call.arguments == case["args"]


def _default(value: Case) -> list[Any]:
    return [value["default"]] if "default" in value else []


# --- loop_limit


@_of("loop_limit")
async def test_passes_are_asked_for_only_while_there_is_something_to_feed_back(case: Case, tmp_path: Path) -> None:
    replies: list[list[Any]] = [[TextDelta(chunk) for chunk in turn] for turn in case["turns"]]
    wanted = case["expected"]
    if "persisted_results" in wanted:
        replies.append(["<end>"])
    stage = _stage(tmp_path, case, replies, settings={"chat.max_passes": case["max_iterations"]})
    ended = await stage.send()
    assert (ended.outcome is Outcome.FINISHED) == wanted["ok"]
    assert len(stage.provider.requests) == wanted.get("llm_calls", len(replies))
    kept = list(_kept(stage))
    assert [entry for entry in kept if entry["type"] == "results"] == []
    assert [kind for kind in wanted.get("has", []) if not any(entry["type"] == kind for entry in kept)] == []
    assert "forged" not in "".join(texts(message.parts) for message in stage.session.history.messages)


# --- what the tools mean


@_of("loop_detection")
def test_equal_calls_are_warned_about_and_asked_about(case: Case) -> None:
    repetition = LoopDetector()
    counts = [repetition.note(name, arguments) for name, arguments in case["calls"]]
    found = {
        "warn_at": [number for number, count in enumerate(counts, start=1) if count == WARN_AT],
        "escalate_at": [number for number, count in enumerate(counts, start=1) if count == ASK_AT],
        "counter_after": repetition.count,
    }
    assert {name: found[name] for name in case["expected"]} == case["expected"]


@_of("completion_double_check")
async def test_a_result_is_accepted_whenever_it_is_given(case: Case) -> None:
    block = Block("c", "attempt_completion", args={"result": "Done."})
    results = [await _spoken(block) for _ in range(case["attempts"])]
    assert ["accept" if result.ends_turn == FINISHED else "reject" for result in results] == case["expected"]


@_of("canonicalise_params")
async def test_a_result_may_be_called_a_response(case: Case) -> None:
    result = await _spoken(Block("c", case["tool"], args=case["params"]))
    assert {"result": result.payload["text"]} == case["expected"]


async def _spoken(block: Block) -> ToolResult:
    executor = Executor(Registry(SAY), [Speech()], FakeClock())
    return (await executor.run(block, WrittenByThePerson(), TurnContext(admitted, "c"))).result


@_of("strip_partial_close")
def test_the_end_of_an_open_child_is_text_unless_it_may_be_its_close_tag(case: Case) -> None:
    assert _open_child(case["tag"], case["input"]) == case["expected"]


@pytest.mark.parametrize("half", ["<", "</", "</p", "</pat", "</path"])
def test_half_a_close_tag_is_no_text(half: str) -> None:
    assert _open_child("path", f"a.txt{half}") == "a.txt"


def _open_child(tag: str, text: str) -> str:
    """The child's text where the message ends inside it."""
    reader = XmlDialect().reader([ToolSpec("read_file", "", Effect.READS, unbound, children=(Param(tag),))])
    events = reader.feed(f"<read_file><{tag}>{text}") + reader.flush()
    [block] = [event.block for event in events if isinstance(event, CallCut)]
    [child] = block.children
    return child.text


class _Limits(Processes):
    """Starts nothing; remembers how long the command was allowed to take."""

    allowed_s: float | None = -1.0

    async def start(self, *_: Any, timeout_s: float | None = None, **__: Any) -> Run:
        self.allowed_s = timeout_s
        raise ToolFailed("Nothing is started here.")


@_of("command_timeout")
async def test_only_a_limit_that_is_asked_for_ends_a_command(case: Case, tmp_path: Path) -> None:
    processes = _Limits(tmp_path / "runs", SystemClock())
    commands = Commands(Workspace(tmp_path), processes, SystemClock(), lambda: case["managed"])
    [execute] = [spec for spec in COMMANDS.tools if spec.name == "execute_command"]
    limit = {"timeout": case["timeout_param"]} if case["timeout_param"] else {}
    block = Block("c", "execute_command", attrs={"command": case["command"], **limit})
    with pytest.raises(ToolFailed):
        await commands.execute(to_call(execute, block), TurnContext(admitted, "c"))
    assert processes.allowed_s == case["expected_seconds"]


# --- what differs


async def test_a_call_that_fails_again_and_again_is_answered_each_time_until_the_person_is_asked(
    tmp_path: Path,
) -> None:
    [case] = [case for case in _RESULTS if case["id"] == "cg-acc-circuit"]
    stage = _stage(tmp_path, case, _replies(case["input_events"]), attended=False)
    ended = await stage.send()
    shown = [_pass(events, joined=True) for events in _passes(stage.events)]
    [first, *_] = _recorded_passes(case["expected_events"])
    assert shown == [first] * ASK_AT
    assert ended.outcome is Outcome.WAITING
    assert [number for number in range(1, ASK_AT) if "time in a row" in stage.asked(number)] == [WARN_AT, WARN_AT + 1]


def test_cases_of_every_kind_are_run() -> None:
    kinds = {case["kind"] for case in (*_RESULTS, *_TOOLS)}
    assert kinds == _RUN | _ELSEWHERE
