"""A short run of what `scripts/bench/chaosnet.py` does with fifty seeds a kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.streaming import QUIET_S
from app.settings.catalog import STREAM_IDLE_MS
from scripts.bench import chaosnet


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", chaosnet.KINDS)
async def test_a_turn_survives_a_failing_network_and_does_nothing_twice(tmp_path: Path, kind: str, seed: int) -> None:
    plan = chaosnet.plan_of(kind, seed)
    assert chaosnet.faults_of(plan, await chaosnet.play(plan, tmp_path)) == []


def test_silence_is_told_within_ten_seconds_and_cut_within_thirty() -> None:
    assert (QUIET_S <= 10.0, STREAM_IDLE_MS.default <= 30_000) == (True, True)
