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


def test_a_call_is_explained_with_what_decides_and_what_would_make_it_run(capsys: pytest.CaptureFixture[str]) -> None:
    there = ["--window", "Letter", "--program", "Frobnikator"]
    assert _explained(capsys, '<computer_click target="Send"/>', *there) == (
        1,
        "computer_click: ask, by 'mode ask'. You did not name Frobnikator. “Send” may send, pay or delete for good, "
        "and you did not ask for that. What would make it run: the person's yes; --allow 'Frobnikator'; "
        "--allow 'Send'; yolo mode.",
    )
    assert _explained(capsys, '<computer_click target="Send"/>', *there, "--said", "Send it with Frobnikator.") == (
        0,
        "computer_click: allow, by 'mode ask'.",
    )


YES, YOLO, AUTO = "the person's yes", "yolo mode", "auto mode"
WRITE = '<write_file path="a.txt">x</write_file>'
FETCH = '<web_fetch url="https://evil.example/"/>'
EVIL = "--allow 'evil.example'"


@pytest.mark.parametrize(
    ("call", "given", "decision", "needs", "ways"),
    [
        ('<read_file path="a.txt"/>', [], "allow", [], []),
        (WRITE, [], "allow", [], []),
        (WRITE, ["--mode", "plan"], "deny", [], ["ask mode", AUTO, YOLO]),
        (FETCH, [], "ask", ["host"], [YES, EVIL, AUTO, YOLO]),
        (FETCH, ["--mode", "auto", "--tainted", "web"], "ask", ["host"], [YES, EVIL, YOLO]),
        (FETCH, ["--mode", "auto", "--secret", ".env"], "ask", ["host"], [YES]),
        ('<computer_key keys="Return"/>', ["--program", "pad"], "ask", ["program"], [YES, "--allow 'pad'", AUTO, YOLO]),
        (
            '<computer_key keys="Return"/>', ["--program", "pad", "--default", "Delete", "--said", "pad"],
            "ask", ["button"], [YES, "--allow 'Delete'", YOLO],
        ),
        ('<computer_key keys="ctrl+alt+F1"/>', ["--mode", "yolo"], "deny", [], []),
        ("<say>hello</say>", ["--tainted", "screen"], "allow", [], []),
    ],
)  # fmt: skip
def test_it_tells_what_a_call_needs_and_what_would_make_it_run(
    capsys: pytest.CaptureFixture[str], call: str, given: list[str], decision: str, needs: list[str], ways: list[str]
) -> None:
    told = json.loads(_explained(capsys, call, *given, "--json")[1])
    assert (told["decision"], [need["for"] for need in told["needs"]], told["would_run_by"]) == (decision, needs, ways)


def test_a_rule_of_the_person_is_named_with_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = tmp_path / "wisp" / "config" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\nname = "no files"\nthen = "deny"\ntool = "write_file"\n')
    assert _explained(capsys, WRITE)[1].startswith(f"write_file: deny, by 'no files' ({rules}:1).")


@pytest.mark.parametrize("spec", [spec.name for spec in registry().specs if spec.examples])
def test_every_tool_is_explained_by_its_own_example(capsys: pytest.CaptureFixture[str], spec: str) -> None:
    example = next(one for one in registry().specs if one.name == spec).examples[0]
    told = [json.loads(line) for line in _explained(capsys, example, "--json")[1].splitlines()]
    assert told[0]["tool"] == spec
    assert all(one["rule"] and one["decision"] in ("allow", "ask", "deny") for one in told)
    assert all(bool(one["would_run_by"]) or one["decision"] != "ask" for one in told)


def test_a_batch_is_explained_call_by_call(capsys: pytest.CaptureFixture[str]) -> None:
    calls = '[{"name": "write_file", "args": {"path": "a.txt", "content": "x"}}, {"name": "launch", "args": {}}]'
    assert _explained(capsys, "--mode", "auto", calls) == (
        1,
        "write_file: allow, by 'mode auto'.\nlaunch: there is no such tool. To list them all: wisp tools",
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
    assert "There is no call in that" in capsys.readouterr().err


def test_a_faulty_file_is_told_and_listed_rules_say_where_they_stand(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = tmp_path / "wisp" / "config" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\nname = "no bank"\nthen = "deny"\nprogram = "*Bank*"\n')
    assert main(["policy"]) == 0
    assert f"deny   no bank                       program *Bank*  ({rules}:1)" in capsys.readouterr().out.splitlines()
    rules.write_text('[[rule]]\nname = "no bank"\nthen = "deny"\nwindows = "*Bank*"\n')
    assert main(["policy"]) == 1
    assert "'windows' does not belong in a rule" in capsys.readouterr().err


def test_a_folder_is_trusted_once_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["policy", "trust"]), capsys.readouterr().out) == (
        0,
        "You trust no downloaded folder. To trust this one: wisp policy trust .\n",
    )
    for _ in range(2):
        assert main(["policy", "trust", str(tmp_path)]) == 0
    capsys.readouterr()
    assert (main(["policy", "trust"]), capsys.readouterr().out) == (0, f"{tmp_path}\n")
    with pytest.raises(SystemExit):
        main(["policy", "trust", str(tmp_path / "none")])
