"""What was found out about a model outlives the process."""

from __future__ import annotations

import pytest

from app.base import paths
from app.providers.profiles import ModelFacts, facts_of, remember

HERE = "http://127.0.0.1:11434/v1"


def test_nothing_is_known_at_first() -> None:
    assert facts_of(HERE, "llama3.2") == ModelFacts()


def test_what_is_remembered_belongs_to_one_model_at_one_address() -> None:
    facts = ModelFacts(pictures=False, tools=True).without("stream_options").without("max_tokens")
    remember(HERE, "llama3.2", facts)
    remember(HERE, "qwen3", ModelFacts(tools=False))
    assert facts_of(HERE, "llama3.2") == facts
    assert facts_of(HERE, "qwen3") == ModelFacts(tools=False)
    assert facts_of("http://elsewhere/v1", "llama3.2") == ModelFacts()


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", '{"m at a": 3}', '{"m at a": {"pictures": "yes", "declined": 7}}', "\x00\xff"]
)
def test_a_damaged_file_is_nothing_known_and_can_be_written_again(damaged: str) -> None:
    (paths.state_dir() / "models.json").write_text(damaged, encoding="utf-8")
    assert facts_of("a", "m") == ModelFacts()
    remember("a", "m", ModelFacts(pictures=True))
    assert facts_of("a", "m") == ModelFacts(pictures=True)


def test_a_folder_that_cannot_be_written_to_costs_nothing() -> None:
    (paths.state_dir() / "models.json").mkdir()
    remember("a", "m", ModelFacts(pictures=True))
    assert facts_of("a", "m") == ModelFacts()
