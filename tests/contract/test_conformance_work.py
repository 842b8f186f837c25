"""The cases of the projects that defined these tools, as far as they concern files, edits, commands and tasks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.services.workspace.blocks import EditRefused
from app.services.workspace.edits import apply_diff
from tests.conftest import DATA

_CASES = DATA / "conformance_work"
_DIFFS: list[dict[str, Any]] = json.loads((_CASES / "diff_search_replace.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", _DIFFS, ids=lambda case: case["id"])
def test_a_diff_gives_the_expected_file_or_an_error(case: dict[str, Any]) -> None:
    try:
        outcome = {"content": apply_diff(case["original"], case["diff"]).text}
    except EditRefused:
        outcome = {"error": "any"}
    wanted = [case["expected"], *case.get("accept", [])]
    assert outcome in [{"error": "any"} if "error" in one else one for one in wanted]
