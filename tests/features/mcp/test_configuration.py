"""The person's own file and a workspace's: read as other programs write them, with what is wrong said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.base.errors import NeedsPerson, ToolMisuse
from app.features.mcp.configuration import Configuration, entry_of, expanded
from app.features.mcp.hub import ServerFault, explained
from app.settings import store


def _files(folder: Path, own: Any = None, theirs: Any = None) -> Configuration:
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    for file, tree in ((folder / "mcp.json", own), (workspace / ".mcp.json", theirs)):
        if tree is not None:
            file.write_text(tree if isinstance(tree, str) else json.dumps(tree), encoding="utf-8")
    return Configuration(workspace, folder / "mcp.json")


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (
            {"command": "python3", "args": ["{script}"]},
            "does not show {script}. `wisp mcp add` shows it that, with --folder",
        ),
        ({"command": "npx", "args": ["-y", "some"]}, "npx loads the server from the internet, and it has none."),
        ({"command": "some"}, "It runs without the internet and reads only"),
    ],
)
def test_a_server_that_did_not_start_is_told_with_what_it_lacked(
    tmp_path: Path, told: dict[str, Any], hint: str
) -> None:
    (script := tmp_path / "server.py").touch()
    filled = json.loads(json.dumps(told).replace("{script}", str(script)))
    entry = entry_of("a", filled, is_own=True, home="")
    fault = explained(entry, ServerFault("gone", "dead"), tmp_path / "workspace")
    assert hint.replace("{script}", str(script)) in str(fault)


def test_both_files_are_read_and_the_own_one_counts_first(tmp_path: Path) -> None:
    own = {"mcpServers": {"notes": {"command": "notes", "args": ["--all"]}}}
    theirs = {"servers": {"notes": {"command": "evil"}, "git": {"type": "http", "url": "https://git.example/mcp"}}}
    found = _files(tmp_path, own, theirs).read()
    assert [(one.name, one.kind, one.line, one.is_own) for one in found.servers.values()] == [
        ("notes", "stdio", "notes --all", True),
        ("git", "http", "https://git.example/mcp", False),
    ]
    (problem,) = found.problems
    assert problem.endswith("notes is not used, because your own servers have one of that name.")


def test_an_edit_counts_without_a_restart(tmp_path: Path) -> None:
    configuration = _files(tmp_path)
    assert configuration.read().servers == {}
    configuration.add("notes", {"command": "notes"})
    assert [*configuration.read().servers] == ["notes"]
    (tmp_path / "workspace" / ".mcp.json").write_text('{"mcpServers": {"git": {"command": "git-server"}}}')
    assert sorted(configuration.read().servers) == ["git", "notes"]
    configuration.remove("notes")
    assert [*configuration.read().servers] == ["git"]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "names neither a command nor a url"),
        ({"command": "a\u202eb"}, "command is no plain text"),
        ({"command": "a", "args": ["b\nc"]}, "args is no plain text"),
        ({"command": "a", "env": {"A; touch x": "b"}}, "which is no name of a variable"),
        ({"command": "/opt/../bin/python3"}, "has '..' in its command or folders"),
        ({"url": "file:///etc/passwd"}, "an address that is not http or https"),
        ("notes", "is no object"),
    ],
)
def test_what_is_wrong_in_an_entry_is_said_and_the_others_are_used(entry: Any, why: str, tmp_path: Path) -> None:
    found = _files(tmp_path, {"mcpServers": {"bad": entry, "good": {"command": "notes"}}}).read()
    assert [*found.servers] == ["good"]
    assert why in found.problems[0]


@pytest.mark.parametrize("text", ["{", "[]", "\x00", "[" * 100_000, '"' + "x" * 1_000_001 + '"', "null"])
def test_a_damaged_file_gives_no_server_and_a_sentence(text: str, tmp_path: Path) -> None:
    found = _files(tmp_path, text, {"mcpServers": {"git": {"command": "g"}}}).read()
    assert [*found.servers] == ["git"]
    assert "Wisp uses no server in it" in found.problems[0]


@pytest.mark.parametrize("name", ["", "a b", "../x", "n\u00f6tes", "x" * 65, "-rf"])
def test_a_server_has_a_plain_name(name: str) -> None:
    with pytest.raises(NeedsPerson, match="no name for a server"):
        entry_of(name, {"command": "a"}, is_own=True, home="")


def test_every_change_of_how_it_is_started_is_another_server(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = [
        {"command": "a"},
        {"command": "a", "args": ["b"]},
        {"command": "a", "env": {"B": "c"}},
        {"command": "a", "cwd": "b"},
        {"command": "a", "network": True},
        {"command": "a", "sandbox": False},
        {"command": "a", "folders": ["/b"]},
        {"url": "https://a.example"},
        {"url": "https://a.example", "local": True},
        {"url": "https://a.example", "headers": {"b": "c"}},
    ]
    entries = [entry_of("notes", one, is_own=True, home="") for one in told]
    assert len({entry.fingerprint for entry in entries}) == len(told)
    assert entries[0].reach == "a program in the sandbox"
    assert entries[5].reach == "a program without a sandbox: it can do all that you may do"


def test_variables_are_filled_in_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES", "n")
    monkeypatch.delenv("MISSING", raising=False)
    assert expanded("${NOTES}/${env:NOTES}/${MISSING:-else}/$NOTES") == "n/n/else/$NOTES"
    with pytest.raises(NeedsPerson, match=r"wants \$\{MISSING\}, which is not set"):
        expanded("${MISSING}")


def test_values_are_shown_of_others_servers_and_never_of_the_own_ones() -> None:
    told = {"command": "a", "env": {"KEY": "${ANTHROPIC_API_KEY}"}, "args": ["b c"]}
    assert entry_of("notes", told, is_own=True, home="").line == "KEY=… a 'b c'"
    assert entry_of("notes", told, is_own=False, home="").line == "KEY=${ANTHROPIC_API_KEY} a 'b c'"
    remote = {"url": "https://a.example", "headers": {"K": "${HOME}"}}
    assert entry_of("notes", remote, is_own=False, home="").line == "K=${HOME} https://a.example"


@pytest.mark.parametrize(
    ("text", "server"),
    [("${kept:mcp/notes/KEY}", "other"), ("${kept:mcp/notes/KEY}", ""), ("${kept:anthropic}", "notes")],
)
def test_what_is_kept_for_one_server_reaches_no_other(
    text: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WISP_DATA_DIR", str(tmp_path))
    for name in ("mcp/notes/KEY", "anthropic"):
        store.keep(name, f"the value of {name}")
    assert expanded("Bearer ${kept:mcp/notes/KEY}", "notes") == "Bearer the value of mcp/notes/KEY"
    with pytest.raises(NeedsPerson, match="is not kept with your keys for it"):
        expanded(text, server)


def test_an_unknown_or_switched_off_server_is_refused_with_the_way_on(tmp_path: Path) -> None:
    configuration = _files(tmp_path, {"mcpServers": {"off": {"command": "a", "disabled": True}}})
    with pytest.raises(NeedsPerson, match="switched off"):
        configuration.named("off")
    with pytest.raises(ToolMisuse, match=r"no server 'none'\. Known: off"):
        configuration.named("none")
    with pytest.raises(NeedsPerson, match="has no server 'none'"):
        configuration.remove("none")


def test_the_own_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    configuration = _files(tmp_path)
    configuration.add("notes", {"command": "notes", "env": {"KEY": "sk-1"}})
    assert configuration.own_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "link to a file", "folder"])
def test_a_workspaces_file_that_is_no_regular_file_is_not_opened(kind: str, tmp_path: Path) -> None:
    configuration = _files(tmp_path)
    file, beside = tmp_path / "workspace" / ".mcp.json", tmp_path / "beside"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(beside) if "pipe" in kind else beside.write_text('{"mcpServers": {"a": {"command": "a"}}}')
        file.symlink_to(beside)
    found = configuration.read()
    assert found.servers == {}
    assert "Wisp uses no server in it" in found.problems[0]


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "WISP_ANYTHING", "DATABASE"])
def test_a_workspaces_server_gets_no_secret(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "postgres://me:hunter2@db.example/")
    assert expanded(f"k=${{{name}}}") == "k=postgres://me:hunter2@db.example/"
    with pytest.raises(NeedsPerson, match="looks like a secret"):
        expanded(f"k=${{{name}:-else}}", is_own=False)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "PATH", "JAVA_TOOL_OPTIONS"])
def test_a_workspaces_server_without_a_sandbox_loads_nothing_by_its_variables(name: str) -> None:
    told = {"command": "a", "env": {name: "b"}}
    assert entry_of("notes", told, is_own=False, home="").env == {name: "b"}
    with pytest.raises(NeedsPerson, match=f"sets {name}, by which it could load other programs"):
        entry_of("notes", {**told, "sandbox": False}, is_own=False, home="")
    assert entry_of("notes", {**told, "sandbox": False}, is_own=True, home="").env == {name: "b"}
