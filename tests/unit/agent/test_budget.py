"""The account of a turn."""

from __future__ import annotations

import pytest

from app.agent.agent_events import UsageChanged
from app.agent.budget import Budget, Ceilings, Price, price_of
from app.providers.api import Usage
from app.settings.store import Settings
from tests.support.stage import FakeClock

_WIDE = Ceilings(passes=100, seconds=100.0, tokens=1_000_000, cost_usd=100.0)


def _price(**figures: float) -> Price:
    known = {"input": 1.0, "output": 10.0, "cache_read": 0.1, "cache_write": 2.0, **figures}
    return Price(prefix="m", **known)


def test_reports_of_one_stream_are_cumulative_and_streams_add_up() -> None:
    budget = Budget(_WIDE, _price(), FakeClock())
    budget.begin_stream()
    budget.add(Usage(input_tokens=100, output_tokens=1))
    budget.add(Usage(output_tokens=50))
    budget.begin_stream()
    budget.add(Usage(input_tokens=10, output_tokens=5, cache_read_tokens=100, cache_write_tokens=20))
    assert budget.changed() == UsageChanged(110, 55, 100, 20, 0.00071)
    assert budget.prompt_tokens == 130


def test_a_model_without_a_known_price_costs_an_unknown_amount() -> None:
    budget = Budget(_WIDE, price_of("a-model-nobody-has-heard-of"), FakeClock())
    budget.add(Usage(input_tokens=10**6))
    assert budget.changed() == UsageChanged(10**6, 0, 0, 0, None)


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("claude-sonnet-5-5-20260901", "claude-sonnet-5-5"),
        ("claude-sonnet-5", "claude-sonnet-5"),
        ("claude-opus-4-1-20250805", "claude-opus-4"),
        ("claude-opus-4-8", "claude-opus-4-8"),
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gpt-5.9", ""),
        ("claude-sonnet-50", ""),
    ],
)
def test_the_longest_known_part_of_an_id_gives_the_price(model: str, prefix: str) -> None:
    found = price_of(model)
    assert (found.prefix if found else "") == prefix


@pytest.mark.parametrize(
    ("ceilings", "setting"),
    [
        (Ceilings(2, 1e9, 10**9, 1e9), "chat.max_passes"),
        (Ceilings(9, 60, 10**9, 1e9), "chat.max_seconds"),
        (Ceilings(9, 1e9, 1000, 1e9), "chat.max_tokens"),
        (Ceilings(9, 1e9, 10**9, 0.001), "chat.max_cost_usd"),
        (Ceilings(9, 1e9, 10**9, 1e9), ""),
    ],
)
def test_each_ceiling_ends_the_turn_and_names_its_setting(ceilings: Ceilings, setting: str) -> None:
    clock = FakeClock()
    budget = Budget(ceilings, _price(), clock)
    budget.passes = 2
    budget.add(Usage(input_tokens=500, output_tokens=1000))
    clock.advance(61)
    assert budget.exceeded().rpartition(" ")[2] == setting


def test_waiting_for_the_person_is_not_time_of_the_turn() -> None:
    clock = FakeClock()
    budget = Budget(Ceilings(9, 60, 10**9, 1e9), None, clock)
    with budget.waiting():
        clock.advance(50)
        with budget.waiting():
            clock.advance(50)
        assert budget.seconds_left == 60
    clock.advance(50)
    assert (budget.seconds_left, budget.exceeded()) == (10, "")


def test_ceilings_come_from_the_settings() -> None:
    settings = Settings({"chat.max_passes": 3, "chat.max_seconds": 4, "chat.max_tokens": 5000}, {})
    assert Ceilings.of(settings) == Ceilings(3, 4.0, 5000, 5.0)
