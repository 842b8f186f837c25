"""What may run, what is asked, what is denied: the order of rules, the modes, and where a verdict comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.policy import Control, Decision, Mode, Policy, Provenance
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.protocol.call import JsonValue, ToolCall
from app.protocol.spec import Effect, Param, ScreenAim, ToolSpec, unbound
from app.services.sandbox.layout import CommandClass
from tests.support.controls import described
from tests.support.stage import FakeClock

READ = Provenance(("screen",))

SPECS = {spec.name: spec for spec in registry().specs}


def _spec(effect: Effect, name: str = "probe") -> ToolSpec:
    return ToolSpec(name, "A probe.", effect, unbound, attrs=(Param("path"),), aim=ScreenAim.NONE)


def _policy(folder: Path, mode: Mode = Mode.ASK, rules: str = "", theirs: str = "") -> Policy:
    """With the person's rules and the workspace's."""
    workspace = folder / "workspace"
    (workspace / ".wisp").mkdir(parents=True, exist_ok=True)
    (folder / "policy.toml").write_text(rules)
    (workspace / ".wisp" / "policy.toml").write_text(theirs)
    around = PolicyDeps(tools=(*registry().specs, _spec(Effect.READS)))
    return Policy(workspace, mode, surroundings=around, persons=folder / "policy.toml")


def _decide(policy: Policy, effect: Effect, arguments: Mapping[str, JsonValue] | None = None) -> Decision:
    return policy.decide(ToolCall("c1", "probe", arguments or {}), _spec(effect), (), Provenance()).decision


@pytest.mark.parametrize(
    ("mode", "allowed"),
    [
        (Mode.ASK, {Effect.READS, Effect.TALKS, Effect.DESKTOP, Effect.WRITES}),
        (Mode.AUTO, {Effect.READS, Effect.TALKS, Effect.DESKTOP, Effect.WRITES, Effect.NETWORK, Effect.EXECUTES}),
        (Mode.PLAN, {Effect.READS, Effect.TALKS}),
        (Mode.YOLO, set(Effect)),
    ],
)
def test_each_mode_allows_exactly_its_effects(tmp_path: Path, mode: Mode, allowed: set[Effect]) -> None:
    policy = _policy(tmp_path, mode)
    decisions = {effect: _decide(policy, effect) for effect in Effect}
    assert {effect for effect, decision in decisions.items() if decision is Decision.ALLOW} == allowed
    rest = Decision.DENY if mode is Mode.PLAN else Decision.ASK
    assert {decision for effect, decision in decisions.items() if effect not in allowed} <= {rest}


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("notes/a.txt", Decision.ALLOW),
        ("wisp:a.txt", Decision.ALLOW),
        ("~", Decision.ASK),
        ("../a.txt", Decision.ASK),
        ("link/a.txt", Decision.ASK),
        (".git/hooks/pre-commit", Decision.DENY),
        ("/root/.ssh/authorized_keys", Decision.DENY),
    ],
)
def test_writing_is_free_inside_the_workspace_only(tmp_path: Path, path: str, decision: Decision) -> None:
    policy = _policy(tmp_path)
    (tmp_path / "workspace" / "link").symlink_to(tmp_path)
    assert _decide(policy, Effect.WRITES, {"path": path}) is decision


def test_a_rule_for_a_path_holds_behind_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "shown").symlink_to(tmp_path / "real")
    policy = _policy(tmp_path, rules=f'[[rule]]\nthen = "deny"\npath = "{tmp_path}/shown/*"\n')
    for path in (tmp_path / "shown" / "a.txt", tmp_path / "real" / "a.txt"):
        assert _decide(policy, Effect.WRITES, {"path": str(path)}) is Decision.DENY


def test_one_path_outside_is_enough_to_ask(tmp_path: Path) -> None:
    assert _decide(_policy(tmp_path), Effect.WRITES, {"path": ["a.txt", "/b.txt"]}) is Decision.ASK


def test_a_verdict_says_why_and_which_rule_decided(tmp_path: Path) -> None:
    call = ToolCall("c1", "probe", {"path": "/etc/passwd"})
    asked = _policy(tmp_path).decide(call, _spec(Effect.WRITES), (), Provenance())
    assert (asked.decision, asked.sentence) == (Decision.ASK, "It writes outside the workspace: /etc/passwd.")
    assert (asked.rule, asked.where, asked.may_remember) == ("mode ask: outside", "default.toml", True)
    denied = _policy(tmp_path, Mode.PLAN).decide(call, _spec(Effect.EXECUTES), (), Provenance())
    assert denied.sentence == (
        "In plan mode nothing that runs a program may run. Say what you would do instead of doing it."
    )
    assert denied.rule == "plan looks only"


@pytest.mark.parametrize(
    ("rules", "decision", "rule"),
    [
        ("", Decision.ASK, "mode ask: outward"),
        ('[[rule]]\nname = "mine"\nthen = "allow"\ntool = "probe"\n', Decision.ALLOW, "mine"),
        (
            '[[rule]]\nname = "mine"\nthen = "allow"\ntool = "probe"\n'
            '[[rule]]\nname = "careful"\nthen = "ask"\napp = "mail*"\n',
            Decision.ASK,
            "careful",
        ),
        (
            '[[rule]]\nname = "mine"\nthen = "allow"\ntool = "probe"\n'
            '[[rule]]\nname = "careful"\nthen = "ask"\napp = "mail*"\n'
            '[[rule]]\nname = "never"\nthen = "deny"\ncontrol = "SEND"\n',
            Decision.DENY,
            "never",
        ),
    ],
)
def test_deny_comes_before_ask_before_allow_before_the_mode(
    tmp_path: Path, rules: str, decision: Decision, rule: str
) -> None:
    seen = (described("Letter", "mailer", "button", "Send"),)
    verdict = _policy(tmp_path, rules=rules).decide(ToolCall("c1", "probe"), _spec(Effect.DESKTOP), seen, Provenance())
    assert (verdict.decision, verdict.rule) == (decision, rule)


def test_a_rule_names_its_file_and_line(tmp_path: Path) -> None:
    rules = '# mine\n\n[[rule]]\nthen = "deny"\ntool = "say"\n\n[[rule]]\nthen = "deny"\ntool = "probe"\n'
    verdict = _policy(tmp_path, rules=rules).decide(ToolCall("c1", "probe"), _spec(Effect.READS), (), Provenance())
    assert verdict.where == f"{tmp_path / 'policy.toml'}:7"


def test_a_workspace_only_makes_things_stricter(tmp_path: Path) -> None:
    policy = _policy(tmp_path, theirs='[[rule]]\nname = "free"\nthen = "allow"\neffect = "executes"\n')
    assert _decide(policy, Effect.EXECUTES) is Decision.ASK
    assert policy.book.problems == (
        f"{tmp_path / 'workspace' / '.wisp' / 'policy.toml'}:1: a workspace's rules cannot allow anything; the rule "
        "'free' is passed over.",
    )
    strict = _policy(tmp_path, theirs='[[rule]]\nthen = "deny"\npath = "secret"\n')
    assert _decide(strict, Effect.READS, {"path": "secret/a.txt"}) is Decision.DENY


@pytest.mark.parametrize(
    "rules",
    [
        "[[rule]\n",
        'rule = "x"\n',
        "[rule]\nx = 1\n",
        '[modes.ask]\nexecutes = "allow"\n',
        '[[rule]]\nthen = "permit"\n',
        '[[rule]]\nthen = "allow"\n',
        '[[rule]]\nthen = "deny"\ntol = "x"\n',
        '[[rule]]\nthen = "deny"\ntool = 3\n',
        '[[rule]]\nthen = "deny"\neffect = "execute"\n',
        '[[rule]]\nthen = "deny"\ntainted = "yes"\n',
    ],
)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO, Mode.YOLO])
def test_a_file_that_cannot_be_used_makes_everything_ask(tmp_path: Path, rules: str, mode: Mode) -> None:
    for policy in (_policy(tmp_path, mode, rules=rules), _policy(tmp_path, mode, theirs=rules)):
        decisions = {effect: _decide(policy, effect) for effect in Effect}
        looking = {effect for effect, decision in decisions.items() if decision is Decision.ALLOW}
        assert looking == {Effect.READS, Effect.TALKS}
        assert policy.book.broken and policy.book.problems


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO, Mode.YOLO])
@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("notes.md", Decision.ALLOW),
        ("device:/Documents/letter.txt", Decision.ASK),
        ("/etc/hostname", Decision.ASK),
        ("nowhere:/notes.md", Decision.ASK),
    ],
)
def test_a_broken_file_may_have_meant_to_deny_reading_outside_the_workspace(
    tmp_path: Path, path: str, decision: Decision, mode: Mode
) -> None:
    spec = registry().find("read_file")
    assert spec
    policy = _policy(tmp_path, mode, rules='[[rule]]\nthen = "dney"\npath = "~/Documents"\n')
    assert policy.decide(ToolCall("c1", "read_file", {"path": path}), spec, (), Provenance()).decision is decision


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ('kind = "outwrad"', "there is no kind 'outwrad'. Did you mean 'outward'? Known are "),
        ('kind = "outwrad*"', "no kind fits 'outwrad*'. Did you mean 'outward'?"),
        ('tool = "computer_scrol"', "there is no tool 'computer_scrol'. Did you mean 'computer_scroll'?"),
        ('tool = "bash"', "rules call the tool 'bash' by its own name, 'execute_command'."),
        ('flag = "netwrok"', "there is no flag 'netwrok'. Did you mean 'network'?"),
        ('effect = "desktp"', "there is no effect 'desktp'. Did you mean 'desktop'? Known are desktop, executes"),
        ('knid = "outward"', "'knid' is no part of a rule. Did you mean 'kind'?"),
    ],
)
def test_a_typing_error_in_a_condition_is_told_with_the_nearest_word(tmp_path: Path, condition: str, told: str) -> None:
    for then in ("deny", "ask"):
        policy = _policy(tmp_path, rules=f'[[rule]]\nthen = "{then}"\n{condition}\n')
        assert told in policy.book.broken
        assert _decide(policy, Effect.DESKTOP) is Decision.ASK


@pytest.mark.parametrize(
    "condition",
    [
        'tool = "*"',
        'tool = "Computer_*"',
        'tool = "mcp_*"',
        'tool = "mcp_files_read"',
        'tool = "browser_open"',
        'kind = "out*"',
        'flag = "requires_*"',
        'tool = "mcp_*"\nflag = "force"',
    ],
)
def test_a_pattern_that_fits_a_tool_a_family_or_a_kind_is_a_rule(tmp_path: Path, condition: str) -> None:
    assert _policy(tmp_path, rules=f'[[rule]]\nthen = "deny"\n{condition}\n').book.problems == ()


@pytest.mark.parametrize("missing", [{"aim": None}, {"aim": ScreenAim.POINT, "gesture": None}])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_desktop_tool_that_does_not_say_what_it_does_to_the_screen_never_runs(
    tmp_path: Path, missing: dict[str, Any], mode: Mode
) -> None:
    unaimed = replace(_spec(Effect.DESKTOP, "insert_text"), **missing)
    login = (described("Login", "app", "password text", "Password"),)
    policy = _policy(tmp_path, mode, rules='[[rule]]\nthen = "allow"\ntool = "*"\n')
    verdict = policy.decide(ToolCall("c1", "insert_text", {"text": "x"}), unaimed, login, Provenance())
    assert (verdict.decision, verdict.rule) == (Decision.DENY, "no aim")
    assert verdict.sentence.startswith("Nothing says what insert_text acts on")
    with pytest.raises(ValueError, match="what these desktop tools act on: insert_text"):
        Policy(tmp_path, surroundings=PolicyDeps(tools=(*registry().specs, unaimed)))


def test_yolo_ends_by_itself_and_what_was_denied_stays_denied(tmp_path: Path) -> None:
    clock = FakeClock()
    policy = Policy(tmp_path, Mode.AUTO, surroundings=PolicyDeps(clock=clock, yolo_s=60))
    policy.switch(Mode.YOLO)
    assert _decide(policy, Effect.SETTINGS) is Decision.ALLOW
    assert _decide(policy, Effect.WRITES, {"path": "~/.bashrc"}) is Decision.DENY
    assert policy.yolo_left_s == 60
    clock.advance(60)
    assert (policy.mode, policy.yolo_left_s) == (Mode.AUTO, 0.0)
    assert _decide(policy, Effect.SETTINGS) is Decision.ASK


def test_what_was_allowed_always_is_asked_again_once_somebody_elses_words_were_read(tmp_path: Path) -> None:
    policy = _policy(tmp_path)
    call, spec = ToolCall("c1", "probe"), _spec(Effect.DESKTOP)
    seen = (described("Letter", "mailer", "button", "Send *all*"),)
    asked = policy.decide(call, spec, seen, Provenance())
    assert asked.act is not None
    assert asked.may_remember
    policy.remember(asked.act)
    assert policy.decide(call, spec, seen, Provenance()).decision is Decision.ALLOW
    other = (described("Letter", "mailer", "button", "Send to all"),)
    assert policy.decide(call, spec, other, Provenance()).decision is Decision.ASK
    tainted = policy.decide(call, spec, seen, READ)
    assert (tainted.decision, tainted.may_remember) == (Decision.ASK, False)
    assert tainted.sentence == (
        "It presses “Send *all*” in “Letter”, which sends something out, after it has read the screen, which somebody "
        "else wrote."
    )


def test_a_rule_for_plain_commands_lets_no_other_command_through(tmp_path: Path) -> None:
    policy = _policy(tmp_path, rules='[[rule]]\nthen = "allow"\ncommand = "git *"\n')
    spec = _spec(Effect.EXECUTES)
    found = {
        command: policy.decide(ToolCall("c1", "probe", {"command": command}), spec, (), Provenance()).decision.value
        for command in ("git pull", "git pull; rm x", "git $(x)", "git a\nb", "GIT pull", "gitx", "git `x`", "git >x")
    }
    assert found == dict.fromkeys(found, "ask") | {"git pull": "allow"}


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ({"text": "ls\n"}, described("xterm", "xterm", "terminal", "Terminal", is_terminal=True)),
        ({"keys": "Return"}, described("xterm", "xterm", "terminal", "Terminal", is_terminal=True)),
        ({"text": "yes\n"}, described("Ask", "mailer", "button", "Send")),
    ],
)
def test_what_is_another_thing_each_time_cannot_be_allowed_always(
    tmp_path: Path, arguments: Mapping[str, JsonValue], seen: Control
) -> None:
    tool = "computer_key" if "keys" in arguments else "computer_type"
    verdict = _policy(tmp_path).decide(ToolCall("c1", tool, arguments), SPECS[tool], (seen,), Provenance())
    assert (verdict.decision, verdict.may_remember) == (Decision.ASK, False)


@pytest.mark.parametrize(
    ("then", "kind", "is_sandboxed", "decision"),
    [
        ("allow", ["walled"], True, Decision.ALLOW),
        ("allow", ["walled"], False, Decision.ASK),
        ("allow", ["unwalled"], False, Decision.ALLOW),
        ("deny", ["own", "Unwalled"], False, Decision.DENY),
    ],
)
def test_a_file_with_the_old_names_of_kinds_still_counts(
    tmp_path: Path, then: str, kind: list[str], decision: Decision, *, is_sandboxed: bool
) -> None:
    class Judge:
        def classify(self, call: ToolCall) -> CommandClass:
            return CommandClass(False, is_sandboxed, False, False)

    persons = tmp_path / "policy.toml"
    persons.write_text(
        f'[[rule]]\nname = "always"\nthen = "{then}"\ntool = "probe"\nkind = {kind}\ncommand = ["make"]\n'
    )
    around = PolicyDeps(Judge(), tools=(*registry().specs, _spec(Effect.EXECUTES)))
    policy = Policy(tmp_path, surroundings=around, persons=persons)
    assert policy.book.problems == ()
    call, spec = ToolCall("c1", "probe", {"command": "make"}), _spec(Effect.EXECUTES)
    assert policy.decide(call, spec, (), Provenance()).decision is decision


def test_a_command_that_is_always_allowed_is_not_so_with_more_reach(tmp_path: Path) -> None:
    class Judge:
        def classify(self, call: ToolCall) -> CommandClass:
            return CommandClass(False, True, call.flag("network"), False)

    workspace, persons = tmp_path / "workspace", tmp_path / "policy.toml"
    workspace.mkdir()
    policy = Policy(workspace, surroundings=PolicyDeps(Judge()), persons=persons)
    spec = _spec(Effect.EXECUTES)
    asked = policy.decide(ToolCall("c1", "probe", {"command": "make"}), spec, (), Provenance())
    assert asked.act is not None
    policy.remember(asked.act)
    for arguments, decision in (
        ({"command": "make"}, Decision.ALLOW),
        ({"command": "make", "network": True}, Decision.ASK),
        ({"command": "make all"}, Decision.ASK),
    ):
        assert policy.decide(ToolCall("c1", "probe", arguments), spec, (), Provenance()).decision is decision
