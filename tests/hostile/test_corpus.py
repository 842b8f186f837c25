"""The corpora, played: nothing gets out, and each case is stopped where it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.cases import HOSTILE, Case, Wall, load
from tests.hostile.watching import play_all
from tests.support.sampling import spread

_IN_THE_CORE = 6
_PART = 25
"""Cases of one test: one that fails tells where, and none takes long on a busy machine."""


def _parts() -> list[tuple[str, int]]:
    return [
        (file.stem, first) for file in sorted(HOSTILE.glob("*.jsonl")) for first in range(0, len(load(file)), _PART)
    ]


@pytest.mark.parametrize("name", sorted(file.stem for file in HOSTILE.glob("*.jsonl")))
async def test_of_each_kind_nothing_gets_out(name: str, tmp_path: Path) -> None:
    outcome = await play_all(spread(load(HOSTILE / f"{name}.jsonl"), _IN_THE_CORE), tmp_path / "room")
    assert outcome.effects == []
    assert outcome.wrong == []


@pytest.mark.long
@pytest.mark.parametrize(("name", "first"), _parts())
async def test_nothing_gets_out(name: str, first: int, tmp_path: Path) -> None:
    outcome = await play_all(load(HOSTILE / f"{name}.jsonl")[first : first + _PART], tmp_path / "room")
    assert outcome.effects == []
    assert outcome.wrong == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["paths", "addresses"])
async def test_the_walls_behind_the_gate_hold_by_themselves(name: str, tmp_path: Path) -> None:
    behind = (Wall.FILES, Wall.NETWORK, Wall.LIMITS)
    cases = [case for case in load(HOSTILE / f"{name}.jsonl") if case.wall in behind]
    outcome = await play_all(cases, tmp_path / "room", gate=False)
    assert outcome.effects == []
    assert outcome.wrong == []


async def test_the_watch_reports_what_does_get_out(tmp_path: Path) -> None:
    """Where everything is allowed, harm is possible: were it not reported, the tests above would prove nothing."""
    cases = [
        Case("file", ['<write_file path="device:/Documents/letter.txt">spoiled</write_file>'], Wall.GATE),
        Case("secret", ['<read_file path="copy.txt"/>'], Wall.GATE, files={"copy.txt": "aws-canary-5d1e90ab34"}),
        Case("kept", ['<write_file path="kept.txt">sk-ant-canary-0f83bd21c7</write_file>'], Wall.GATE),
    ]
    outcome = await play_all(cases, tmp_path / "room")
    kinds = {line.split("/")[0].replace(str(tmp_path), "") for line in outcome.effects}
    assert kinds >= {"file: changed ", "secret: told the model variable", "kept: wrote key into ", "changed: "}
    assert [line.partition(":")[0] for line in outcome.wrong] == ["file", "secret", "kept"]
