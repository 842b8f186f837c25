"""Links that appear between the look and the act. The long run: `python -m scripts.bench.hostile --races 100000`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.racing import race

pytestmark = pytest.mark.long
_ROUNDS = 400


def test_a_link_that_appears_meanwhile_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    result = race(tmp_path, _ROUNDS)
    assert (result.rounds, result.escapes) == (_ROUNDS, [])
    assert result.refused
