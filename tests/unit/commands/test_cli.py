"""What `wisp` says and how it ends, without a screen."""

from __future__ import annotations

import io
import json
import sys

import pytest

from app.cli import COMMANDS, main
from app.commands.checks.report import Verdict
from app.commands.doctor import examine


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert COMMANDS[command] in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "words", [["nonsense"], ["do"], ["do", "x", "--max-passes", "0"], ["do", "x", "--provider", "hal"]]
)
def test_wrong_usage_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: wisp" in capsys.readouterr().err


def test_parse_prints_one_block_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'Hi <say tone="warm">there</say>'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["parse", "--chunk", "3"]) == 0
    blocks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(block["kind"], block.get("name")) for block in blocks] == [("text", None), ("tool", "say")]


def test_undo_with_nothing_to_undo_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["undo"]) == 1
    assert "no change" in capsys.readouterr().err
    assert main(["undo", "--list"]) == 0


def test_the_doctor_finds_this_machine_able_and_gives_a_fix_with_every_note() -> None:
    findings = {finding.name: finding for finding in examine()}
    failed = [finding for finding in findings.values() if finding.verdict is Verdict.FAIL]
    assert failed == []
    assert findings["Screen capture"].detail == "captured the pixel it drew itself"
    assert all(finding.fix for finding in findings.values() if finding.verdict is Verdict.NOTE)
