"""What models are told about tools: docs, schemas, and the command that prints them."""

from __future__ import annotations

import argparse
import json

import jsonschema
import pytest

from app.commands import tools as command
from app.protocol import docs, schema
from app.protocol.dialects.choose import NAMES, by_name
from tests.unit.protocol.tools import ALL, APP, READ


def test_a_tool_is_taught_in_a_few_lines() -> None:
    assert docs.xml((READ,)) == (
        "### read_file\n"
        "Read a file.\n"
        "attributes: path*: the file; line (integer, 1 to 99); whole (true/false); mode (text|hex); scale (number)\n"
        '<read_file path="a.txt"/>'
    )


def test_children_tell_their_attributes_and_whether_they_repeat() -> None:
    assert "doc (may be repeated, attributes lang, pages (integer))" in docs.xml((APP,))


def test_the_batch_example_is_valid_json() -> None:
    assert json.loads(docs.batch((READ,)).splitlines()[-1]) == {"name": "read_file", "args": {"path": "…"}}


def test_a_schema_keeps_types_bounds_and_nested_objects() -> None:
    assert schema.of_tool(READ) == {
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
    properties = schema.of_tool(APP)["properties"]
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
    jsonschema.Draft202012Validator.check_schema(schema.of_tool(spec))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_teaching_is_the_same_every_time_and_names_every_tool(name: str) -> None:
    taught = by_name(name).teach(ALL)
    assert taught == by_name(name).teach(ALL)
    assert [spec.name for spec in ALL if spec.name not in taught] == []


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="There is no dialect 'yaml'; there are xml, batch, native"):
        by_name("yaml")


@pytest.mark.parametrize("name", NAMES)
def test_the_command_prints_what_a_model_gets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(argparse.Namespace(dialect=name, json=False), ALL) == 0
    assert capsys.readouterr().out.startswith(by_name(name).teach(ALL))


def test_the_command_prints_schemas_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(argparse.Namespace(dialect="xml", json=True), ALL) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in listed] == [spec.name for spec in ALL]
    assert listed[1]["input_schema"] == json.loads(json.dumps(schema.of_tool(READ)))
