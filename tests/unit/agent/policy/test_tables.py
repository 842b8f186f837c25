"""Decisions as data: each line is a call, what it would act on, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.policy import Control, Decision, Mode, Policy, Provenance
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec, unbound
from app.services.sandbox.layout import CommandClass, SandboxRequest, classify

ROOT = Path(__file__).resolve().parents[3] / "data" / "policy"
SPECS = {spec.name: spec for spec in registry().specs} | {
    name: ToolSpec(name, "A stand-in.", effect, unbound)
    for name, effect in (("fetch", Effect.NETWORK), ("seek", Effect.NETWORK), ("keep_memory", Effect.SETTINGS))
}
OWN_KEYS = ("ctrl+alt+escape", "ctrl+alt+space")
SEVERITY = (Decision.ALLOW, Decision.ASK, Decision.DENY)


class Judge:
    """Judges commands as the product does, with a wall or without one."""

    def __init__(self, folder: Path, *, walled: bool) -> None:
        self._folder = folder
        self._missing = "" if walled else "There is no sandbox here."

    def classify(self, call: ToolCall) -> CommandClass | None:
        if call.name != "execute_command":
            return None
        wishes = SandboxRequest(network=call.flag("network"), outside=call.flag("outside"))
        cwd = self._folder / call.text("cwd", ".")
        return classify(call.text("command"), cwd, self._folder, wishes, no_wall=self._missing)


def _rows() -> Iterator[Any]:
    for path in sorted(ROOT.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield pytest.param(json.loads(line), id=f"{path.stem}-{number}")


ROWS = list(_rows())


def _policy(folder: Path, row: dict[str, Any]) -> Policy:
    around = PolicyDeps(Judge(folder, walled=not row.get("unwalled")), own_keys=OWN_KEYS)
    return Policy(folder, Mode(row.get("mode", "ask")), surroundings=around, persons=folder / "none.toml")


def _seen(row: dict[str, Any]) -> tuple[Control, ...]:
    told = row.get("seen")
    if told is None:
        return ()
    texts = {name: told.get(name, "") for name in ("window", "app", "role", "name", "default", "address")}
    return (Control(**texts, is_own=told.get("own", False), is_terminal=told.get("terminal", False)),)


def _provenance(row: dict[str, Any]) -> Provenance:
    return Provenance((row["tainted"],) if "tainted" in row else (), row.get("said", ""))


def test_there_are_rows_enough() -> None:
    assert len(ROWS) >= 200


@pytest.mark.parametrize("row", ROWS)
def test_the_decision_is_the_tables(row: dict[str, Any], tmp_path: Path) -> None:
    call = ToolCall("c1", row["tool"], row["args"])
    verdict = _policy(tmp_path, row).decide(call, SPECS[row["tool"]], _seen(row), _provenance(row))
    assert verdict.decision.value == row["expect"], verdict
    assert bool(verdict.sentence) is (verdict.decision is not Decision.ALLOW)


@pytest.mark.parametrize(("is_late", "expected"), [(False, "allow"), (True, "ask")])
def test_a_window_that_is_named_is_still_asked_for_while_input_is_on_its_way(
    is_late: bool,
    expected: str,
    tmp_path: Path,
) -> None:
    seen = (Control("Form", "form", window_ref="w1", is_known=False, is_late=is_late),)
    call = ToolCall("c1", "computer_type", {"text": "Ada"})
    verdict = _policy(tmp_path, {}).decide(call, SPECS[call.name], seen, Provenance((), "put a name into the form"))
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
        around = PolicyDeps(Judge(shared, walled=True), own_keys=OWN_KEYS)
        policy = Policy(shared, Mode(row.get("mode", "ask")), surroundings=around, persons=persons)
        return policy.decide(call, spec, _seen(row), _provenance(row)).decision

    plain, with_theirs = decided(_written(rules), ""), decided(_written(rules), _written(more))
    assert SEVERITY.index(with_theirs) >= SEVERITY.index(plain)
    if plain is Decision.DENY:
        assert decided(_written([*more, *rules]), "") is Decision.DENY
    if any(then == "deny" and not conditions for then, conditions in rules):
        assert plain is Decision.DENY


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")
