"""What is allowed, asked and denied: the table of SECURITY.md, a row for each promise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.agent.asking import way_on
from app.agent.policy import Control, Decision, Mode, Policy, Subject, Trust, Verdict
from app.agent.policy.policy import PolicyDeps
from app.assembly import registry
from app.protocol.call import ToolCall
from app.services.sandbox.layout import CommandClass
from tests.support.controls import BROWSER, EDITOR, MAIL, TERMINAL, VAULT, described

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
READ_A_PAGE = Trust(tainted_by=("web",))
READ_A_KEY = Trust(secrets=(".env",))
PLANNED = Trust(is_planned=True)


class Commands:
    """Classifies by the command's first word."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        if not call.has("command"):
            return None
        word = call.text("command").split()[0]
        return CommandClass(word == "ls", word != "outside", word == "curl", word == "leave")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def decided(
    folder: Path,
    tool: str,
    seen: Sequence[Control] = (),
    trust: Trust | None = None,
    mode: Mode = Mode.ASK,
    deps: PolicyDeps | None = None,
    **arguments: Any,
) -> Verdict:
    spec = registry().find(tool)
    assert spec is not None
    policy = Policy(folder, mode, surroundings=deps or PolicyDeps(Commands(), own_keys=("ctrl+alt+space",)))
    return policy.decide(ToolCall("c1", spec.name, arguments), spec, seen, trust or Trust())


def typed(folder: Path, owner: Any, trust: Trust | None = None, mode: Mode = Mode.ASK, text: str = "hello") -> Decision:
    return decided(folder, "computer_type", (described(owner, "text"),), trust, mode, text=text).decision


@pytest.mark.parametrize(
    ("owner", "by_mode"),
    [
        (EDITOR, {Mode.ASK: ASK, Mode.AUTO: ALLOW, Mode.YOLO: ALLOW, Mode.PLAN: DENY}),
        (TERMINAL, {Mode.ASK: ASK, Mode.AUTO: ASK, Mode.YOLO: ALLOW, Mode.PLAN: DENY}),
        (MAIL, {Mode.ASK: ASK, Mode.AUTO: ASK, Mode.YOLO: ALLOW, Mode.PLAN: DENY}),
        (VAULT, {Mode.ASK: DENY, Mode.AUTO: DENY, Mode.YOLO: DENY, Mode.PLAN: DENY}),
    ],
)
def test_a_program_nobody_named_needs_what_its_tier_says(folder: Path, owner: Any, by_mode: dict[Mode, Any]) -> None:
    assert {mode: typed(folder, owner, mode=mode) for mode in by_mode} == by_mode


@pytest.mark.parametrize(
    "trust",
    [
        Trust(words="Type hello in Mousepad, please."),
        Trust(words="Schreib hallo in den Text Editor"),
        Trust(grants=frozenset({(Subject.PROGRAM, EDITOR.ref)})),
        PLANNED,
    ],
)
def test_a_program_is_granted_by_its_name_an_answer_or_the_persons_own_plan(folder: Path, trust: Trust) -> None:
    assert typed(folder, EDITOR, trust) is ALLOW


@pytest.mark.parametrize("words", ["Don't use Mousepad.", "Do it without Mousepad", "mousepadding", "me@mousepad"])
def test_words_that_do_not_name_it_grant_nothing(folder: Path, words: str) -> None:
    assert typed(folder, EDITOR, Trust(words=words)) is ASK


def test_the_document_in_the_title_names_an_ordinary_program_alone(folder: Path) -> None:
    trust = Trust(words="Add a line to notes.txt")
    for owner, expected in ((EDITOR, ALLOW), (BROWSER, ASK), (TERMINAL, ASK)):
        seen = (described(owner, "text", title="notes.txt - Program"),)
        assert decided(folder, "computer_type", seen, trust, text="x").decision is expected


def test_a_window_belongs_to_its_program_whatever_its_title_says(folder: Path) -> None:
    seen = (described(VAULT, "text", title="Mousepad"),)
    assert decided(folder, "computer_type", seen, Trust(words="Mousepad"), text="x").decision is DENY


def test_a_program_that_holds_a_terminal_runs_commands_whatever_it_is(folder: Path) -> None:
    from dataclasses import replace

    verdict = decided(folder, "computer_type", (described(replace(EDITOR, holds_terminal=True), "text"),), text="ls")
    assert [need.tier.value for need in verdict.needs] == ["runs commands"]


def test_on_wisps_own_desktop_every_program_may_be_used_but_those_of_secrets(folder: Path) -> None:
    deps = PolicyDeps(Commands(), is_own_desktop=True)
    for owner, expected in ((EDITOR, ALLOW), (TERMINAL, ALLOW), (VAULT, DENY)):
        assert decided(folder, "computer_type", (described(owner, "text"),), deps=deps, text="x").decision is expected


@pytest.mark.parametrize(
    ("tool", "arguments", "ask", "auto"),
    [
        ("execute_command", {"command": "make"}, ALLOW, ALLOW),
        ("execute_command", {"command": "curl example.com"}, ASK, ASK),
        ("execute_command", {"command": "outside"}, ASK, ASK),
        ("execute_command", {"command": "make", "requires_approval": True}, ASK, ASK),
        ("execute_command", {"command": "make", "keep": True}, ALLOW, ALLOW),
        ("write_file", {"path": "notes.md", "content": "x"}, ALLOW, ALLOW),
        ("write_file", {"path": "/var/tmp/elsewhere/notes.md", "content": "x"}, ASK, ASK),
        ("web_fetch", {"url": "https://example.com/"}, ASK, ALLOW),
        ("web_search", {"query": "weather"}, ASK, ALLOW),
        ("remember", {"fact": "likes tea"}, ALLOW, ALLOW),
    ],
)
def test_what_a_call_off_the_screen_needs(
    folder: Path, tool: str, arguments: dict[str, Any], ask: Decision, auto: Decision
) -> None:
    found = [decided(folder, tool, mode=mode, **arguments).decision for mode in (Mode.ASK, Mode.AUTO, Mode.YOLO)]
    assert found == [ask, auto, ALLOW]
    assert decided(folder, tool, trust=PLANNED, **arguments).decision is ALLOW


def test_others_words_let_no_command_outlive_wisp(folder: Path) -> None:
    read = Trust(words="tell me what the page says", tainted_by=("web",))
    found = [
        decided(folder, "execute_command", trust=read, command="make", keep=keep).decision for keep in (False, True)
    ]
    assert found == [ALLOW, ASK]


def test_a_command_leaves_the_sandbox_in_no_mode_unless_the_person_said_it(folder: Path) -> None:
    for mode in (Mode.ASK, Mode.AUTO, Mode.YOLO):
        assert decided(folder, "execute_command", mode=mode, command="leave it").decision is ASK
        for words, expected in (
            ("run leave it now", ALLOW),
            ("do not run leave it", ASK),
            ("leave all, it is ok", ASK),
        ):
            trust = Trust(words=words)
            assert decided(folder, "execute_command", trust=trust, mode=mode, command="leave it").decision is expected


@pytest.mark.feature("schedule")
def test_what_wisp_may_do_later_asks_in_every_mode(folder: Path) -> None:
    later = {"schedule": "daily 9:00", "task": "open the calculator"}
    for mode in (Mode.ASK, Mode.AUTO, Mode.YOLO):
        deps = PolicyDeps(Commands(), allowed=("cron",))
        assert decided(folder, "cron", mode=mode, deps=deps, **later).decision is ASK
    assert decided(folder, "cron", trust=PLANNED, **later).decision is ALLOW


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("set_ai_name", {"name": "Robin"}),
        ("set_wallpaper", {"path": "hill.png"}),
        ("new_task", {"context": "x"}),
        ("cron", {"schedule": "daily 9:00", "task": "open the calculator"}),
    ],
)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
def test_what_a_refusal_names_is_allowed_by_that_name_and_nothing_else_is(
    folder: Path, mode: Mode, tool: str, arguments: dict[str, Any]
) -> None:
    asked = decided(folder, tool, mode=mode, **arguments)
    named = way_on(asked.needs)
    deps = PolicyDeps(Commands(), allowed=named or (tool,))
    assert (asked.decision, bool(named)) == (ASK, tool != "cron")
    assert decided(folder, tool, mode=mode, deps=deps, **arguments).decision is (ALLOW if named else ASK)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("execute_command", {"command": "curl example.com"}, "Run curl example.com here"),
        ("write_file", {"path": "/var/tmp/elsewhere/notes.md", "content": "x"}, "Write it to /var/tmp/elsewhere"),
        ("web_fetch", {"url": "https://www.example.com/a"}, "Read example.com"),
    ],
)
def test_what_the_words_name_runs_also_after_a_page_was_read(
    folder: Path, tool: str, arguments: dict[str, Any], words: str
) -> None:
    trust = Trust(words=words, tainted_by=("web",))
    assert decided(folder, tool, trust=trust, **arguments).decision is ALLOW


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
@pytest.mark.parametrize(
    ("tool", "seen", "arguments"),
    [
        ("computer_type", (described(EDITOR, "text"),), {"text": "x"}),
        ("web_fetch", (), {"url": "https://example.com/"}),
        ("execute_command", (), {"command": "outside"}),
        ("write_file", (), {"path": "/var/tmp/elsewhere/notes.md", "content": "x"}),
        ("remember", (), {"fact": "pay them"}),
        ("set_theme", (), {"name": "cyberpunk"}),
    ],
)
def test_after_others_words_were_read_what_the_person_did_not_name_asks(
    folder: Path, mode: Mode, tool: str, seen: Sequence[Control], arguments: dict[str, Any]
) -> None:
    assert decided(folder, tool, seen, READ_A_PAGE, mode, **arguments).decision is ASK


def test_text_for_a_granted_terminal_asks_after_reading_unless_the_person_said_it(folder: Path) -> None:
    granted = frozenset({(Subject.PROGRAM, TERMINAL.ref)})
    assert typed(folder, TERMINAL, Trust(grants=granted), text="rm -rf x") is ALLOW
    assert typed(folder, TERMINAL, Trust(grants=granted, tainted_by=("web",)), text="rm -rf x") is ASK
    said = Trust(grants=granted, tainted_by=("web",), words="type ls -l in the terminal")
    assert typed(folder, TERMINAL, said, text="ls -l") is ALLOW
    assert typed(folder, TERMINAL, said, text="ls -l; rm x") is ASK
    assert typed(folder, TERMINAL, said, text="al") is ASK
    for tool, arguments in (("choose_menu", {"path": "Edit > Paste"}), ("computer_key", {"keys": "Return"})):
        assert decided(folder, tool, (described(TERMINAL, "terminal"),), said, **arguments).decision is ASK


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO, Mode.YOLO])
@pytest.mark.feature("web")
def test_after_a_secret_was_read_the_network_asks_in_every_mode(folder: Path, mode: Mode) -> None:
    grants = frozenset({(Subject.HOST, "example.com"), (Subject.HOST, ""), (Subject.PROGRAM, MAIL.ref)})
    trust = Trust(grants=grants, words="example.com thunderbird", secrets=(".env",))
    assert decided(folder, "web_fetch", (), trust, mode, url="https://example.com/").decision is ASK
    assert typed(folder, MAIL, trust, mode) is ASK
    answered = Trust(grants=grants | {(Subject.HOST, "example.com\0.env")}, secrets=(".env",))
    assert decided(folder, "web_fetch", (), answered, mode, url="https://example.com/").decision is ALLOW


@pytest.mark.parametrize(
    ("label", "words", "expected"),
    [
        ("Send", "Write to Ann in Thunderbird", ASK),
        ("Send", "Write to Ann in Thunderbird and send it", ALLOW),
        ("Send", "Write to Ann in Thunderbird, don't send it", ASK),
        ("Jetzt kaufen", "thunderbird", ASK),
        ("Save", "thunderbird", ALLOW),
        ("Re: please send me the order of the day by mail", "thunderbird", ALLOW),
    ],
)
def test_a_button_that_sends_is_confirmed_once_unless_the_sentence_says_it(
    folder: Path, label: str, words: str, expected: Decision
) -> None:
    seen = (described(MAIL, "button", label),)
    for mode in (Mode.ASK, Mode.AUTO):
        verdict = decided(folder, "computer_click", seen, Trust(words=words), mode, target=label)
        assert verdict.decision is expected
        answered = Trust(frozenset(need.grant for need in verdict.needs), words)
        assert decided(folder, "computer_click", seen, answered, mode, target=label).decision is ALLOW
    assert decided(folder, "computer_click", seen, mode=Mode.YOLO, target=label).decision is ALLOW


def test_what_a_page_asks_is_judged_however_long_it_is(folder: Path) -> None:
    for question, expected in (("Really delete all of the 35 messages for good?", ASK), ("Leave this page?", ALLOW)):
        seen = (described(BROWSER, "alert", question),)
        trust = Trust(words=f"tidy up in {BROWSER.name}")
        assert decided(folder, "press", seen, trust, ref="e1").decision is expected


def test_return_presses_the_default_button_and_is_judged_as_that(folder: Path) -> None:
    trust = Trust(words="thunderbird")
    for default, expected in (("Send", ASK), ("OK", ALLOW)):
        seen = (described(MAIL, "text", default=default),)
        assert decided(folder, "computer_key", seen, trust, keys="Return").decision is expected


WALLS = [
    ("password", "computer_type", described(EDITOR, "password text", "PIN"), {"text": "1234"}),
    ("password", "computer_key", described(EDITOR, "password text", "PIN"), {"keys": "1"}),
    ("password", "computer_key", described(EDITOR, "password text", "PIN"), {"keys": "ctrl+v"}),
    ("password", "computer_type", described(EDITOR, has_password=True), {"text": "1234"}),
    ("password", "set_value", described(EDITOR, "password text", "PIN"), {"ref": "e1", "value": "1234"}),
    ("own", "computer_click", described(EDITOR, "button", "Allow", is_own=True), {"target": "Allow"}),
    ("never", "computer_click", described(VAULT, "button", "Copy"), {"target": "Copy"}),
    ("session", "computer_key", described(EDITOR, "text"), {"keys": "ctrl+alt+Delete"}),
    ("session", "computer_key", described(EDITOR, "text"), {"keys": "a+ctrl+alt+F1"}),
    ("session", "computer_key", described(EDITOR, "text"), {"keys": "ctrl+alt+space"}),
    ("starts", "computer_type", described(EDITOR, "text"), {"text": "~/.bashrc"}),
    ("secret", "computer_type", described(EDITOR, "text"), {"text": "~/.ssh/id_rsa"}),
    ("inner", "computer_type", described(BROWSER, "entry"), {"text": "192.168.0.1/admin"}),
    ("inner", "computer_type", described(BROWSER, "entry"), {"text": "http://2130706433:8000/"}),
    ("inner", "web_fetch", None, {"url": "http://127.0.0.1/"}),
    ("odd", "web_fetch", None, {"url": "ftp://example.com/"}),
    ("secret", "read_file", None, {"path": "~/.ssh/id_rsa"}),
    ("starts", "write_file", None, {"path": "~/.config/autostart/x.desktop", "content": "x"}),
    ("starts", "write_file", None, {"path": ".git/hooks/pre-commit", "content": "x"}),
]


@pytest.mark.parametrize(("wall", "tool", "control", "arguments"), WALLS)
def test_walls_never_fall(
    folder: Path, wall: str, tool: str, control: Control | None, arguments: dict[str, Any]
) -> None:
    everything = Trust(words=" ".join(map(str, arguments.values())), is_planned=True)
    for mode in (Mode.ASK, Mode.AUTO, Mode.YOLO):
        verdict = decided(folder, tool, (control,) if control else (), everything, mode, **arguments)
        assert (verdict.decision, verdict.rule) == (DENY, wall)


@pytest.mark.parametrize(
    ("tool", "control", "arguments"),
    [
        ("computer_key", described(EDITOR, "password text"), {"keys": "Tab"}),
        ("computer_click", described(EDITOR, "password text"), {"target": "PIN"}),
        ("computer_type", described(EDITOR, "text"), {"text": "I keep my key in ~/.ssh/id_rsa, as everybody"}),
        ("computer_type", described(EDITOR, "text"), {"text": "192.168.0.1"}),
        ("computer_key", described(EDITOR, "text"), {"keys": "ctrl+alt+t"}),
        ("read_file", None, {"path": "~/.bashrc"}),
    ],
)
def test_what_only_looks_like_a_wall_stops_nothing(
    folder: Path, tool: str, control: Control | None, arguments: dict[str, Any]
) -> None:
    assert decided(folder, tool, (control,) if control else (), PLANNED, **arguments).decision is ALLOW


@pytest.mark.parametrize(
    ("name", "tool", "seen", "arguments"),
    [
        ("mousepad", "computer_type", (described(EDITOR, "text"),), {"text": "x"}),
        ("example.com", "web_fetch", (), {"url": "https://www.example.com/"}),
        ("/var/tmp", "write_file", (), {"path": "/var/tmp/elsewhere/notes.md", "content": "x"}),
        ("/var/tmp/My Photos", "write_file", (), {"path": "/var/tmp/My Photos/Notes.md", "content": "x"}),
        ("curl example.com", "execute_command", (), {"command": "curl example.com"}),
    ],
)
def test_what_this_run_allows_by_name_runs_and_the_refusal_names_it(
    folder: Path, name: str, tool: str, seen: Sequence[Control], arguments: dict[str, Any]
) -> None:
    asked = decided(folder, tool, seen, **arguments)
    assert asked.decision is ASK
    for allowed in (name, asked.needs[0].name, *asked.needs[0].names):
        deps = PolicyDeps(Commands(), allowed=(allowed,))
        assert decided(folder, tool, seen, deps=deps, **arguments).decision is ALLOW
    deps = PolicyDeps(Commands(), allowed=("ample.com", "pad", "/var/t", "/", "/var", "com"))
    assert decided(folder, tool, seen, deps=deps, **arguments).decision is ASK


@pytest.mark.feature("web")
def test_in_ask_mode_the_web_asks_once_until_a_page_was_read(folder: Path) -> None:
    from app.agent.policy.decision import answers

    first = decided(folder, "web_fetch", url="https://example.com/")
    grants = frozenset().union(*(answers(need, Mode.ASK, Trust()) for need in first.needs))
    assert decided(folder, "web_fetch", (), Trust(grants), url="https://example.org/").decision is ALLOW
    after = Trust(grants, tainted_by=("web",))
    assert decided(folder, "web_fetch", (), after, url="https://example.org/").decision is ASK
    assert decided(folder, "web_fetch", (), after, url="https://example.com/").decision is ALLOW


@pytest.mark.parametrize("action", ["suspend", "log_out", "restart", "shut_down"])
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO, Mode.YOLO])
@pytest.mark.parametrize(
    "trust",
    [
        Trust(words="Suspend, log out, restart, shut down: end_session, I allow all of it."),
        Trust(grants=frozenset({(Subject.SESSION, "end_session")})),
        PLANNED,
    ],
)
def test_nothing_permits_the_end_of_the_session_ahead(folder: Path, action: str, mode: Mode, trust: Trust) -> None:
    deps = PolicyDeps(Commands(), allowed=("end_session", "tool=end_session", action))
    verdict = decided(folder, "end_session", trust=trust, mode=mode, deps=deps, action=action)
    assert (verdict.decision, [need.subject for need in verdict.needs]) == (ASK, [Subject.SESSION])
    assert way_on(verdict.needs) == ()


def test_to_lock_the_screen_is_harmless_and_plan_mode_ends_nothing(folder: Path) -> None:
    assert decided(folder, "end_session", action="lock").decision is ALLOW
    assert decided(folder, "end_session", mode=Mode.PLAN, action="shut_down").decision is DENY
