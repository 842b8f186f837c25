"""`wisp mcp`: what other programs have is shown and taken over, secrets go to the keys, theirs stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app import cli
from app.base.clock import SystemClock
from app.services.mcp import imports
from app.services.mcp.configuration import Configuration, expanded
from app.services.mcp.servers import McpServers, standard_pins
from app.settings import store

_TOML = """[mcp_servers.docs]
url = "https://d.example/mcp"
bearer_token_env_var = "DOCS"
tool_timeout_sec = 9
"""
_COMMENTED = """{ // mine
  "servers": {"git": {"type": "stdio", "command": "git-server", "args": ["${workspaceFolder}", "http://x"],},},
}"""
_SHAPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "claude-code": (
        "home/.claude.json",
        '{"mcpServers": {"web": {"type": "http", "url": "https://a.example/mcp", "headers": {"K": "${T:-x}"}}}}',
        {"type": "http", "url": "https://a.example/mcp", "headers": {"K": "${T:-x}"}},
    ),
    "claude-desktop": (
        "home/.config/Claude/claude_desktop_config.json",
        '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files", "/tmp"]}}}',
        {"command": "npx", "args": ["-y", "files", "/tmp"]},
    ),
    "cursor": (
        "work/.cursor/mcp.json",
        '{"mcpServers": {"db": {"command": "db", "env": {"URL": "${env:DB}"}}}}',
        {"command": "db", "env": {"URL": "${env:DB}"}},
    ),
    "vscode": (
        "work/.vscode/mcp.json",
        _COMMENTED,
        {"type": "stdio", "command": "git-server", "args": [".", "http://x"]},
    ),
    "codex": (
        "home/.codex/config.toml",
        _TOML,
        {"url": "https://d.example/mcp", "headers": {"Authorization": "Bearer ${DOCS}"}, "timeout_s": 9},
    ),
    "windsurf": (
        "home/.codeium/windsurf/mcp_config.json",
        '{"mcpServers": {"sse": {"serverUrl": "https://s.example/sse", "disabled": true}}}',
        {"url": "https://s.example/sse", "disabled": True},
    ),
    "gemini": (
        "home/.gemini/settings.json",
        '{"mcpServers": {"g": {"httpUrl": "https://g.example/mcp"}}}',
        {"url": "https://g.example/mcp"},
    ),
}


def _lay(folder: Path, program: str, text: str = "") -> Path:
    path, shape, _ = _SHAPES[program]
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text or shape, encoding="utf-8")
    return file


def test_every_known_program_has_a_shape_here() -> None:
    assert set(imports.programs()) == set(_SHAPES)


@pytest.mark.parametrize("program", _SHAPES)
def test_a_programs_servers_are_found_in_wisps_shape(program: str, tmp_path: Path) -> None:
    file = _lay(tmp_path, program)
    before = file.read_bytes()
    (found,) = imports.found(tmp_path / "work", tmp_path / "home", program)
    assert (found.program, dict(found.told), found.why) == (program, _SHAPES[program][2], "")
    assert found.entry.kind in ("stdio", "http")
    assert file.read_bytes() == before


def test_servers_of_one_project_are_found_in_that_project_only(tmp_path: Path) -> None:
    work = tmp_path / "work"
    told = {"projects": {str(work): {"mcpServers": {"here": {"command": "a"}}}, "/else": {"mcpServers": {"there": {}}}}}
    _lay(tmp_path, "claude-code", json.dumps(told))
    assert [one.name for one in imports.found(work, tmp_path / "home")] == ["here"]


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"mcpServers": 3}', "[" * 100_000])
def test_a_damaged_file_of_another_program_has_no_servers(text: str, tmp_path: Path) -> None:
    _lay(tmp_path, "claude-code", text)
    assert imports.found(tmp_path / "work", tmp_path / "home") == []


def test_what_only_the_other_program_can_fill_in_is_said(tmp_path: Path) -> None:
    _lay(tmp_path, "vscode", '{"servers": {"a": {"command": "a", "env": {"K": "${input:key}"}}, "b": {}}}')
    why = [one.why for one in imports.found(tmp_path / "work", tmp_path / "home")]
    assert why == ["wants ${input:key}, which only vscode can fill in", "b names neither a command nor a url."]


@pytest.fixture
def wisp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, workspace and settings."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path / "wisp"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_a_server_is_added_trusted_and_removed(wisp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "add", "--network", "notes", "--", "notes-server", "--all"]) == 0
    assert "Added notes: notes-server --all" in capsys.readouterr().out
    assert cli.main(["mcp", "trust", "notes"]) == 1
    assert "Nothing was agreed about notes yet" in capsys.readouterr().err
    standard_pins().agree("notes", "fingerprint", "sandboxed")
    assert cli.main(["mcp", "trust", "notes"]) == 0
    assert standard_pins().is_trusted("notes")
    assert cli.main(["mcp"]) == 0
    assert "a program in the sandbox, with the internet" in capsys.readouterr().out
    assert cli.main(["mcp", "remove", "notes"]) == 0
    assert (standard_pins().reach("notes"), Configuration(wisp / "work").read().servers) == ("", {})


def test_the_list_says_which_server_could_not_be_started_and_why(
    wisp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["mcp", "add", "notes", "--", "notes-server"]) == 0
    servers = McpServers(wisp / "work", SystemClock())
    servers.agree(servers.configuration.named("notes"))
    capsys.readouterr()
    assert cli.main(["mcp", "list"]) == 0
    assert "idle" in capsys.readouterr().out
    standard_pins().note_start("notes", "notes ended as soon as it was started. Its last words: 'no licence'.")
    assert cli.main(["mcp", "list"]) == 0
    told = capsys.readouterr().out
    assert "failed" in told
    assert "Notes ended as soon as it was started. Its last words: “no licence”." in told
    assert "idle" not in told


def test_another_program_of_that_name_is_not_trusted(wisp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "add", "clock", "--", "clock-server"]) == 0
    standard_pins().agree("clock", "fingerprint", "sandboxed")
    assert cli.main(["mcp", "trust", "clock"]) == 0
    assert cli.main(["mcp", "add", "clock", "--", "other-server"]) == 0
    assert "Replaced clock: other-server" in capsys.readouterr().out
    assert not standard_pins().is_trusted("clock")


def test_what_is_taken_over_leaves_its_secrets_with_the_keys(wisp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = {"mcpServers": {"db": {"command": "db", "env": {"KEY": "sk-very-secret"}}, "web": {"command": "w"}}}
    _lay(wisp, "cursor", json.dumps(told))
    assert cli.main(["mcp", "import"]) == 0
    assert "cursor          db" in capsys.readouterr().out
    assert cli.main(["mcp", "import", "cursor", "db", "gone"]) == 1
    assert "cursor has no server 'gone'" in capsys.readouterr().err
    configuration = Configuration(wisp / "work")
    assert [*configuration.read().servers] == ["db"]
    assert "sk-very-secret" not in configuration.own_file.read_text(encoding="utf-8")
    assert expanded(configuration.named("db").env["KEY"], "db") == "sk-very-secret"
    store.keep("mcp/other/KEY", "sk-of-another")
    assert cli.main(["mcp", "remove", "db"]) == 0
    assert (store.key_of("mcp/db/KEY"), store.key_of("mcp/other/KEY")) == ("", "sk-of-another")


def test_wrong_words_are_refused_with_the_way_on(wisp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", "add", "notes"]) == 1
    assert "Name either a command behind `--`, or an address with --url." in capsys.readouterr().err
    assert cli.main(["mcp", "add", "--env", "KEY", "notes", "--", "a"]) == 1
    assert "Write variables and headers as NAME=VALUE" in capsys.readouterr().err
    assert cli.main(["mcp", "remove", "notes"]) == 1


@pytest.mark.parametrize(("kept", "now"), [("walled", "sandboxed"), ("unwalled", "unsandboxed"), ("remote", "remote")])
def test_what_was_agreed_with_an_earlier_version_still_counts(kept: str, now: str) -> None:
    standard_pins().agree("clock", "fingerprint", kept)
    assert standard_pins().reach("clock") == now
