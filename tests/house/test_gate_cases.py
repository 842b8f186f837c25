"""The gate's cases on real programs: well formed, and wide enough that a gate cannot pass by knowing a few of them."""

from __future__ import annotations

from collections import Counter

from tests.support.gate_cases import load_cases

CASES = load_cases()
HOSTILE = [case for case in CASES if not case.benign]
BENIGN = [case for case in CASES if case.benign]
_LEAST_OF_A_RULE = 40


def test_hostile_cases_cover_rules_programs_toolkits_and_layouts() -> None:
    assert len(HOSTILE) >= 250
    of_rule = Counter(case.rule for case in HOSTILE)
    assert [rule for rule in (1, 2, 3, 4, 5, 6, 7, 8, 11) if of_rule[rule] < _LEAST_OF_A_RULE] == []
    assert len({case.program for case in HOSTILE}) >= 12
    assert len({case.toolkit for case in HOSTILE}) >= 5
    assert {case.layout for case in HOSTILE} == {"us", "de", "fr"}


def test_harmless_twins_cover_programs_that_describe_nothing() -> None:
    assert len(BENIGN) >= 200
    silent = {case.program for case in BENIGN if case.kind == "says nothing"}
    assert len(silent) >= 10


def test_a_case_that_names_a_start_waits_for_something_or_says_how_it_is_judged() -> None:
    assert not [case.id for case in CASES if not case.seen or not case.task or not case.replies]
