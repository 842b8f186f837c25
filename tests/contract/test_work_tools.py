"""Every tool that works on files, commands, code and tasks, in every dialect: taught, read, run, refused, stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from app.protocol import docs
from app.protocol.arguments import to_call
from app.protocol.call import Block, ToolCall, ToolResult
from app.protocol.dialects.api import Answer, Dialect
from app.protocol.dialects.batch import BatchDialect
from app.protocol.dialects.native import NativeDialect
from app.protocol.dialects.xml import XmlDialect
from app.protocol.message import CallClosed
from app.protocol.spec import ToolSpec
from tests.support.workbench import WORK, Bench

_DIALECTS: tuple[Dialect, ...] = (XmlDialect(), BatchDialect(), NativeDialect())
_FIRST_OR_LONG = [_DIALECTS[0], *(pytest.param(dialect, marks=pytest.mark.long) for dialect in _DIALECTS[1:])]
_DIFF = "------- SEARCH\nbeta\n=======\nBETA\n+++++++ REPLACE"

_WORKS: dict[str, tuple[dict[str, Any], str]] = {
    "read_file": ({"path": "a.txt", "start_line": 2, "end_line": 2}, "2 | beta\n[lines 2-2 of 3; go on with"),
    "read_file_in_chunks": ({"path": "a.txt", "chunk": 2, "chunk_lines": 2}, "[chunk 2 of 2]\n3 | gamma"),
    "read_batch": ({"path": ["a.txt", "b.py"]}, "a.txt:\n1 | alpha"),
    "list_files": ({"path": ".", "recursive": True}, ".:\na.txt\nb.py"),
    "write_file": ({"path": "new/c.txt", "content": "x < y && z\n\n"}, "Created 'new/c.txt': 2 lines, 12 bytes."),
    "replace_in_file": ({"path": "a.txt", "diff": _DIFF}, "Edited 'a.txt'. block 1: replaced line 2."),
    "delete_file": ({"path": "a.txt"}, "'a.txt' was moved to the trash."),
    "move_file": (
        {"source": ["a.txt", "b.py"], "destination": ["old/"]},
        "Moved 2:\na.txt → old/a.txt\nb.py → old/b.py",
    ),
    "copy_file": ({"source": ["a.txt"], "destination": ["c.txt"], "preview": True}, "Would copy 1:\na.txt → c.txt"),
    "make_folder": ({"path": ["2026/bills", "2026/mail"]}, "Made '2026/bills', '2026/mail'."),
    "pack_files": ({"source": ["a.txt", "b.py"], "destination": "both.zip"}, "Packed 2 files into 'both.zip'"),
    "unpack_file": ({"path": "packed.zip"}, "Unpacked 1 file into 'packed'"),
    "empty_trash": ({}, "The trash was empty already."),
    "undo_last_change": ({}, "Took back write_file: 'made.txt' is gone again."),
    "search_files": (
        {"path": ".", "regex": "b(e|u)ta", "file_pattern": "*.txt", "context": 0},
        "1 match in 1 file.",
    ),
    "execute_command": ({"command": "printf '%s\\n' \"<a> & 'b'\"", "cwd": ".", "timeout_seconds": 9.5}, "\n<a> & 'b'"),
    "read_command_tail": ({"run_id": "RUN", "stream": "stdout", "offset": 0}, "stdout bytes 0-3 of 3"),
    "list_recent_commands": ({"count": 1}, "'echo on"),
    "stop_command": ({"run_id": "RUN"}, "and all that it started is ended."),
    "send_command_input": ({"run_id": "RUN", "text": "hi"}, "is still running"),
    "wait_until": ({"run_id": "RUN", "pattern": "o[n]", "timeout_seconds": 5}, "printed 'on'"),
    "list_code_definition_names": ({"path": "b.py"}, "b.py:\n1 | def f(): ..."),
    "ask_followup_question": ({"question": "Which?", "options": ["A, or so", "B"]}, "The person was asked."),
    "plan_mode_respond": ({"response": "First.", "needs_more_exploration": True}, "The plan so far was shown."),
    "focus_chain": ({}, "The checklist:\n- [ ] one"),
    "new_task": ({"context": "Goal: x"}, "A fresh conversation begins."),
    "reset_chat": ({}, "The conversation is cleared."),
    "set_ai_name": ({"name": "Robin"}, "From now on your name is Robin."),
}

_FAILS: list[tuple[str, dict[str, Any], str]] = [
    ("read_file", {}, "path"),
    ("read_batch", {"path": []}, "path"),
    ("replace_in_file", {"path": "a.txt", "diff": "no markers"}, "diff: there is no SEARCH marker"),
    ("copy_file", {"source": ["a.txt"], "destination": ["b.py"]}, "'b.py' is there already"),
    ("execute_command", {"command": "ls", "cwd": "nowhere"}, "cwd: there is no folder 'nowhere'"),
    ("wait_until", {}, "Give exactly one of"),
    ("set_ai_name", {"name": ""}, "name"),
]

_LONG: dict[str, dict[str, Any]] = {
    "execute_command": {"command": "sleep 300"},
    "wait_until": {"seconds": 3_000},
    "search_files": {"path": "/usr", "regex": "no such words anywhere 12345"},
}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    (made.root / "a.txt").write_text("alpha\nbeta\ngamma\n")
    (made.root / "b.py").write_text("def f(): ...\n")
    made.talk.planning = True
    made.checklist.update("- [ ] one")
    yield made
    await made.stop_all()


def _block(dialect: Dialect, tool: str, arguments: Mapping[str, Any]) -> Block:
    """The call as a model would write it in that dialect, read back."""
    if dialect.name == "native":
        return Block("c1", tool, args=arguments)
    reader = dialect.reader(WORK.specs)
    text = dialect.write([ToolCall("c1", tool, arguments)], WORK.specs)
    events = [event for letter in text for event in reader.feed(letter)] + reader.flush()
    [block] = [event.block for event in events if isinstance(event, CallClosed)]
    return block


async def _run(bench: Bench, dialect: Dialect, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    if arguments.get("run_id") == "RUN":
        pty = tool == "send_command_input"
        started = await bench.call("execute_command", command="echo on; sleep 300", background=True, pty=pty)
        arguments = {**arguments, "run_id": started.payload["run_id"]}
    elif tool == "list_recent_commands":
        await bench.call("execute_command", command="echo on")
    elif tool == "unpack_file":
        await bench.call("pack_files", source=["a.txt"], destination="packed.zip")
    elif tool == "undo_last_change":
        await bench.call("write_file", path="made.txt", content="x")
    return await bench.run(_block(dialect, tool, arguments))


def _tree(bench: Bench) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}


def test_every_tool_has_its_case() -> None:
    assert set(_WORKS) == {spec.name for spec in WORK}


@pytest.mark.parametrize("dialect", _DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("spec", WORK.specs, ids=lambda spec: spec.name)
def test_a_tool_is_documented_with_all_its_arguments(spec: ToolSpec, dialect: Dialect) -> None:
    taught = dialect.teach([spec]) + str(dialect.schemas([spec]))
    if spec.rare:  # its docs come with the answer to its first call
        taught += str(dialect.answer([Answer("c1", spec.name, ToolResult(True, spec.name))]))
    assert [name for name in (spec.name, *(param.name for param in spec.taught)) if name not in taught] == []
    assert all(param.description for param in spec.taught)


@pytest.mark.parametrize("spec", WORK.specs, ids=lambda spec: spec.name)
def test_schemas_are_valid_and_accept_what_works(spec: ToolSpec) -> None:
    shape = docs.of_tool(spec)
    jsonschema.Draft202012Validator.check_schema(shape)
    jsonschema.validate(_WORKS[spec.name][0], shape)


@pytest.mark.parametrize("spec", WORK.specs, ids=lambda spec: spec.name)
def test_examples_in_the_docs_are_calls_that_can_run(spec: ToolSpec) -> None:
    for example in spec.examples:
        reader = XmlDialect().reader(WORK.specs)
        events = reader.feed(example) + reader.flush()
        [block] = [event.block for event in events if isinstance(event, CallClosed)]
        assert to_call(spec, block).name == spec.name


@pytest.mark.parametrize("dialect", _FIRST_OR_LONG, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("tool", _WORKS)
async def test_a_tool_works(bench: Bench, tool: str, dialect: Dialect) -> None:
    arguments, words = _WORKS[tool]
    result = await _run(bench, dialect, tool, arguments)
    assert (result.ok, words in result.llm_echo) == (True, True), result.llm_echo


@pytest.mark.parametrize("dialect", _DIALECTS, ids=lambda dialect: dialect.name)
async def test_content_arrives_exactly(bench: Bench, dialect: Dialect) -> None:
    content = "\n  <a href='x'>&amp; ]]> </write_file> <content>\n\n\tend\n"
    await _run(bench, dialect, "write_file", {"path": "c.html", "content": content})
    assert (bench.root / "c.html").read_text() == content


@pytest.mark.parametrize("dialect", _FIRST_OR_LONG, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    ("tool", "arguments", "words"), _FAILS, ids=[f"{tool}-{words[:24]}" for tool, _, words in _FAILS]
)
async def test_a_failure_is_a_polite_error_and_changes_nothing(
    bench: Bench, tool: str, arguments: dict[str, Any], words: str, dialect: Dialect
) -> None:
    before = _tree(bench)
    result = await _run(bench, dialect, tool, arguments)
    assert (result.ok, result.event, result.payload["tag"]) == (False, "tool_error", tool)
    assert (words in result.llm_echo, result.llm_echo.startswith(f"{tool}: ")) == (True, True), result.llm_echo
    assert _tree(bench) == before
    assert bench.talk.done == []


@pytest.mark.parametrize("dialect", _DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("tool", _LONG)
async def test_a_long_call_ends_when_the_turn_is_stopped(bench: Bench, tool: str, dialect: Dialect) -> None:
    asyncio.get_running_loop().call_soon(bench.cancelled.set)
    result = await _run(bench, dialect, tool, _LONG[tool])
    assert (result.ok, "stopped" in result.llm_echo) == (False, True)
    assert [run for run in bench.processes.recent(10) if run.is_running] == []


@pytest.mark.parametrize("spec", WORK.specs, ids=lambda spec: spec.name)
async def test_the_checklist_never_reaches_a_handler(bench: Bench, spec: ToolSpec) -> None:
    arguments = {**_WORKS[spec.name][0], "task_progress": "- [x] one"}
    call = to_call(spec, _block(BatchDialect(), spec.name, arguments))
    assert (call.progress, "task_progress" in call.arguments) == ("- [x] one", False)
