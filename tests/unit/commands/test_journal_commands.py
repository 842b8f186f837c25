"""`wisp history` and `wisp audit`, as a person types them."""

from __future__ import annotations

import io
import json
import os
import pty
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.cli import main

_SCRIPT = """
[[replies]]
text = '<write_file path="a.txt"><content>hello</content></write_file>'
[[replies]]
text = "<attempt_completion><result>Wrote it.</result></attempt_completion>"
"""


@pytest.fixture
def journal(tmp_path: Path, own_data_folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """After one task: the journal's database."""
    (tmp_path / "config").mkdir(exist_ok=True)
    script = tmp_path / "script.toml"
    script.write_text(_SCRIPT)
    words = ["do", "--no-screen", "--provider", "scripted", "--script", str(script), "--mode", "auto", "Write a file."]
    assert main(words) == 0
    capsys.readouterr()
    return own_data_folder / "data" / "journal.db"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def test_a_task_is_listed_shown_exported_and_deleted(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    name = line.split()[0]
    assert line.endswith("1 task   Write a file.")
    assert main(["history", "show", name]) == 0
    assert "> Write a file." in capsys.readouterr().out.splitlines()
    assert main(["history", "export", name]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == name
    assert main(["history", "list", "zebra"]) == 0
    assert capsys.readouterr().out == "No conversation has these words.\n"
    assert main(["history", "delete", "all", "--yes"]) == 0
    assert capsys.readouterr().out == "1 conversation was deleted.\n"
    assert main(["history"]) == 0
    assert capsys.readouterr().out == "There is no conversation yet.\n"


@pytest.mark.parametrize(("answer", "code", "left"), [("", 1, 1), ("n", 1, 1), ("y", 0, 0), ("ja", 0, 0)])
def test_all_conversations_are_deleted_only_after_a_yes_at_the_terminal(
    journal: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    left: int,
) -> None:
    terminal, inside = pty.openpty()
    with os.fdopen(terminal, "w") as typing, os.fdopen(inside) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        typing.write(f"{answer}\n")
        typing.flush()
        assert main(["history", "delete", "all"]) == code
    assert "Delete 1 conversation for good? [y/N]" in capsys.readouterr().out
    assert main(["history", "list"]) == 0
    assert ("Write a file." in capsys.readouterr().out) == bool(left)


def test_without_a_terminal_nothing_is_deleted_unless_it_is_said(
    journal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["history", "delete", "all"]) == 1
    assert "Add --yes" in capsys.readouterr().out
    assert main(["history", "delete", "all", "--yes"]) == 0
    assert capsys.readouterr().out == "1 conversation was deleted.\n"


def test_a_conversation_that_is_not_there_is_told(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "show", "talk-none"]) == 1
    assert capsys.readouterr().err == "wisp: There is no such conversation any more.\n"


def test_the_audit_is_shown_and_exported(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"]) == 0
    mode, first, second, third = capsys.readouterr().out.splitlines()
    assert "mode: " in mode
    assert "allowed by policy (mode auto): write_file" in first
    assert "file_written: " in second
    assert "done: write_file" in third
    assert main(["audit", "export"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["number"], line["kind"], line["previous"] == "0" * 64) for line in lines] == [
        (1, "mode", True),
        (2, "allowed", False),
        (3, "file_written", False),
        (4, "done", False),
    ]


def test_an_audit_that_is_whole_verifies(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "verify"]) == 0
    assert capsys.readouterr().out == "All 4 entries are as Wisp wrote them.\n"


def test_a_changed_audit_is_told_by_its_entry(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(journal)) as db, db:
        db.execute("drop trigger audit_is_never_changed")
        db.execute("update audit set kind = 'harmless' where number = 2")
    db.close()
    assert main(["audit", "verify"]) == 1
    entry, found = capsys.readouterr().out.splitlines()
    assert entry.startswith("entry 2: ")
    assert "1 of 4" in found


def test_a_note_with_something_else_in_it_is_told(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal.with_suffix(".head").write_text("hello")
    assert main(["audit", "verify"]) == 1
    assert "holds something else" in capsys.readouterr().out


def test_a_refused_task_prints_the_name_that_lets_the_call_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    script = tmp_path / "script.toml"
    script.write_text(
        f"""[[replies]]\ntext = '<write_file path="{tmp_path}/other/k1"><content>x</content></write_file>'\n"""
        '[[replies]]\ntext = "<attempt_completion><result>Done.</result></attempt_completion>"\n'
    )
    words = ["do", "--no-screen", "--provider", "scripted", "--script", str(script), "--mode", "ask", "Tidy up."]
    main(words)
    told = capsys.readouterr().out
    assert not (tmp_path / "other/k1").exists()
    added = shlex.split(told.partition("To allow it: ")[2].splitlines()[0])
    assert added == ["--allow", str(tmp_path / "other")]
    main([*words, *added])
    assert (tmp_path / "other/k1").read_text() == "x"
