"""The examples of the tool usage guide do what the guide says, written exactly as it writes them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.support.workbench import Bench

_FILE = DATA / "conformance_work" / "guide_examples.json"
_EXAMPLES: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))["examples"]
_OLD = "export function add(a: number, b: number): number {\n  return a + b;\n}\n"
_ANSWERS = {
    "ask_followup_question": "The person was asked.",
    "execute_command": "ended with exit code 127",
    "focus_chain": "There is no checklist yet: give task_progress.",
    "list_code_definition_names": "src/components/a.tsx:\n1 | export class Panel {}",
    "list_files": "src/core:\ndeep/\ndeep/b.ts",
    "new_task": "A fresh conversation begins.",
    "plan_mode_respond": "The plan was shown.",
    "read_file": "1 | export function add(a: number, b: number): number {",
    "replace_in_file": "Edited 'src/lib/utils.ts'. block 1: replaced lines 1-3.",
    "search_files": "1 match in 1 file.\ncore/deep/b.ts\n1: TODO()",
    "write_to_file": "Created 'src/config/app.json': 7 lines,",
}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    sources = {"lib/utils.ts": _OLD, "components/a.tsx": "export class Panel {}\n", "core/deep/b.ts": "TODO()\n"}
    for name, text in sources.items():
        (made.root / "src" / name).parent.mkdir(parents=True)
        (made.root / "src" / name).write_text(text)
    made.talk.planning = True
    yield made
    await made.stop_all()


def test_every_example_has_its_answer() -> None:
    assert set(_ANSWERS) == set(_EXAMPLES)


@pytest.mark.parametrize("tool", _EXAMPLES)
async def test_an_example_runs(bench: Bench, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = await bench.xml(_EXAMPLES[tool])
    assert (result.ok, _ANSWERS[tool] in result.llm_echo) == (True, True), result.llm_echo


async def test_the_options_of_the_example_are_three(bench: Bench) -> None:
    result = await bench.xml(_EXAMPLES["ask_followup_question"])
    assert result.payload["options"] == ["OAuth2", "SAML", "Passwordless email magic link"]


async def test_the_edit_of_the_example_changes_its_one_line(bench: Bench) -> None:
    await bench.xml(_EXAMPLES["replace_in_file"])
    assert (bench.root / "src/lib/utils.ts").read_text() == _OLD.replace("a + b;", "a + b + 1;")


async def test_the_file_of_the_example_keeps_its_indentation(bench: Bench) -> None:
    await bench.xml(_EXAMPLES["write_to_file"])
    written = (bench.root / "src/config/app.json").read_text()
    assert json.loads(written) == {"logLevel": "info", "featureFlags": {"betaDashboard": True}}
    assert '  {\n    "logLevel": "info",\n' in written
