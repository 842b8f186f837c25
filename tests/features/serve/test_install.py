"""`wisp mcp install` and `uninstall`: each agent gets Wisp's server after a yes, and keeps all else that it has."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import cli
from app.base.commented_json import as_json
from app.features.serve.clients import serve_command

ROOT = Path(__file__).resolve().parents[3]
_SERVE = serve_command()
_AGENTS = Path(os.environ.get("WISP_TEST_AGENTS") or Path(pwd.getpwuid(os.getuid()).pw_dir, ".cache/wisp-tests/agents"))
_CLAUDE = (
    f"#!{sys.executable}"
    + """
import json, os, pathlib, sys
file = pathlib.Path(os.environ.get("CLAUDE_CONFIG_DIR") or pathlib.Path.home(), ".claude.json")
tree = json.loads(file.read_text()) if file.exists() else {}
servers = tree.setdefault("mcpServers", {})
match sys.argv[1:]:
    case ["mcp", "add", "--scope", "user", name, "--", command, *args] if name not in servers:
        servers[name] = {"type": "stdio", "command": command, "args": args, "env": {}}
    case ["mcp", "remove", "--scope", "user", name] if name in servers:
        del servers[name]
    case _:
        sys.exit("the stand-in does not know: " + " ".join(sys.argv[1:]))
file.write_text(json.dumps(tree))
"""
)
_PLACES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "goose": ".config/goose/config.yaml",
}
_KEYS = {
    "claude": "mcpServers",
    "codex": "mcp_servers",
    "cursor": "mcpServers",
    "vscode": "servers",
    "goose": "extensions",
}
_OTHERS = {
    "claude": '{"theme": "dark", "mcpServers": {"other": {"command": "o"}}}',
    "codex": '# mine\nmodel = "m" # why\n\n[mcp_servers.other]\ncommand = "o"\n\n# tools\n[tools]\nx = [\n  [1],\n]\n',
    "cursor": '{"mcpServers": {"other": {"command": "o"}}}',
    "vscode": '{\n\t// mine\n\t"inputs": [],\n\t"servers": {\n\t\t"other": {"command": "o"}, // stays\n\t},\n}\n',
    "goose": "# mine\nextensions:\n  other:\n    cmd: o # why\n\n  # the model\nGOOSE_MODEL: m\n",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home in which all five agents have run, with a stand-in for the one command that is used."""
    home, programs = tmp_path / "home", tmp_path / "programs"
    for place in _PLACES.values():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
    programs.mkdir()
    (programs / "claude").write_text(_CLAUDE)
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.chdir(tmp_path)
    return home


def _tree(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8-sig")
    readers = {".json": lambda text: json.loads(as_json(text)), ".toml": tomllib.loads, ".yaml": yaml.safe_load}
    return readers[file.suffix](text)


def _entered(home: Path, client: str) -> list[str]:
    """The command that the agent would start for Wisp."""
    entry = _tree(home / _PLACES[client])[_KEYS[client]]["wisp"]
    return [entry.get("command") or entry["cmd"], *entry["args"]]


@pytest.mark.parametrize("client", _PLACES)
def test_an_agent_gets_the_server_after_a_yes_and_keeps_the_rest(
    home: Path, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / _PLACES[client]
    file.write_text(_OTHERS[client], encoding="utf-8")
    before = _tree(file)
    assert cli.main(["mcp", "install", client]) == 1, "nobody can be asked here"
    shown = capsys.readouterr().out
    assert _SERVE[0] in shown and "Nothing was changed" in shown
    assert file.read_text(encoding="utf-8") == _OTHERS[client]
    assert cli.main(["mcp", "install", client, "--desktop", "private", "--all", "--yes"]) == 0
    assert _entered(home, client) == [*_SERVE, "--desktop", "private", "--all"]
    assert cli.main(["mcp", "install", client, "--yes"]) == 0
    assert "This replaces" in capsys.readouterr().out
    assert _entered(home, client) == _SERVE
    assert Path(_SERVE[0]).is_absolute()
    after = _tree(file)
    del after[_KEYS[client]]["wisp"]
    assert after == before
    installed = file.read_bytes()
    assert cli.main(["mcp", "install", client, "--yes"]) == 0
    assert file.read_bytes() == installed, "it is there already"
    assert cli.main(["mcp", "uninstall", client]) == 1
    assert file.read_bytes() == installed, "nobody can be asked here"
    assert cli.main(["mcp", "uninstall", client, "--yes"]) == 0
    assert _tree(file) == before
    if client != "claude":  # whose own program writes it
        assert file.read_text(encoding="utf-8") == _OTHERS[client]
    capsys.readouterr()
    assert cli.main(["mcp", "uninstall", client, "--yes"]) == 0
    assert "was not set up to use this desktop" in capsys.readouterr().out


@pytest.mark.parametrize("client", _PLACES)
def test_an_agent_without_a_file_gets_one(home: Path, client: str) -> None:
    assert cli.main(["mcp", "install", client, "--yes"]) == 0
    assert _entered(home, client) == _SERVE


def test_agents_that_keep_their_files_elsewhere_are_found_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, folder in (("CLAUDE_CONFIG_DIR", "a"), ("CODEX_HOME", "b"), ("XDG_CONFIG_HOME", "c")):
        monkeypatch.setenv(variable, str(home / folder))
    for folder in ("a", "b", "c/Code", "c/goose"):
        (home / folder).mkdir(parents=True)
    for client in _PLACES:
        assert cli.main(["mcp", "install", client, "--yes"]) == 0
    places = ["a/.claude.json", "b/config.toml", ".cursor/mcp.json", "c/Code/User/mcp.json", "c/goose/config.yaml"]
    assert [str(file.relative_to(home)) for file in sorted(home.rglob("*")) if file.is_file()] == sorted(places)


def test_codex_passes_on_what_leads_to_the_desktop(home: Path) -> None:
    assert cli.main(["mcp", "install", "codex", "--yes"]) == 0
    assert {"DISPLAY", "XAUTHORITY"} <= {*_tree(home / _PLACES["codex"])["mcp_servers"]["wisp"]["env_vars"]}


@pytest.mark.parametrize("client", _PLACES)
def test_an_entry_of_that_name_that_is_somebody_elses_is_shown_and_stays_without_a_yes(
    home: Path, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / _PLACES[client]
    entry = {"command": "theirs", "cmd": "theirs", "args": ["-x"]}
    tree = {_KEYS[client]: {"wisp": entry, "other": {"command": "o"}}}
    told = {".json": json.dumps, ".yaml": yaml.safe_dump}.get(file.suffix)
    file.write_text(
        told(tree) if told else '[mcp_servers.wisp]\ncommand = "theirs"\nargs = ["-x"]\n[mcp_servers.other]\n'
    )
    before = file.read_bytes()
    assert cli.main(["mcp", "install", client]) == 1
    shown = capsys.readouterr().out
    assert "not Wisp's: theirs -x" in shown
    assert cli.main(["mcp", "uninstall", client, "--yes"]) == 0
    assert "theirs -x" in capsys.readouterr().out
    assert file.read_bytes() == before
    assert cli.main(["mcp", "install", client, "--yes"]) == 0
    assert _entered(home, client) == _SERVE
    assert "other" in _tree(file)[_KEYS[client]]


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude", "{"),
        ("codex", "[mcp_servers"),
        ("codex", "mcp_servers = { other = { command = 'o' } }\n"),
        ("cursor", "{"),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": 3}'),
        ("vscode", '{"servers": {} /* open'),
        ("goose", "extensions: [1]"),
        ("goose", "a: b: c"),
        ("goose", "extensions: {other: {cmd: o}}\n"),
    ],
)
def test_a_file_that_cannot_be_read_or_edited_is_left_alone(
    home: Path, client: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / _PLACES[client]
    file.write_text(text)
    assert cli.main(["mcp", "install", client, "--yes"]) == 1
    assert str(file) in capsys.readouterr().err
    assert file.read_text() == text


_LAYOUTS = [
    ("cursor", "{}"),
    ("cursor", '\ufeff{\r\n    "a": 1\r\n}\r\n'),
    ("cursor", '{"mcpServers": {}, "a": [1]}'),
    ("cursor", '{\n  "mcpServers": {\n    // none yet\n  },\n  "a": "}"\n}'),
    ("cursor", '{"mcpServers": {"b": {},},}'),
    ("cursor", '{\n "mcpServers": {\n  "b": {}, // b\n  "c": {} // c\n } }'),
    ("vscode", '{\n  "servers": {\n    "b": {} /* b */ }\n}'),
    ("codex", "model = 'm'"),
    ("codex", "[mcp_servers.b]\r\ncommand = 'b'\r\n"),
    ("codex", "[mcp_servers]\nb = { command = 'b' }\n\n[other]\n"),
    ("goose", "extensions: {}\n"),
    ("goose", "extensions:\nmodel: m\n"),
    ("goose", "a: 1"),
    (
        "goose",
        "extensions:\n    b:\n        about: |\n            text\n\n    # the last\n    c: {cmd: c}\n\n# end\nz: 1",
    ),
    ("goose", "extensions:\r\n  b:\r\n    cmd: b\r\n"),
]


@pytest.mark.parametrize(("client", "text"), _LAYOUTS)
def test_every_layout_keeps_its_comments_its_order_and_its_lines(home: Path, client: str, text: str) -> None:
    file = home / _PLACES[client]
    file.write_bytes(text.encode())
    before = _tree(file)
    assert cli.main(["mcp", "install", client, "--yes"]) == 0
    assert _entered(home, client) == _SERVE
    assert cli.main(["mcp", "install", client, "--all", "--yes"]) == 0
    assert _entered(home, client) == [*_SERVE, "--all"]
    installed = file.read_bytes().decode()
    rest = iter(installed.split())
    assert all(any(word.strip("{},") in one for one in rest) for word in text.split()), installed
    assert installed.count("\r\n") in (0, installed.count("\n")) and ("\r\n" in text) == ("\r\n" in installed)
    assert cli.main(["mcp", "uninstall", client, "--yes"]) == 0
    after, nothing = _tree(file), {_KEYS[client]: {}}
    assert {**nothing, **after} == {**nothing, **{name: value or {} for name, value in before.items()}}


def test_a_file_that_is_a_link_stays_one_and_keeps_its_mode(home: Path) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o640)
    file = home / _PLACES["cursor"]
    file.symlink_to(kept)
    assert cli.main(["mcp", "install", "cursor", "--yes"]) == 0
    assert (file.is_symlink(), kept.stat().st_mode & 0o777) == (True, 0o640)
    assert _entered(home, "cursor") == _SERVE


def test_without_a_name_the_agents_are_listed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(home / ".config/goose")
    (home / _PLACES["vscode"]).write_text("{")
    (home / _PLACES["cursor"]).write_text('{"mcpServers": {"wisp": {"url": "https://theirs.example/\\u001b[2J"}}}')
    assert cli.main(["mcp", "install", "codex", "--yes"]) == 0
    capsys.readouterr()
    for command in ("install", "uninstall"):
        assert cli.main(["mcp", command]) == 0
        rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
        assert [*rows] == [*_PLACES]
        assert ("not installed" in rows["goose"], "not installed" in rows["claude"]) == (True, False)
        assert _SERVE[0] in rows["codex"] and "https://theirs.example" in rows["cursor"]
        assert "\x1b" not in rows["cursor"]
        assert "cannot be read" in rows["vscode"]
    assert cli.main(["mcp", "install", "goose", "--yes"]) == 1
    assert "is not installed" in capsys.readouterr().err
    assert not (home / ".config/goose").exists()


def test_what_an_agents_own_command_says_is_passed_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = Path(shutil.which("claude") or "")
    program.write_text("#!/bin/sh\necho the disk is full >&2\nexit 3\n")
    assert cli.main(["mcp", "install", "claude", "--yes"]) == 1
    assert "the disk is full" in capsys.readouterr().err
    program.unlink()
    (home / ".claude").mkdir()
    assert cli.main(["mcp", "install", "claude", "--yes"]) == 1
    assert "needs the command claude" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_the_real_agents_know_the_entry(home: Path, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{_AGENTS / 'node_modules/.bin'}:/usr/local/bin:/usr/bin:/bin")
    if not shutil.which(client):
        pytest.skip("`scripts/setup all` installs it, where there is npm")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # because the environment may be another checkout's
    file = home / _PLACES[client]
    file.write_text('model = "m" # mine\n' if client == "codex" else "{}")
    assert cli.main(["mcp", "install", client, "--all", "--yes"]) == 0
    assert cli.main(["mcp", "install", client, "--yes"]) == 0
    listed = subprocess.run([client, "mcp", "list"], capture_output=True, text=True, timeout=60, check=True).stdout
    row = next(line for line in listed.splitlines() if line.startswith("wisp"))
    assert _SERVE[0] in row and "--all" not in row
    assert client == "codex" or "Connected" in row, "Claude Code starts the servers that it lists"
    assert cli.main(["mcp", "uninstall", client, "--yes"]) == 0
    listed = subprocess.run([client, "mcp", "list"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert "wisp" not in listed
    if client == "codex":
        assert tomllib.loads(file.read_text()) == {"model": "m"}


def test_what_the_person_wrote_into_wisps_entry_stays_and_one_that_is_off_is_on_again(home: Path) -> None:
    file = home / _PLACES["codex"]
    assert cli.main(["mcp", "install", "codex", "--yes"]) == 0
    file.write_text(f"{file.read_text()}startup_timeout_sec = 60\nenabled = false\n")
    assert cli.main(["mcp", "install", "codex", "--allow", "Text Editor", "--yes"]) == 0
    entry = tomllib.loads(file.read_text())["mcp_servers"]["wisp"]
    assert entry["startup_timeout_sec"] == 60
    assert entry.get("enabled", True)
    assert entry["args"][-2:] == ["--allow", "Text Editor"]


def test_wisp_does_not_take_its_own_server_over(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".cursor").mkdir(exist_ok=True)
    assert cli.main(["mcp", "install", "cursor", "--yes"]) == 0
    cli.main(["mcp", "import", "cursor", "wisp", "--yes"])
    capsys.readouterr()
    cli.main(["mcp", "list"])
    assert "mcp serve" not in capsys.readouterr().out
