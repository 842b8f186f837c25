"""Tool servers and skills of others, used as a person would add them: what they offer, and what came of each call.

`python -m scripts.bench.real_servers FOLDER` installs the five reference servers and a collection of 27 skills into the
folder, with npm and pip, where they are not there yet. Then each server is started in the sandbox and called, and the
skills are read. It needs npm, Node 20 and the network for the first run; it exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.base.clock import SystemClock
from app.base.errors import WispError
from app.features.mcp.configuration import ServerEntry
from app.features.mcp.servers import McpServers
from app.features.skills.store import add

_NPM = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")
_NPM += ("@modelcontextprotocol/server-memory", "ai-labs-claude-skills@2.0.1")
_PIP = ("mcp-server-time", "mcp-server-git")
SKILLS = 27


@dataclass(frozen=True)
class Use:
    """One call. `WORKSPACE` in an argument is the folder that the server works in; `holds` is what the answer has."""

    tool: str
    arguments: Mapping[str, Any]
    holds: str
    makes: str = ""
    """A file of the workspace that is there afterwards."""


@dataclass(frozen=True)
class RealServer:
    name: str
    module: str
    """A package of npm, or a module of Python."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    uses: tuple[Use, ...] = ()

    @property
    def is_npm(self) -> bool:
        return self.module.startswith("@")

    def installed(self, folder: Path) -> list[str]:
        """The command that starts it, of what is installed below a folder or beside this Python; [] if it is not."""
        script = folder / "node_modules" / self.module / "dist" / "index.js"
        if self.is_npm:
            return ["node", str(script)] if script.exists() else []
        for python in (folder / "python" / "bin" / "python", Path(sys.executable)):
            asked = [str(python), "-c", f"import importlib.util as u; assert u.find_spec({self.module!r})"]
            if python.exists() and not subprocess.run(asked, check=False, capture_output=True).returncode:
                return [str(python), "-m", self.module]
        return []


REAL_SERVERS = (
    RealServer(
        "everything",
        "@modelcontextprotocol/server-everything",
        ("stdio",),
        uses=(
            Use("echo", {"message": "hello"}, "Echo: hello"),
            Use("get-sum", {"a": 2, "b": 3}, "5"),
            Use("get-tiny-image", {}, "image"),
            Use("get-structured-content", {"location": "New York"}, "temperature"),
        ),
    ),
    RealServer(
        "filesystem",
        "@modelcontextprotocol/server-filesystem",
        ("WORKSPACE",),
        uses=(
            Use("write_file", {"path": "WORKSPACE/note.txt", "content": "hi"}, "Success", "note.txt"),
            Use("read_text_file", {"path": "WORKSPACE/note.txt"}, "hi"),
            Use("read_text_file", {"path": "/etc/hostname"}, "denied"),
        ),
    ),
    RealServer(
        "memory",
        "@modelcontextprotocol/server-memory",
        environment={"MEMORY_FILE_PATH": "WORKSPACE/memory.jsonl"},
        uses=(
            Use(
                "create_entities",
                {"entities": [{"name": "Anna", "entityType": "person", "observations": ["likes tea"]}]},
                "Anna",
                "memory.jsonl",
            ),
            Use("search_nodes", {"query": "tea"}, "Anna"),
        ),
    ),
    RealServer(
        "time",
        "mcp_server_time",
        uses=(
            Use(
                "convert_time",
                {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
                "T21:00:00+09:00",
            ),
        ),
    ),
    RealServer(
        "git",
        "mcp_server_git",
        ("--repository", "WORKSPACE/repo"),
        uses=(
            Use("git_add", {"repo_path": "WORKSPACE/repo", "files": ["a.txt"]}, "staged"),
            Use("git_status", {"repo_path": "WORKSPACE/repo"}, "new file:   a.txt"),
        ),
    ),
)


def install(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", str(folder), *_NPM]
    subprocess.run(npm, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
    subprocess.run([str(folder / "python" / "bin" / "pip"), "install", "-q", *_PIP], check=True)


def placed(value: Any, workspace: Path) -> Any:
    """The value with the real folder for `WORKSPACE`."""
    if isinstance(value, str):
        return value.replace("WORKSPACE", str(workspace))
    if isinstance(value, Mapping):
        return {name: placed(one, workspace) for name, one in value.items()}
    return [placed(one, workspace) for one in value] if isinstance(value, (list, tuple)) else value


async def failures(server: RealServer, command: list[str], folder: Path, workspace: Path) -> tuple[int, list[str]]:
    """How many tools a server offers, and a sentence for each use of it that failed."""
    servers = McpServers(workspace, SystemClock())
    told: list[str] = []
    try:
        entry = await asyncio.to_thread(_set_up, servers, server, command, folder, workspace)
        offered = len((await servers.tools(entry)).usable)
        for use in server.uses:
            answer = await servers.use(entry, use.tool, placed(use.arguments, workspace), lambda *_: None)
            if use.holds not in answer.text or (use.makes and not (workspace / use.makes).exists()):
                told.append(f"{server.name} {use.tool}: {answer.text[:300]!r}")
        return offered, told
    except WispError as error:
        return 0, [f"{server.name}: {error}"]
    finally:
        await servers.close()


def _set_up(servers: McpServers, server: RealServer, command: list[str], folder: Path, workspace: Path) -> ServerEntry:
    """Add the server to the person's own, in the sandbox, with the folder of its program to read.

    The workspace gets a repository with a new file, for the server of git.
    """
    subprocess.run(["git", "init", "-q", str(workspace / "repo")], check=True)
    (workspace / "repo" / "a.txt").write_text("x\n", encoding="utf-8")
    entry = {
        "command": command[0],
        "args": [*command[1:], *(placed(one, workspace) for one in server.arguments)],
        "env": placed(server.environment, workspace),
        "folders": [str(folder)],
        "cwd": str(workspace),
    }
    servers.configuration.add(server.name, entry)
    added = servers.configuration.named(server.name)
    servers.is_agreed(added)
    return added


def skills_read(folder: Path) -> tuple[int, list[str]]:
    """How many skills of the collection are added to the person's own, and a sentence for each that is not."""
    added, told = 0, []
    for file in sorted((folder / "node_modules" / "ai-labs-claude-skills").rglob("SKILL.md")):
        try:
            add(file)
            added += 1
        except WispError as error:
            told.append(f"{file.parent.name}: {error}")
    return added, told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.resolve()
    if not all(server.installed(folder) for server in REAL_SERVERS):
        install(folder)
    told: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        os.environ["WISP_DATA_DIR"] = str(Path(place) / "wisp")
        for server in REAL_SERVERS:
            workspace = Path(place) / server.name
            workspace.mkdir()
            begun = time.perf_counter()
            offered, failed = asyncio.run(failures(server, server.installed(folder), folder, workspace))
            took = time.perf_counter() - begun
            worked = len(server.uses) - len(failed)
            print(f"{server.name:<12} {offered:>3} tools, {worked} of {len(server.uses)} uses, {took:.1f} s")
            told += failed
        added, left_out = skills_read(folder)
        print(f"{'skills':<12} {added} of {SKILLS} read and added")
    print("\n".join([*told, *left_out]) or "Nothing failed.")
    return int(bool(told) or added < SKILLS)


if __name__ == "__main__":
    sys.exit(main())
