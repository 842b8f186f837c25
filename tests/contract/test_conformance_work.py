"""The cases of the projects that defined these tools, as far as they concern files, edits and tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.base.errors import WispError
from app.protocol.payload import decode
from app.services.files.edits import EditRefused, apply_diff
from app.services.files.places import Workspace
from app.services.files.reading import sliced
from app.services.tasks import parse_line, parse_options
from tests.conftest import DATA

_CASES = DATA / "conformance_work"
_DIFFS: list[dict[str, Any]] = json.loads((_CASES / "diff_search_replace.json").read_text(encoding="utf-8"))["cases"]
_TOOLS: list[dict[str, Any]] = json.loads((_CASES / "tool_semantics.json").read_text(encoding="utf-8"))["cases"]


def _of(kind: str) -> pytest.MarkDecorator:
    cases = [case for case in _TOOLS if case["kind"] == kind]
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


@pytest.mark.parametrize("case", _DIFFS, ids=lambda case: case["id"])
def test_a_diff_gives_the_expected_file_or_an_error(case: dict[str, Any]) -> None:
    try:
        outcome = {"content": apply_diff(case["original"], case["diff"]).text}
    except EditRefused:
        outcome = {"error": "any"}
    wanted = [case["expected"], *case.get("accept", [])]
    assert outcome in [{"error": "any"} if "error" in one else one for one in wanted]


@_of("unescape_entities")
def test_entities_are_decoded_once(case: dict[str, Any]) -> None:
    assert decode(case["input"]) == case["expected"]


@_of("parse_options")
def test_answers_are_separated(case: dict[str, Any]) -> None:
    assert list(parse_options(case["input"])) == case["expected"]


@_of("checklist_line")
def test_boxes_and_ticks_are_read(case: dict[str, Any]) -> None:
    item = parse_line(case["line"])
    assert {"item": item is not None, "done": item is not None and item.done} == case["expected"]


@_of("read_slice")
def test_lines_are_numbered_and_bounded(case: dict[str, Any]) -> None:
    wanted = case["expected"]
    text = sliced(iter([case["content"]]), case.get("start_line"), case.get("end_line")).numbered()
    assert text == wanted.get("equals", text)
    assert text.startswith(wanted.get("starts_with", ""))
    assert [part for part in wanted.get("not_contains", []) if part in text] == []
    assert [part for part in wanted.get("mentions", []) if part not in text] == []


@_of("sandbox_path")
def test_writes_stay_in_their_folders(case: dict[str, Any], tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, home=tmp_path / "home", temp=tmp_path / "tmp")
    try:
        workspace.check_writable(workspace.locate(case["path"]))
    except WispError:
        outcome = "reject"
    else:
        outcome = "accept"
    assert outcome == case["expected"]
