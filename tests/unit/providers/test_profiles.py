"""What is known about models, and how large a picture may be."""

from __future__ import annotations

import pytest

from app.base.geometry import Size
from app.providers.profiles import default_model, picture_tokens, profile_of

STANDARD, SHARP = "claude-opus-4-6", "claude-sonnet-5-5"


@pytest.mark.parametrize(
    ("model", "tool", "sharp", "binds"),
    [
        ("claude-opus-5-5", "computer_toolset_20260801", True, True),
        ("claude-opus-5", "computer_toolset_20260801", True, False),
        ("claude-opus-4-8", "computer_toolset_20260801", True, False),
        ("claude-opus-4-7", "computer_20251124", True, False),
        ("claude-opus-4-6", "computer_20251124", False, False),
        ("claude-opus-4-5-20251101", "computer_20251124", False, False),
        ("claude-opus-4-1-20250805", "", False, False),
        ("claude-sonnet-5-5", "computer_toolset_20260801", True, True),
        ("claude-sonnet-5", "computer_toolset_20260801", True, False),
        ("claude-sonnet-4-6", "computer_20251124", False, False),
        ("claude-sonnet-4-5-20250929", "computer_20250124", False, False),
        ("claude-haiku-5-5", "computer_toolset_20260801", True, True),
        ("claude-haiku-4-5", "computer_20250124", False, False),
        ("claude-fable-5", "computer_toolset_20260801", True, False),
        ("claude-fable-5-1", "computer_toolset_20260801", True, True),
        ("claude-mythos-5-2", "computer_toolset_20260801", True, True),
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


@pytest.mark.parametrize(
    ("screen", "model", "fitted", "tokens"),
    [
        (Size(1366, 768), STANDARD, Size(1366, 768), 1372),
        (Size(1920, 1080), STANDARD, Size(1456, 819), 1560),
        (Size(1920, 1200), STANDARD, Size(1389, 868), 1550),
        (Size(2560, 1440), STANDARD, Size(1456, 819), 1560),
        (Size(1280, 720), STANDARD, Size(1280, 720), 1196),
        (Size(1920, 1080), SHARP, Size(1920, 1080), 2691),
        (Size(1920, 1200), SHARP, Size(1920, 1200), 2967),
        (Size(2560, 1440), SHARP, Size(2560, 1440), 4784),
        (Size(3840, 2160), SHARP, Size(2576, 1449), 4784),
    ],
)
def test_a_picture_is_as_large_as_the_model_reads_it(screen: Size, model: str, fitted: Size, tokens: int) -> None:
    """Figures of the vendor's page on vision."""
    assert profile_of(model).fitted(screen) == fitted
    assert picture_tokens(fitted) == tokens


def test_a_tall_or_tiny_picture_keeps_its_shape() -> None:
    assert profile_of(STANDARD).fitted(Size(1080, 1920)) == Size(819, 1456)
    assert profile_of(STANDARD).fitted(Size(1, 1)) == Size(1, 1)
    assert profile_of(STANDARD).fitted(Size(30000, 2)) == Size(1568, 1)


def test_every_provider_with_a_model_of_its_own_names_one_that_is_known() -> None:
    assert profile_of(default_model("anthropic")).computer_tool == "computer_toolset_20260801"
    assert default_model("openai") == "gpt-5"
    assert default_model("offline") == ""
