"""`wisp policy` and `wisp policy explain`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.assembly import registry
from app.cli import main


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _explained(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["policy", "explain", *words])
    return code, capsys.readouterr().out.strip()


def test_a_call_is_explained_with_the_rule_and_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert _explained(capsys, '<computer_click target="Send"/>', "--window", "Letter") == (
        1,
        "computer_click: ask, by 'mode ask: outward' (default.toml). It presses “Send” in “Letter”, which sends "
        "something out. It is: outward. Its effect is consequential: button “Send”. It follows your words alone. It "
        "brings in words of the screen. What would make it run: the person's yes, once or always; yolo mode.",
    )
    assert _explained(capsys, '<computer_click target="7"/>') == (
        0,
        "computer_click: allow, by 'mode ask: desktop' (default.toml). It acts on “7” in a window. Its effect is "
        "harmless: button “7”. It follows your words alone. It brings in words of the screen.",
    )


@pytest.mark.parametrize(
    ("call", "there", "told"),
    [
        (
            '<computer_key keys="Return"/>',
            ["--app", "xterm"],
            "consequential: nothing that is described in a terminal.",
        ),
        ('<computer_key keys="ctrl+alt+space+a"/>', ["--role", "text"], "consequential: text."),
        ('<computer_click target="OK"/>', ["--dialog", "Pay 400?"], "consequential: button “OK”."),
        ('<computer_click x="3" y="4"/>', ["--app", "gimp"], "unknown: nothing that is described."),
        ('<computer_key keys="Return"/>', ["--app", "gmrun", "--role", "text"], "consequential: text in a launcher."),
        ('<computer_key keys="Return"/>', ["--app", "mousepad", "--role", "text"], "harmless: text."),
        ('<computer_key keys="ctrl+v"/>', ["--role", "text", "--pasted", "x"], "harmless: text."),
        ('<computer_key keys="Return"/>', ["--role", "section", "--app", "chromium"], "consequential: section."),
    ],
)
def test_it_tells_what_is_known_of_the_effect(
    capsys: pytest.CaptureFixture[str], call: str, there: list[str], told: str
) -> None:
    assert f" Its effect is {told} It follows" in _explained(capsys, call, *there)[1]


YES, ALWAYS, YOLO, AUTO = "the person's yes", "the person's yes, once or always", "yolo mode", "auto mode"
SPOKEN = "the person's next message, since nothing of others was read after it"
WRITE = '<write_file path="a.txt">x</write_file>'
FETCH = '<web_fetch url="https://evil.example/"/>'
RETURN = '<computer_key keys="Return"/>'

RUNS = "It presses Return in a terminal, a window: that may run the command typed there: xterm"
DELETE = ["--app", "zenity", "--role", "button", "--name", "Delete"]
DELETES = "It presses Return in a window, on “Delete”: that cannot be taken back: zenity"


@pytest.mark.parametrize(
    ("call", "given", "decision", "does", "ways"),
    [
        ('<read_file path="a.txt"/>', [], "allow", "It reads: {folder}/a.txt", []),
        (WRITE, ["--mode", "plan"], "deny", "It changes {folder}/a.txt", ["ask mode", AUTO, YOLO]),
        (FETCH, ["--mode", "auto", "--tainted", "web"], "ask", "It reaches evil.example", [YES, SPOKEN]),
        ('<open_app name="xterm"/>', [], "allow", "It acts on the desktop: name 'xterm'", []),
        (RETURN, ["--app", "xterm"], "ask", RUNS, [YES, YOLO]),
        (RETURN, ["--app", "mousepad", "--role", "text"], "allow", "It presses Return in a window: mousepad", []),
        ("<say>hello</say>", ["--tainted", "screen"], "allow", "It speaks", []),
    ],
)  # fmt: skip
def test_it_tells_what_a_call_does_and_what_would_make_it_run(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    call: str,
    given: list[str],
    decision: str,
    does: str,
    ways: list[str],
) -> None:
    told = json.loads(_explained(capsys, call, *given, "--json")[1])
    assert (told["decision"], told["does"], told["would_run_by"]) == (decision, does.format(folder=tmp_path), ways)


def test_it_tells_whose_words_a_call_follows_and_brings_in(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(_explained(capsys, FETCH, "--tainted", "screen", "--json")[1])
    assert (told["follows"], told["brings"]) == (["the screen"], ["the web"])


def test_a_rule_of_the_person_is_named_as_what_would_have_to_change(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = tmp_path / "wisp" / "config" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\nname = "no files"\nthen = "deny"\ntool = "write_file"\n')
    assert _explained(capsys, WRITE)[1].endswith(f"What would make it run: a change of your rule in {rules}:1.")


@pytest.mark.parametrize("spec", [spec.name for spec in registry().specs if spec.examples])
def test_every_tool_is_explained_by_its_own_example(capsys: pytest.CaptureFixture[str], spec: str) -> None:
    example = next(one for one in registry().specs if one.name == spec).examples[0]
    told = [json.loads(line) for line in _explained(capsys, example, "--json")[1].splitlines()]
    assert told[0]["tool"] == spec
    assert all(one["does"] and one["rule"] and one["decision"] in ("allow", "ask", "deny") for one in told)
    assert all(bool(one["would_run_by"]) or one["decision"] != "ask" for one in told)


def test_a_batch_is_explained_call_by_call(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calls = '[{"name": "write_file", "args": {"path": "a.txt", "content": "x"}}, {"name": "launch", "args": {}}]'
    assert _explained(capsys, "--mode", "auto", calls) == (
        1,
        f"write_file: allow, by 'mode auto: writes' (default.toml). It changes {tmp_path}/a.txt. It follows your words "
        "alone.\n"
        "launch: there is no such tool, so nothing would run.",
    )


def test_every_action_inside_a_call_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    call = '<computer_batch><action do="click" target="Delete"/><action do="key" keys="ctrl+alt+F1"/></computer_batch>'
    code, told = _explained(capsys, call, "--json")
    lines = [json.loads(line) for line in told.splitlines()]
    assert code == 1
    assert [(line["tool"], line["decision"]) for line in lines] == [
        ("computer_batch", "allow"),
        ("computer_click", "ask"),
        ("computer_key", "deny"),
    ]


def test_what_holds_no_call_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain", "click on Send"]) == 2
    assert "holds no call" in capsys.readouterr().err


def test_a_faulty_file_is_told_and_listed_rules_say_where_they_stand(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = tmp_path / "wisp" / "config" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\nname = "no bank"\nthen = "deny"\nwindow = "*Bank*"\n')
    assert main(["policy"]) == 0
    assert f"deny   no bank                       window *Bank*  ({rules}:1)" in capsys.readouterr().out.splitlines()
    rules.write_text('[[rule]]\nname = "no bank"\nthen = "deny"\nwindows = "*Bank*"\n')
    assert main(["policy"]) == 1
    assert "'windows' is no part of a rule" in capsys.readouterr().err


def test_a_folder_is_trusted_once_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["policy", "trust"]), capsys.readouterr().out) == (
        0,
        "None is trusted. To trust this folder: wisp policy trust .\n",
    )
    for _ in range(2):
        assert main(["policy", "trust", str(tmp_path)]) == 0
    capsys.readouterr()
    assert (main(["policy", "trust"]), capsys.readouterr().out) == (0, f"{tmp_path}\n")
    with pytest.raises(SystemExit):
        main(["policy", "trust", str(tmp_path / "none")])


def test_what_a_secret_changes_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    call = '<web_fetch url="https://example.org/"/>'
    assert _explained(capsys, call, "--mode", "auto")[0] == 0
    code, told = _explained(capsys, call, "--mode", "auto", "--secret", ".env")
    assert (code, "after it may have read .env: keys or passwords could go there." in told) == (1, True)


def test_return_in_an_address_bar_is_explained_by_what_stands_there(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ["--app", "chromium", "--role", "entry", "--name", "Address and search bar"]
    found = {
        address: _explained(capsys, '<computer_key keys="Return"/>', *bar, "--address", address)[1].split(".")[0]
        for address in ("cats and dogs", "example.org", "127.0.0.1:8124/?d=KEY")
    }
    assert [told.split(",")[0] for told in found.values()] == [
        "computer_key: allow", "computer_key: ask", "computer_key: deny",
    ]  # fmt: skip
