"""The recorded cases of the protocols we inherit, through `wisp parse`, however the text is cut."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.commands import parse
from tests.conftest import DATA

CASES = DATA / "conformance"
CHUNKS = (1, 3, 20, None)

Block = dict[str, Any]


def _set(name: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return content


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in _set(name)["cases"]]


def _text(case: Mapping[str, Any]) -> str:
    return "".join(case["chunks"]) if "chunks" in case else str(case["input"])


@pytest.fixture(params=CHUNKS, ids=lambda size: f"chunk-{size or 'whole'}")
def parsed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`parsed(text, dialect, tools_file)` runs the command and returns its lines."""

    def run(text: str, dialect: str, tools: Path | None = None) -> list[Block]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        options = argparse.Namespace(dialect=dialect, chunk=request.param, tools=str(tools) if tools else None)
        assert parse.run(options) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def _tools(folder: Path, shapes: Mapping[str, Any]) -> Path:
    file = folder / "tools.json"
    file.write_text(json.dumps({"tools": shapes}), encoding="utf-8")
    return file


def _bor_tools(folder: Path, case: Mapping[str, Any]) -> Path:
    names = [*_set("parser_bor")["known_tools"], *case.get("known_tools_extra", [])]
    shapes: dict[str, Any] = {name: {"attrs": ["*"], "children": [], "body": True} for name in names}
    shapes["create_app"] = {"attrs": ["*"], "children": ["html", "doc", "thumbnail"], "close": {"html": "last"}}
    shapes["attempt_completion"] = {"attrs": ["*"], "children": ["result"], "body": True}
    return _tools(folder, shapes)


def _child_tools(folder: Path) -> Path:
    known = _set("parser_cline")
    shape = {"attrs": ["*"], "children": known["known_params"], "body": False}
    return _tools(folder, dict.fromkeys(known["known_tools"], shape))


def _params(block: Block) -> Block:
    """A block as the recorded cases spell it: attributes and children are one thing, prose is trimmed."""
    if block["kind"] == "text":
        return {"kind": "text", "text": block["text"].strip()}
    params = {name: str(value) for name, value in {**block["attrs"], **block["children"]}.items()}
    return {"kind": "tool", "name": block["name"], "params": params, "partial": block["partial"]}


def _strip_one_newline(text: str) -> str:
    return text.removeprefix("\n").removesuffix("\n")


def _expected(block: Block, how: str) -> Block:
    if block["kind"] == "text":
        return {"kind": "text", "text": block["text"].strip()}
    params = dict(block["params"])
    if how == "trim":
        params = {name: text.strip() for name, text in params.items()}
    elif how == "strip_one_newline":
        params = {name: _strip_one_newline(text) for name, text in params.items()}
    return {"kind": "tool", "name": block["name"], "params": params, "partial": block["partial"]}


@pytest.mark.parametrize("case", _cases("parser_bor"))
def test_attribute_style_calls_are_read_as_recorded(case: Mapping[str, Any], parsed: Any, tmp_path: Path) -> None:
    blocks = parsed(_text(case), "xml", _bor_tools(tmp_path, case))
    expected = case["expected"]["blocks"]
    assert len(blocks) == len(expected)
    for block, wanted in zip(blocks, expected, strict=True):
        if wanted["kind"] == "text":
            assert (block["kind"], block["text"].strip()) == ("text", wanted["text"])
            continue
        facts = ("kind", "name", "children", "partial")
        assert {fact: block[fact] for fact in facts} == {fact: wanted[fact] for fact in facts}
        if case.get("compare_attrs") != "ignore":
            assert block["attrs"] == wanted["attrs"]
        assert block["body"] == wanted["body"]


@pytest.mark.parametrize("case", _cases("parser_cline"))
def test_child_style_calls_are_read_as_recorded(case: Mapping[str, Any], parsed: Any, tmp_path: Path) -> None:
    how = case["compare"]
    blocks = [_params(block) for block in parsed(_text(case), "xml", _child_tools(tmp_path))]
    expected = [_expected(block, how["params"]) for block in case["expected"]["blocks"]]
    if how["assert"] == "tools_only":
        blocks = [block for block in blocks if block["kind"] == "tool"]
    for block in blocks:
        if block["kind"] == "tool" and how["params"] == "trim":
            block["params"] = {name: text.strip() for name, text in block["params"].items()}
    assert blocks == expected


@pytest.mark.parametrize("case", _cases("parser_fallbacks"))
def test_foreign_formats_are_read_as_recorded(case: Mapping[str, Any], parsed: Any, tmp_path: Path) -> None:
    blocks = [_params(block) for block in parsed(_text(case), "xml", _child_tools(tmp_path))]
    assert blocks == [_expected(block, "trim") for block in case["expected"]["blocks"]]


def _event(block: Block) -> Block:
    """A block as the recorded events spell it."""
    match block["kind"]:
        case "tool":
            return {"kind": "call", "name": block["name"], "args": block["args"]}
        case "results":
            return {"kind": "results", "items": json.loads(block["text"])}
        case "text" | "think":
            return {"kind": block["kind"], "text": block["text"].strip()}
        case "error":
            return {"kind": "error", "code": block["code"], "detail": block["text"].partition(":")[0]}
    return block


@pytest.mark.parametrize("case", _cases("parser_cogency"))
def test_batches_are_read_as_recorded(case: Mapping[str, Any], parsed: Any) -> None:
    assert [_event(block) for block in parsed(_text(case), "batch")] == case["expected"]["events"]
