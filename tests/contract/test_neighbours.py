"""Cases beside the recorded ones, judged by the protocol's rules: however a text is cut, it is read the same."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.commands import parse
from tests.conftest import DATA

SETS = ("children", "attributes", "batch", "fallbacks")
CHUNKS = (None, 1, 2, 3, 7, 20)
LONGEST_CUT = 160

Block = dict[str, Any]
Read = Callable[[str, str, int | None], list[Block]]


def _set(name: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((DATA / "neighbours" / f"{name}.json").read_text(encoding="utf-8"))
    return content


def _cases(*names: str) -> list[Any]:
    return [pytest.param(name, case, id=f"{name}-{case['id']}") for name in names for case in _set(name)["cases"]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Read:
    """`read(text, set name, chunk)` runs `wisp parse` with the tools of that set and returns its lines."""

    def run(text: str, name: str, chunk: int | None) -> list[Block]:
        shapes = _set(name)["tools"]
        file = tmp_path / "tools.json"
        file.write_text(json.dumps({"tools": shapes}), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        dialect, tools = ("xml", str(file)) if shapes else ("batch", None)
        assert parse.run(argparse.Namespace(dialect=dialect, chunk=chunk, tools=tools)) == 0
        return [json.loads(line) for line in capsys.readouterr().out.split("\n") if line]

    return run


def _comparable(block: Block, name: str) -> Block:
    """Prose and thoughts trimmed; in the child style attributes and children are two spellings of one thing."""
    if block["kind"] in ("text", "think"):
        return {"kind": block["kind"], "text": block["text"].strip()}
    if block["kind"] != "tool":
        return {"kind": block["kind"]}
    if name in ("children", "fallbacks"):
        params = block["params"] if "params" in block else {**block["attrs"], **block["children"]}
        params = {key: str(value).strip() for key, value in params.items()}
        return {"kind": "tool", "name": block["name"], "params": params, "partial": block["partial"]}
    facts = ("name", "args", "partial") if name == "batch" else ("name", "attrs", "body", "children", "partial")
    return {"kind": "tool", **{fact: block[fact] for fact in facts}}


def _complete(blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if block["kind"] == "tool" and not block["partial"]]


@pytest.mark.parametrize(("name", "case"), _cases(*SETS))
def test_a_neighbour_case_is_read_as_the_rules_say_in_pieces_of_any_size(
    name: str, case: Mapping[str, Any], read: Read
) -> None:
    expected = [_comparable(block, name) for block in case["blocks"]]
    whole = read(case["input"], name, None)
    assert [_comparable(block, name) for block in whole] == expected
    assert [read(case["input"], name, chunk) for chunk in CHUNKS[1:]] == [whole] * (len(CHUNKS) - 1)


def _cut_cases() -> list[Any]:
    """Without CDATA, inline code and a file that holds its own call: what comes later decides how these are read."""
    return [case for case in _cases("children", "batch") if _may_be_cut(case.values[1]["input"])]


def _may_be_cut(text: str) -> bool:
    return len(text) <= LONGEST_CUT and not any(sign in text for sign in ("CDATA", "`", "<content>Use <write_to_file>"))


@pytest.mark.long
@pytest.mark.parametrize(("name", "case"), _cut_cases())
def test_a_text_cut_anywhere_closes_no_call_that_the_whole_text_does_not_close(
    name: str, case: Mapping[str, Any], read: Read
) -> None:
    text = case["input"]
    whole = _complete(read(text, name, None))
    for end in range(len(text)):
        closed = _complete(read(text[:end], name, None))
        assert closed == whole[: len(closed)], text[:end]
