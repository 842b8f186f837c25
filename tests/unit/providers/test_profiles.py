"""What is known about models."""

from __future__ import annotations

import pytest

from app.providers.profiles import profile_of
from app.settings.providers import providers


@pytest.mark.parametrize(
    ("model", "tool", "sharp", "binds"),
    [
        ("claude-opus-5-5", "computer_toolset_20260801", True, True),
        ("claude-opus-4-7", "computer_20251124", True, False),
        ("claude-opus-4-5-20251101", "computer_20251124", False, False),
        ("claude-sonnet-5", "computer_toolset_20260801", True, False),
        ("claude-haiku-5-5", "computer_toolset_20260801", True, True),
        ("claude-fable-5", "computer_toolset_20260801", True, False),
        ("llama3.2", "", False, False),
    ],
)
def test_a_models_family_is_the_longest_beginning_of_its_id(model: str, tool: str, sharp: bool, binds: bool) -> None:
    profile = profile_of(model)
    assert (profile.computer_tool, profile.long_edge_px == 2576, profile.binds_thinking) == (tool, sharp, binds)


@pytest.mark.parametrize("spelled", ["anthropic/claude-sonnet-5-5", "us.anthropic.claude-sonnet-5-5-v1:0"])
def test_what_a_gateway_writes_in_front_does_not_count(spelled: str) -> None:
    assert profile_of(spelled) == profile_of("claude-sonnet-5-5")


def test_an_unknown_model_gets_what_is_safe_everywhere() -> None:
    profile = profile_of("somebodys-model-7b")
    assert (profile.dialect, profile.pictures, profile.cache, profile.thinking) == ("xml", None, False, "")
    assert profile == profile_of("")


def test_every_provider_with_a_model_of_its_own_names_one_that_is_known() -> None:
    assert profile_of(providers()["anthropic"].model).computer_tool == "computer_toolset_20260801"
    assert providers()["openai"].model == "gpt-5"
    assert providers()["offline"].model == ""
