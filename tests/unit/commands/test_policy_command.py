"""`wisp policy` and `wisp policy explain`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
        "something out. It is: outward. Its effect is consequential: button “Send”.",
    )
    assert _explained(capsys, '<computer_click target="7"/>') == (
        0,
        "computer_click: allow, by 'mode ask: desktop' (default.toml). Its effect is harmless: button “7”.",
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
        ('<computer_key keys="ctrl+v"/>', ["--role", "text", "--pasted", "x"], "harmless: text."),
        ('<computer_key keys="Return"/>', ["--role", "section", "--app", "chromium"], "consequential: section."),
    ],
)
def test_it_tells_what_is_known_of_the_effect(
    capsys: pytest.CaptureFixture[str], call: str, there: list[str], told: str
) -> None:
    assert _explained(capsys, call, *there)[1].endswith(f"Its effect is {told}")


def test_a_batch_is_explained_call_by_call(capsys: pytest.CaptureFixture[str]) -> None:
    calls = '[{"name": "write_file", "args": {"path": "a.txt", "content": "x"}}, {"name": "launch", "args": {}}]'
    assert _explained(capsys, "--mode", "auto", calls) == (
        1,
        "write_file: allow, by 'mode auto: writes' (default.toml).\n"
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
    assert (main(["policy", "trust"]), capsys.readouterr().out) == (0, "No folder is trusted.\n")
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
