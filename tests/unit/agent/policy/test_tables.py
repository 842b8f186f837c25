"""Decisions as data, and what no rule may change about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.policy import Decision, Mode, Policy, Provenance
from app.agent.policy.policy import PolicyDeps
from app.protocol.call import ToolCall
from app.protocol.spec import Effect
from tests.support.controls import described
from tests.support.policy_rows import OWN_KEYS, ROWS, SPECS, Judge, policy_of, provenance_of, seen_in

SEVERITY = (Decision.ALLOW, Decision.ASK, Decision.DENY)


@pytest.mark.parametrize("row", ROWS)
def test_the_decision_is_the_tables(row: dict[str, Any], tmp_path: Path) -> None:
    call = ToolCall("c1", row["tool"], row["args"])
    verdict = policy_of(row, tmp_path).decide(call, SPECS[row["tool"]], seen_in(row), provenance_of(row))
    assert verdict.decision.value == row["expect"], verdict
    assert bool(verdict.sentence) is (verdict.decision is not Decision.ALLOW)


@pytest.mark.parametrize(("is_late", "expected"), [(False, "allow"), (True, "ask")])
def test_a_window_that_is_named_is_still_asked_for_while_input_is_on_its_way(
    is_late: bool,
    expected: str,
    tmp_path: Path,
) -> None:
    seen = (described("Form", "form", ref="w1", is_known=False, is_late=is_late),)
    call = ToolCall("c1", "computer_type", {"text": "Ada"})
    verdict = policy_of({}, tmp_path).decide(call, SPECS[call.name], seen, Provenance((), "put a name into the form"))
    assert verdict.decision.value == expected, verdict


_WORDS = st.text(alphabet="abcdeSendlt*?[] .|-", min_size=1, max_size=12)
_CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["*", "computer_*", "write_file", "execute_command"]),
        "effect": st.sampled_from([effect.value for effect in Effect]),
        "kind": st.sampled_from(["own", "secret", "outward", "*", "starts", "looks"]),
        "mode": st.sampled_from([mode.value for mode in Mode]),
        "control": _WORDS,
        "command": _WORDS,
        "path": _WORDS,
        "tainted": st.booleans(),
    },
)
_RULES = st.lists(st.tuples(st.sampled_from(["deny", "ask", "allow"]), _CONDITIONS), max_size=4)


def _written(rules: list[tuple[str, dict[str, Any]]]) -> str:
    blocks = [{"then": then, "tool": "*", **conditions} for then, conditions in rules]
    return "".join(
        "[[rule]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in block.items()) for block in blocks
    )


@settings(deadline=None)
@given(row=st.sampled_from([param.values[0] for param in ROWS]), rules=_RULES, more=_RULES)
def test_no_rule_loosens_a_denial_and_no_workspace_loosens_anything(
    row: Any, rules: list[tuple[str, dict[str, Any]]], more: list[tuple[str, dict[str, Any]]], shared: Path
) -> None:
    (shared / ".wisp").mkdir(exist_ok=True)
    persons, theirs = shared / "person.toml", shared / ".wisp" / "policy.toml"
    call, spec = ToolCall("c1", row["tool"], row["args"]), SPECS[row["tool"]]

    def decided(person: str, workspace: str) -> Decision:
        persons.write_text(person)
        theirs.write_text(workspace)
        around = PolicyDeps(Judge(shared, sandboxed=True), own_keys=OWN_KEYS)
        policy = Policy(shared, Mode(row.get("mode", "ask")), surroundings=around, persons=persons)
        return policy.decide(call, spec, seen_in(row), provenance_of(row)).decision

    plain, with_theirs = decided(_written(rules), ""), decided(_written(rules), _written(more))
    assert SEVERITY.index(with_theirs) >= SEVERITY.index(plain)
    if plain is Decision.DENY:
        assert decided(_written([*more, *rules]), "") is Decision.DENY
    if any(then == "deny" and not conditions for then, conditions in rules):
        assert plain is Decision.DENY


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")
