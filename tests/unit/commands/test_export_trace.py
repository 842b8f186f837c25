"""`wisp export-trace`: a past task as spans that OpenTelemetry's tools read."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.agent.deps import Nearby
from app.base.clock import SystemClock
from app.cli import main
from app.desktop.choose import open_desktop
from app.providers.api import Usage
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Registry
from app.tools.subagent import GOALS, Goals
from tests.support.archived import Kept
from tests.support.stage import WORKBENCH, Workbench
from tests.support.waiting import eventually

_SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
_CONVENTION = {
    "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.agent.name",
    "gen_ai.conversation.id", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.name",
    "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
    "error.type",
}  # fmt: skip
"""Names that exist: https://github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md"""
_DATA = Path(__file__).parents[2] / "data" / "journal"
_ROOT = Path(__file__).parents[3]


class Span:
    """A line of the export. It fails on whatever OTLP's JSON does not permit."""

    def __init__(self, line: str) -> None:
        (resource,) = json.loads(line)["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        (tree,) = scope["spans"]
        assert re.fullmatch("[0-9a-f]{32}", tree["traceId"])
        assert re.fullmatch("[0-9a-f]{16}", tree["spanId"])
        assert isinstance(tree["kind"], int)
        self.trace, self.id, self.parent = tree["traceId"], tree["spanId"], tree.get("parentSpanId", "")
        self.name, self.failed = tree["name"], tree["status"].get("code") == 2
        self.start, self.end = int(tree["startTimeUnixNano"]), int(tree["endTimeUnixNano"])
        assert isinstance(tree["startTimeUnixNano"], str), "a number of 64 bits is text in OTLP's JSON"
        self.about = _values(tree["attributes"])
        self.events = [(event["name"], _values(event["attributes"])) for event in tree["events"]]
        self.moments = [int(event["timeUnixNano"]) for event in tree["events"]]

    def used(self) -> tuple[int, int]:
        return (self.about.get("gen_ai.usage.input_tokens", 0), self.about.get("gen_ai.usage.output_tokens", 0))


def _values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    readers: dict[str, Callable[[Any], Any]] = {"stringValue": str, "intValue": int, "doubleValue": float}
    found = {}
    for one in attributes:
        ((kind, value),) = one["value"].items()
        found[one["key"]] = readers.get(kind, bool)(value)
    return found


@pytest.fixture
def exported(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[Span]]:
    def export(name: str = "last") -> list[Span]:
        capsys.readouterr()
        assert main(["export-trace", name]) == 0
        return [Span(line) for line in capsys.readouterr().out.splitlines()]

    return export


@pytest.fixture
def journal(own_data_folder: Path) -> Path:
    return own_data_folder / "data" / "journal.db"


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """The words of a command that plays these replies."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def words(replies: str) -> list[str]:
        script = tmp_path / "script.toml"
        script.write_text(replies)
        return ["do", "--no-screen", "--provider", "scripted", "--script", str(script), "--mode", "auto"]

    return words


_PLAYED = f"""
[[replies]]
steps = ["I look first. ", {{think = "Is it there?"}}, {{usage = {{input_tokens = 100, output_tokens = 110}}}},
         '<read_file path="missing.txt"/>']
[[replies]]
steps = [{{usage = {{input_tokens = 200, output_tokens = 120, cache_read_tokens = 50}}}},
         '<write_file path="a.txt"><content>{_SECRET}</content></write_file>']
[[replies]]
text = '<write_file path="/etc/b.txt"><content>no</content></write_file>'
[[replies]]
text = "<attempt_completion><result>Wrote a.txt.</result></attempt_completion>"
"""


def test_a_task_is_a_trace_of_its_answers_and_calls(
    scripted: Callable[[str], list[str]], exported: Callable[..., list[Span]]
) -> None:
    main([*scripted(_PLAYED), f"Write {_SECRET} into a file."])
    spans = exported()
    root, *below = spans
    assert [span.name for span in spans] == [
        "invoke_agent Wisp", "chat", "execute_tool read_file", "chat", "execute_tool write_file",
        "chat", "execute_tool write_file", "chat", "execute_tool attempt_completion",
    ]  # fmt: skip
    assert (root.parent, {span.parent for span in below}) == ("", {root.id})
    assert len({span.id for span in spans}) == len(spans)
    assert len({span.trace for span in spans}) == 1
    assert all(root.start <= span.start <= span.end <= root.end for span in spans)
    assert all(root.start <= at <= root.end for at in root.moments)
    names = {name for span in spans for name in span.about}
    assert {name for name in names if not name.startswith("wisp.")} <= _CONVENTION
    chats = [span for span in spans if span.name == "chat"]
    assert [chat.used() for chat in chats] == [(100, 110), (250, 120), (0, 0), (0, 0)]
    assert (root.used(), chats[1].about["gen_ai.usage.cache_read.input_tokens"]) == ((350, 230), 50)
    assert (chats[0].about["wisp.said"].strip(), chats[0].about["wisp.thought"]) == ("I look first.", "Is it there?")
    assert {span.about["gen_ai.provider.name"] for span in (root, *chats)} == {"scripted"}


def test_what_failed_says_how_and_what_worked_holds_its_result(
    scripted: Callable[[str], list[str]], exported: Callable[..., list[Span]]
) -> None:
    main([*scripted(_PLAYED), "Write it."])
    root, *_ = spans = exported()
    missing, written, refused, last = (span for span in spans if "gen_ai.tool.name" in span.about)
    assert [(one.failed, one.about.get("error.type")) for one in (missing, written, refused, last)] == [
        (True, "failed"), (False, None), (True, "not_allowed"), (False, None),
    ]  # fmt: skip
    assert json.loads(written.about["gen_ai.tool.call.arguments"])["path"] == "a.txt"
    assert "a.txt" in written.about["gen_ai.tool.call.result"]
    assert [one.about["wisp.call.has_run"] for one in (missing, written, refused)] == [True, True, False]
    assert [(name, about["gen_ai.tool.name"], about["wisp.decided_by"]) for name, about in root.events] == [
        ("wisp.allowed", "write_file", "policy"), ("wisp.refused", "write_file", "nobody there"),
    ]  # fmt: skip


def test_no_secret_is_exported_and_each_export_is_the_same(
    scripted: Callable[[str], list[str]], capsys: pytest.CaptureFixture[str], journal: Path
) -> None:
    main([*scripted(_PLAYED), f"Write {_SECRET} into a file."])
    with closing(sqlite3.connect(journal)) as db, db:
        # as a version that did not know this kind of secret would have kept it
        db.execute("update events set event = replace(event, '[secret left out]', ?)", (_SECRET,))
        (turn,) = db.execute("select id from turns").fetchone()
    capsys.readouterr()
    main(["export-trace", turn])
    told = capsys.readouterr().out
    assert "[secret left out]" in told
    assert _SECRET[:20] not in told
    main(["export-trace", "last"])
    assert capsys.readouterr().out == told


def test_a_conversation_is_a_trace_for_each_of_its_tasks(journal: Path, exported: Callable[..., list[Span]]) -> None:
    async def talk() -> str:
        kept = Kept(journal.parent, "Paris.", '<read path="a.txt"/>', "Rome.", model="model-1")
        await kept.stage.send("What is the capital of France?")
        await kept.stage.send("And of Italy?")
        name = (await kept.newest()).id
        await kept.close()
        return name

    name = asyncio.run(talk())
    spans = exported(name)
    first, second = (span for span in spans if not span.parent)
    assert [len([span for span in spans if span.trace == one.trace]) for one in (first, second)] == [2, 4]
    assert {span.about["gen_ai.conversation.id"] for span in spans} == {name}
    assert json.loads(second.about["gen_ai.input.messages"])[0]["parts"][0]["content"] == "And of Italy?"
    assert json.loads(second.about["gen_ai.output.messages"])[0]["parts"][0]["content"] == "Rome."
    assert [span.name for span in spans if span.trace == second.trace and span.parent == second.id] == [
        "chat model-1", "execute_tool read", "chat model-1",
    ]  # fmt: skip
    assert [span.id for span in exported(second.about["wisp.turn.id"])] == [
        span.id for span in spans if span.trace == second.trace
    ]
    assert [span.id for span in exported()] == [span.id for span in spans if span.trace == second.trace]


def test_what_a_goal_did_and_used_is_told_below_its_call(journal: Path, exported: Callable[..., list[Span]]) -> None:
    desktop, clock = open_desktop(dry_run=True), SystemClock()
    near, own, whole = Registry(SAY, WORKBENCH), Workbench(), Registry(SAY, WORKBENCH, GOALS)
    done = "<attempt_completion><result>It is on.</result></attempt_completion>"

    async def pursue() -> None:
        kept = Kept(
            journal.parent,
            [Usage(100, 10), "<computer_use>Switch it on.</computer_use>"], [Usage(30, 3), "<look/>"],
            [Usage(40, 4), done], [Usage(200, 20), "It is on."],
            registry=whole, executor=Executor(whole, [Speech(), own, Goals(desktop)], clock),
            nearby=Nearby(near, Executor(near, [Speech(), own], clock)),
        )  # fmt: skip
        await kept.stage.send("Switch the light on.")
        await kept.close()

    asyncio.run(pursue())
    desktop.close()
    root, first, goal, look, second = exported()
    assert [goal.name, look.name] == ["execute_tool computer_use", "execute_tool look"]
    assert (look.parent, goal.parent) == (goal.id, root.id)
    assert goal.start <= look.start <= look.end <= goal.end
    assert [one.used() for one in (first, goal, second, root)] == [(100, 10), (70, 7), (200, 20), (370, 37)]


def test_a_task_that_was_killed_while_the_model_answered_ends_in_an_error(
    scripted: Callable[[str], list[str]], exported: Callable[..., list[Span]], journal: Path
) -> None:
    words = [*scripted('[[replies]]\nsteps = ["I begin.", {pause_s = 120}]'), "Take your time."]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    running = subprocess.Popen([sys.executable, "-m", "app", *words], env=environment, stdout=subprocess.DEVNULL)
    try:
        assert eventually(lambda: _count(journal, "PassStarted"))
        root, chat = exported()
        assert (root.about["wisp.outcome"], root.failed, chat.failed) == ("running", False, False)
    finally:
        running.kill()
        running.wait()
    root, chat = exported()
    assert (root.failed, root.about["wisp.outcome"], root.about["error.type"]) == (True, "interrupted", "interrupted")
    assert (chat.failed, chat.about["error.type"]) == (True, "interrupted")


def _count(journal: Path, kind: str) -> int:
    if not journal.exists():
        return 0
    with closing(sqlite3.connect(journal)) as db:
        found = db.execute("select count(*) from sqlite_master where name = 'events'").fetchone()[0]
        return int(found and db.execute("select count(*) from events where instr(event, ?)", (kind,)).fetchone()[0])


def test_a_call_that_was_never_answered_ends_in_an_error(
    scripted: Callable[[str], list[str]], exported: Callable[..., list[Span]], journal: Path
) -> None:
    main([*scripted(_PLAYED), "Write it."])
    with closing(sqlite3.connect(journal)) as db, db:  # what a program leaves that is killed in its first call
        finished = "select min(number) from events where instr(event, 'ToolFinished')"
        db.execute(f"delete from events where number >= ({finished})")
        db.execute("update turns set ended = ''")
    root, chat, call = exported()
    assert (root.failed, chat.failed, call.failed) == (True, False, True)
    assert call.about["error.type"] == "interrupted"
    assert json.loads(call.about["gen_ai.tool.call.arguments"]) == {"path": "missing.txt"}


def test_a_task_of_an_earlier_version_has_no_figures_for_each_answer(
    journal: Path, exported: Callable[..., list[Span]]
) -> None:
    journal.parent.mkdir(parents=True)
    with closing(sqlite3.connect(journal)) as db, db:
        db.executescript((_DATA / "version_2.sql").read_text(encoding="utf-8"))
    root, chat = exported("turn-1")
    assert (root.used(), chat.used()) == ((1000, 20), (0, 0))
    assert root.about["wisp.cost_usd"] == 0.25


@pytest.mark.parametrize("name", ["last", "talk-none"])
def test_an_id_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["export-trace", name]) == 1
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)
