"""What models are told about tools: docs, schemas, and the command that prints them."""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from app.agent.prompt import system_prompt
from app.assembly import registry
from app.base import paths
from app.base.geometry import Size
from app.commands import tools as command
from app.protocol import docs
from app.protocol.arguments import to_call
from app.protocol.call import Block, ToolResult, tool_error
from app.protocol.dialects.api import Answer, Dialect
from app.protocol.dialects.batch import json_docs
from app.protocol.dialects.choose import NAMES, by_name, shortest
from app.protocol.message import ResultPart
from app.protocol.spec import Effect, Param, RareFamily, ToolSpec, ValueType, unbound
from app.providers.anthropic.computer_toolset import TOOLSET, declared
from app.settings.store import Settings
from tests.support.parsed_tools import ALL, APP, READ


def test_a_tool_is_taught_in_a_few_lines() -> None:
    assert docs.xml((READ,)) == (
        "### read_file\n"
        "Read a file.\n"
        "attributes: path*: the file; line (integer); whole (true/false); mode (text|hex); scale (number)\n"
        '<read_file path="a.txt"/>'
    )


def test_children_tell_their_attributes_and_whether_they_repeat() -> None:
    assert "doc (may be repeated, attributes lang, pages (integer))" in docs.xml((APP,))


def test_the_batch_example_is_valid_json() -> None:
    assert json.loads(json_docs((READ,)).splitlines()[-1]) == {"name": "read_file", "args": {"path": "a.txt"}}


def test_a_schema_keeps_types_bounds_and_nested_objects() -> None:
    assert docs.of_tool(READ) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file"},
            "line": {"type": "integer", "minimum": 1, "maximum": 99},
            "whole": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["text", "hex"]},
            "scale": {"type": "number"},
            "task_progress": {
                "type": "string",
                "description": "optional checklist of the whole task, one `- [ ]` or `- [x]` line each",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    properties = docs.of_tool(APP)["properties"]
    assert isinstance(properties, dict)
    assert properties["doc"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "lang": {"type": "string"},
                "pages": {"type": "integer"},
                "text": {"type": "string", "description": "the text inside"},
            },
            "additionalProperties": False,
        },
    }


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_every_schema_is_one(spec: object) -> None:
    jsonschema.Draft202012Validator.check_schema(docs.of_tool(spec))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_teaching_is_the_same_every_time_and_names_every_tool(name: str) -> None:
    taught = by_name(name).teach(ALL)
    assert taught == by_name(name).teach(ALL)
    declared = [str(tool["name"]) for tool in by_name(name).schemas(ALL)]
    assert [spec.name for spec in ALL if spec.name not in (declared or taught)] == []


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="There is no dialect 'yaml'; there are xml, batch, native"):
        by_name("yaml")


@pytest.mark.parametrize("name", NAMES)
def test_the_command_prints_what_a_model_gets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(argparse.Namespace(names=[], dialect=name, json=False), ALL) == 0
    assert capsys.readouterr().out.startswith(by_name(name).teach(ALL))


def test_the_command_prints_schemas_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(argparse.Namespace(names=[], dialect="xml", json=True), ALL) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in listed] == [spec.name for spec in ALL]
    assert listed[1]["input_schema"] == json.loads(json.dumps(docs.of_tool(READ)))


_CHARS_A_TOKEN = 3.6
"""An estimate that is a little too high for English and for JSON."""

_RARE = tuple(
    ToolSpec(
        f"rare_tool_{number}",
        "Make a thing of the named kind. It stands on the desktop until it is deleted, and can be changed.",
        Effect.WRITES,
        unbound,
        attrs=(
            Param("name", description="what it is called", required=True),
            Param("size", ValueType.INTEGER, minimum=1),
        ),
        children=(Param("html", description="what it shows", required=True), Param("doc", description="about it")),
        rare=RareFamily(f"family {number // 3}", "make and change things of its kind on the desktop"),
    )
    for number in range(12)
)


def _prefix_tokens(name: str, *more: ToolSpec, is_short: bool = False) -> float:
    dialect, specs = (shortest if is_short else by_name)(name), (*registry().specs, *more)
    declared = json.dumps(dialect.schemas(specs), ensure_ascii=False) if dialect.schemas(specs) else ""
    return len(system_prompt(dialect, specs, Settings({}, {})) + declared) / _CHARS_A_TOKEN


@pytest.mark.parametrize(
    ("name", "most", "most_with_all"), [("xml", 4600, 5200), ("batch", 4600, 5200), ("native", 5700, 6200)]
)
def test_what_a_model_reads_first_stays_small(name: str, most: int, most_with_all: int) -> None:
    assert _prefix_tokens(name) <= most
    assert _prefix_tokens(name, *_RARE) <= most_with_all


@pytest.mark.parametrize("name", ["xml", "batch"])
def test_a_model_that_reads_little_gets_every_tool_or_its_family_in_half_of_the_words(name: str) -> None:
    assert _prefix_tokens(name, is_short=True) <= 2500
    specs = registry().specs
    taught = shortest(name).teach(specs)
    assert [spec.name for spec in specs if (spec.rare.name if spec.rare else spec.name) not in taught] == []


def test_what_claude_reads_beside_the_vendors_own_toolset_stays_small() -> None:
    specs = registry().specs
    ours = [dict(tool) for tool in by_name("native").schemas(specs)]
    beside = [tool for tool in declared(TOOLSET, ours, Size(1280, 800)) if tool.get("type") != TOOLSET]
    prompt = system_prompt(by_name("native"), specs, Settings({}, {}))
    assert len(beside) < len(ours)
    assert len(prompt + json.dumps(beside, ensure_ascii=False)) / _CHARS_A_TOKEN <= 5500


def test_native_tools_are_declared_except_the_rare_ones_and_the_checklist_once() -> None:
    specs = registry().specs
    declared = by_name("native").schemas(specs)
    assert [tool["name"] for tool in declared] == [spec.name for spec in specs if not spec.rare]
    assert json.dumps(declared).count("task_progress") == 1


def test_what_the_stories_of_ordinary_tasks_need_is_no_rare_tool() -> None:
    rows = tomllib.loads(Path("tests/data/turns/stories.toml").read_text(encoding="utf-8"))["story"]
    needed = {call["tool"] for row in rows for call in row["call"]}
    assert needed
    assert [spec.name for spec in registry().specs if spec.rare and spec.name in needed] == []


def test_every_tool_that_is_declared_in_full_exists() -> None:
    names = tomllib.loads((paths.resources() / "prompts/dialects/in_full.toml").read_text(encoding="utf-8"))["tools"]
    assert [name for name in names if registry().find(name) is None] == []


_DONE = ToolResult(True, "zoom", {}, "Done.")


def _answered(dialect: Dialect, result: ToolResult = _DONE, toolset: str = "") -> str:
    [part] = dialect.answer([Answer("c1", "zoom", result, toolset=toolset)]).parts
    assert isinstance(part, ResultPart)
    return part.text


def test_the_docs_of_a_tool_declared_by_a_line_come_with_its_first_answer_and_where_it_was_wrongly_written() -> None:
    dialect = by_name("native")
    dialect.schemas(registry().specs)
    assert _answered(dialect, toolset="computer") == "Done."
    first = _answered(dialect)
    assert "### zoom" in first
    assert "region" in first
    assert _answered(dialect) == "Done."
    assert "### zoom" not in _answered(dialect, tool_error("zoom", "There is no capture."))
    assert "### zoom" in _answered(dialect, tool_error("zoom", "zoom needs region.", for_model=True))


def test_the_example_of_a_json_call_can_run() -> None:
    for spec in registry().specs:
        written = json.loads(json_docs((spec,)).splitlines()[-1])
        if spec.examples:
            assert to_call(spec, Block("c1", spec.name, args=written["args"])).name == spec.name
