"""The corpora, played: nothing gets out, and each case is stopped where it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.cases import HOSTILE, load
from tests.hostile.watching import play_all


@pytest.mark.parametrize("name", sorted(path.stem for path in HOSTILE.glob("*.jsonl")))
async def test_nothing_gets_out(name: str, tmp_path: Path) -> None:
    outcome = await play_all(load(HOSTILE / f"{name}.jsonl"), tmp_path / "room")
    assert outcome.effects == []
    assert outcome.wrong == []
