"""The person's policy.toml, and what they always allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.agent.policy import Decision, Mode, Need, Policy, Subject, Trust
from app.agent.policy.grants import SavedGrants, grants_file
from app.agent.policy.policy import PolicyDeps
from app.agent.policy.rules import BadRules, Vocabulary, rules_of
from app.assembly import registry
from app.base.errors import NeedsPerson
from app.protocol.call import ToolCall
from tests.support.controls import EDITOR, MAIL, described


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))


def _policy(tmp_path: Path, text: str, mode: Mode = Mode.ASK, workspace_rules: str = "") -> Policy:
    file = tmp_path / "policy.toml"
    file.write_text(text, encoding="utf-8")
    own = tmp_path / "work" / ".wisp"
    own.mkdir(parents=True, exist_ok=True)
    (own / "policy.toml").write_text(workspace_rules, encoding="utf-8")
    around = PolicyDeps(tools=registry().specs)
    return Policy(tmp_path / "work", mode, surroundings=around, persons=file)


def _typing(policy: Policy, trust: Trust | None = None, owner: object = EDITOR) -> Decision:
    spec = registry().find("computer_type")
    assert spec is not None
    seen = (described(owner, "text"),)  # type: ignore[arg-type]
    return policy.decide(ToolCall("c1", spec.name, {"text": "x"}), spec, seen, trust or Trust()).decision


@pytest.mark.parametrize(
    ("rule", "decision", "after_yolo"),
    [
        ('then = "deny"\nprogram = "mouse*"', Decision.DENY, Decision.DENY),
        ('then = "ask"\ntool = "computer_type"', Decision.ASK, Decision.ASK),
        ('then = "allow"\nprogram = "Mousepad"', Decision.ALLOW, Decision.ALLOW),
        ('then = "deny"\nprogram = "Thunderbird"', Decision.ASK, Decision.ALLOW),
        ('then = "deny"\nmode = "yolo"\neffect = "desktop"', Decision.ASK, Decision.DENY),
    ],
)
def test_a_rule_decides_where_its_conditions_hold(
    tmp_path: Path, rule: str, decision: Decision, after_yolo: Decision
) -> None:
    policy = _policy(tmp_path, f"[[rule]]\n{rule}")
    assert _typing(policy) is decision
    policy.switch(Mode.YOLO)
    assert _typing(policy) is after_yolo


def test_a_rule_that_allows_one_program_allows_no_drag_into_another(tmp_path: Path) -> None:
    policy = _policy(tmp_path, '[[rule]]\nthen = "allow"\nprogram = "mousepad"')
    spec = registry().find("computer_drag")
    assert spec is not None
    for end, expected in ((EDITOR, Decision.ALLOW), (MAIL, Decision.ASK)):
        seen = (described(EDITOR, "text"), described(end, "text"))
        assert policy.decide(ToolCall("c1", spec.name, {}), spec, seen, Trust()).decision is expected


def test_an_ask_rule_asks_also_what_the_person_planned_and_a_deny_rule_is_final(tmp_path: Path) -> None:
    both = '[[rule]]\nthen = "allow"\ntool = "computer_type"\n[[rule]]\nthen = "{}"\nprogram = "mousepad"'
    for then in ("ask", "deny"):
        assert _typing(_policy(tmp_path, both.format(then)), Trust(is_planned=True)).value == then


def test_a_workspace_can_only_make_things_stricter(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "", workspace_rules='[[rule]]\nthen = "allow"\ntool = "computer_type"')
    assert _typing(policy) is Decision.ASK
    assert "cannot allow anything" in policy.book.problems[0]
    denying = _policy(tmp_path, "", workspace_rules='[[rule]]\nthen = "deny"\ntool = "computer_type"')
    assert _typing(denying) is Decision.DENY


def test_a_person_puts_programs_into_tiers(tmp_path: Path) -> None:
    policy = _policy(tmp_path, '[programs]\nnever = ["mousepad"]\n"reaches others" = ["Form*"]', Mode.YOLO)
    assert _typing(policy) is Decision.DENY


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[rule]]\nthen = "deny"\napp = "mousepad"', "Name a program instead."),
        ('[[rule]]\nthen = "deny"\nkind = "outward"', "'kind' does not belong in a rule"),
        ('[[rule]]\nthen = "deny"\ntool = "computer_typ"', "Did you mean 'computer_type'?"),
        ('[[rule]]\nthen = "allow"', "may not allow everything"),
        ('[[rule]]\nthen = "maybe"\ntool = "x"', "then must be"),
        ('[programs]\nodd = ["x"]', "[programs] holds lists"),
        ("rule = 1", "write each rule below a line"),
    ],
)
def test_an_error_names_its_line_and_what_to_write(text: str, told: str) -> None:
    with pytest.raises(BadRules, match=r"^rules\.toml") as error:
        rules_of(text, "rules.toml", Vocabulary.of(registry().specs))
    assert told in str(error.value)


def test_a_file_that_cannot_be_read_makes_everything_ask(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "[[rule]\n")
    assert _typing(policy, Trust(words="mousepad")) is Decision.ASK
    assert policy.book.broken


def test_what_is_always_allowed_outlives_the_policy_and_can_be_taken_back(tmp_path: Path) -> None:
    need = Need(Subject.PROGRAM, EDITOR.ref, EDITOR.name)
    policy, other = _policy(tmp_path, ""), _policy(tmp_path, "")
    assert (_typing(policy), _typing(other)) == (Decision.ASK, Decision.ASK)
    policy.saved.add([need, need, Need(Subject.BUTTON, "x", "Send")])
    assert [(one.subject, one.name) for one in SavedGrants().all()] == [(Subject.PROGRAM, "Mousepad")]
    assert (_typing(policy), _typing(other)) == (Decision.ALLOW, Decision.ALLOW)
    assert _typing(policy, owner=MAIL) is Decision.ASK
    assert SavedGrants().remove("mousepad")
    assert (_typing(policy), _typing(other)) == (Decision.ASK, Decision.ASK)


def test_a_damaged_file_of_grants_allows_nothing_and_is_not_overwritten(tmp_path: Path) -> None:
    file = grants_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[[grant]]\nfor = 'everything'\n", encoding="utf-8")
    saved = SavedGrants()
    assert not saved.all()
    with pytest.raises(NeedsPerson, match="cannot be used"):
        saved.add([Need(Subject.HOST, "example.com", "example.com")])
    assert "everything" in file.read_text(encoding="utf-8")


def test_no_rule_permits_the_end_of_the_session(tmp_path: Path) -> None:
    policy = _policy(tmp_path, '[[rule]]\nthen = "allow"\ntool = "end_session"', Mode.YOLO)
    spec = registry().find("end_session")
    assert spec is not None
    call = ToolCall("c1", spec.name, {"action": "restart"})
    assert policy.decide(call, spec, (), Trust(is_planned=True)).decision is Decision.ASK
