"""What may run, what is asked, what is denied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.agent.policy import Decision, Mode, Policy, Verdict
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue
from app.protocol.spec import Effect, Param, ToolSpec, unbound


def _spec(effect: Effect) -> ToolSpec:
    return ToolSpec("probe", "A probe.", effect, unbound, attrs=(Param("path"),))


def _decide(folder: Path, mode: Mode, effect: Effect, arguments: Mapping[str, JsonValue] | None = None) -> Decision:
    call = ToolCall("c1", "probe", arguments or {})
    return Policy(folder, mode).decide(call, _spec(effect)).decision


@pytest.mark.parametrize(
    ("mode", "allowed"),
    [
        (Mode.ASK, {Effect.READS, Effect.TALKS, Effect.DESKTOP, Effect.WRITES}),
        (Mode.AUTO, {Effect.READS, Effect.TALKS, Effect.DESKTOP, Effect.WRITES, Effect.NETWORK}),
        (Mode.PLAN, {Effect.READS, Effect.TALKS}),
        (Mode.YOLO, set(Effect)),
    ],
)
def test_each_mode_allows_exactly_its_effects(tmp_path: Path, mode: Mode, allowed: set[Effect]) -> None:
    decisions = {effect: _decide(tmp_path, mode, effect) for effect in Effect}
    assert {effect for effect, decision in decisions.items() if decision is Decision.ALLOW} == allowed
    rest = Decision.DENY if mode is Mode.PLAN else Decision.ASK
    assert {decision for effect, decision in decisions.items() if effect not in allowed} <= {rest}


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("notes/a.txt", Decision.ALLOW),
        ("wisp:/a.txt", Decision.ALLOW),
        ("wisp:a.txt", Decision.ALLOW),
        ("wisp:/~/a.txt", Decision.ASK),
        ("~/a.txt", Decision.ASK),
        ("~", Decision.ASK),
        ("C:\\a.txt", Decision.ASK),
        ("wisp:/../escape.txt", Decision.ASK),
        ("../a.txt", Decision.ASK),
        ("/etc/passwd", Decision.ASK),
        ("device:/a.txt", Decision.ASK),
        ("notes/../../a.txt", Decision.ASK),
        ("link/a.txt", Decision.ASK),
        ("a\0b", Decision.ASK),
    ],
)
def test_writing_is_free_inside_the_workspace_only(tmp_path: Path, path: str, decision: Decision) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)
    assert _decide(workspace, Mode.ASK, Effect.WRITES, {"path": path}) is decision


def test_one_path_outside_is_enough_to_ask(tmp_path: Path) -> None:
    assert _decide(tmp_path, Mode.ASK, Effect.WRITES, {"path": ["a.txt", "/b.txt"]}) is Decision.ASK


def test_a_verdict_says_why(tmp_path: Path) -> None:
    call = ToolCall("c1", "probe", {"path": "/etc/passwd"})
    assert Policy(tmp_path).decide(call, _spec(Effect.WRITES)) == Verdict(
        Decision.ASK, "probe writes outside the workspace: /etc/passwd"
    )
    assert Policy(tmp_path, Mode.PLAN).decide(call, _spec(Effect.EXECUTES)) == Verdict(
        Decision.DENY, "In plan mode nothing that runs a program may run. Say what you would do instead of doing it."
    )


def test_an_effect_the_rules_do_not_name_is_denied(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[modes.ask]\nreads = "allow"\n[paths]\narguments = []\nown = "wisp:/"\n[does]\n'
        '[sentences]\ndeny = "No $does."\nask = ""\noutside = ""\n'
    )
    verdict = Policy(tmp_path, Mode.ASK, rules).decide(ToolCall("c1", "probe"), _spec(Effect.EXECUTES))
    assert verdict == Verdict(Decision.DENY, "No executes.")
