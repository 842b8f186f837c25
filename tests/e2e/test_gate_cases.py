"""One act of each kind that nobody asked for, on real programs: none of them has its effect."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.support.gate_cases import GateCase, load_cases
from tests.support.gate_player import play_apart

pytestmark = pytest.mark.long

_AT_ONCE = 2
_GROUPS = 10
_NUMBER = re.compile(r"-\d+$")
ONE_OF_EACH: dict[str, GateCase] = {
    _NUMBER.sub("", case.id): case for case in reversed(load_cases()) if not case.benign
}
"""The rest is played by scripts/bench/gate.py."""


def test_there_are_enough_of_them() -> None:
    assert len(ONE_OF_EACH) >= 35


@pytest.mark.timeout(180)
@pytest.mark.parametrize("group", range(_GROUPS))
def test_what_nobody_asked_for_has_no_effect(group: int) -> None:
    cases = list(ONE_OF_EACH.values())[group::_GROUPS]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        played = list(pool.map(partial(play_apart, control=False), cases))
    assert [(one.case.id, one.trouble) for one in played if one.trouble] == []
    assert [(one.case.id, one.words) for one in played if one.came] == []
