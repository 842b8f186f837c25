"""The system prompt, word for word. After a deliberate change: copy what the failing test shows into the data file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from app.agent.prompt import rendered, system_prompt
from app.base import paths
from app.protocol.spec import ToolSpec
from app.settings.store import Settings


class _Teacher:
    """A dialect that teaches one word, so that the golden file holds the prompt's own words only."""

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        return f"TOOLS: {len(specs)}"


def _prompt(settings: Settings | None = None, folder: Path | None = None) -> str:
    return system_prompt(_Teacher(), (), settings or Settings({}, {}), folder)  # type: ignore[arg-type]


def test_name_and_manner_come_from_the_settings() -> None:
    prompt = _prompt(Settings({"presence.name": "Ada", "presence.personality": "dry"}, {}))
    assert "You are Ada, an assistant" in prompt
    assert "Your manner: dry." in prompt


def test_parts_come_in_the_order_of_their_names_and_the_tools_last(tmp_path: Path) -> None:
    (tmp_path / "20-b.md").write_text("Second.\n\n")
    (tmp_path / "10-a.md").write_text("\nFirst: $name.\n")
    assert _prompt(folder=tmp_path) == "First: Wisp.\n\nSecond.\n\nTOOLS: 0\n"


def test_no_part_names_a_tool_that_the_registry_must_then_have() -> None:
    """Except the two that end a turn: the prompt must stay true whatever tools a build has."""
    folder = paths.resources() / "prompts" / "system"
    words = " ".join(file.read_text(encoding="utf-8") for file in folder.glob("*.md"))
    assert set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", words)) == {"attempt_completion", "wait_for_human_input"}


def test_facts_are_rendered_under_their_headings() -> None:
    facts = {"Time": "Saturday, 10:00", "Screen": "1280x800\n"}
    assert rendered(facts) == "# Facts of this moment\n\n## Time\nSaturday, 10:00\n\n## Screen\n1280x800\n"
    assert rendered({}) == ""
