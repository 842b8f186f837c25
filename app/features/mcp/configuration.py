"""Which MCP servers exist: those in `mcp.json` of Wisp's settings folder, and in `.mcp.json` of the workspace.

Both have the format of other programs (`mcpServers`). The person wrote their own file. A workspace's file may come from
somebody else, so Wisp asks once about each of its servers. Changed files are read again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.base import own_files, paths
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.findings import Finding, note, ok
from app.base.phrases import Phrase
from app.base.signs import plain
from app.base.values import dataclass, field
from app.services.extras import way_to_add
from app.settings import store

OWN_FILE = "mcp.json"
WORKSPACE_FILE = ".mcp.json"
_MOST_BYTES = 1_000_000
_MOST_SERVERS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
_KEPT = re.compile(r"\$\{kept:([\w./-]+)\}")
_LOADED = re.compile(
    r"(LD_|DYLD_|PYTHON(?!UNBUFFERED|IOENCODING|UTF8)|NODE_(?!ENV$)|PERL5|RUBY|GEM_|GIT_|NPM_CONFIG_|UV_|PIP_).*|PATH|BASH_ENV|ENV|GCONV_PATH|CLASSPATH|HOME"
    r"|(_|JDK_)?JAVA_(TOOL_)?OPTIONS",
    re.IGNORECASE,
)
"""Variables through which a program loads code or settings from a place that its command does not name."""
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_HTTP = ("http", "streamable-http", "streamableHttp", "sse")
_LIMIT_S = 60.0
_PATH_CHARS = 4_096
_HASHED_BYTES = 20_000_000
_LONGEST_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """A server as a file defines it.

    `network`: its sandboxed process may use the network. `folders`: folders outside the workspace that it may read.
    `is_local`: its address may be on this machine or in its network. `is_own`: it is in the person's own file.
    """

    name: str
    kind: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    sandbox: bool = True
    folders: tuple[str, ...] = ()
    is_local: bool = False
    limit_s: float = _LIMIT_S
    is_disabled: bool = False
    is_own: bool = True
    home: str = ""

    @property
    def pin(self) -> str:
        """The name under which the person's agreement is saved."""
        return self.name if self.is_own else f"{self.name} of {self.home}"

    @property
    def fingerprint(self) -> str:
        """The hash of everything that says how the server starts and what it may access."""
        told = (self.kind, self.command, self.args, sorted(self.env.items()), self.cwd, self.url)
        reach = (sorted(self.headers.items()), self.network, self.sandbox, self.folders, self.is_local)
        return hashlib.sha256(json.dumps([told, reach]).encode()).hexdigest()

    @property
    def line(self) -> str:
        """The whole command or address, for the question to the person.

        Values of variables and headers are left out in the person's own entries: they may be secrets. In other entries
        they are shown, because they may refer to a secret of the person.
        """
        given = {**self.env, **self.headers}
        told = [f"{name}={'…' if self.is_own else value}" for name, value in given.items()]
        return " ".join([*told, self.url or shlex.join((self.command, *self.args))])

    @property
    def reach(self) -> str:
        """What the server can access, in words for the person."""
        return self.reach_in_words.said()

    @property
    def reach_in_words(self) -> Phrase:
        """What the server can access, for the presence to translate."""
        if self.kind != "stdio":
            far, near = Phrase("a server on the internet"), Phrase("a server on this machine or its network")
            return near if self.is_local else far
        if not self.sandbox:
            return Phrase("a program without a sandbox: it can do all that you may do")
        rooms = (*(["the internet"] if self.network else []), *self.folders)
        if rooms:
            return Phrase("a program in the sandbox, with {rooms}", {"rooms": rooms})
        return Phrase("a program in the sandbox")

    @property
    def reach_kind(self) -> str:
        """What the server can access, as it is saved: sandboxed, network, remote, or unsandboxed."""
        if self.kind != "stdio":
            return "remote"
        return "unsandboxed" if not self.sandbox else "network" if self.network else "sandboxed"


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers by name, and a sentence for each problem in the files."""

    servers: Mapping[str, ServerEntry] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class Configuration:
    """Reads the two configuration files, and reads a file again when it has changed."""

    def __init__(self, workspace: Path, own: Path | None = None) -> None:
        self._workspace = workspace
        self.own_file = own or paths.config_dir() / OWN_FILE
        self._files = (self.own_file, workspace / WORKSPACE_FILE)
        self._stamp: tuple[object, ...] | None = None
        self._found = Configured()

    def read(self) -> Configured:
        """Files are read only if they changed."""
        stamp = tuple(map(_stamp, self._files))
        if stamp != self._stamp:
            own, theirs = (_read(file, is_own=file == self.own_file) for file in self._files)
            hidden = [
                f"{self._files[1]}: {name} is not used, because your own servers have one of that name."
                for name in theirs.servers
                if name in own.servers
            ]
            problems = (*own.problems, *theirs.problems, *hidden)
            self._stamp, self._found = stamp, Configured({**theirs.servers, **own.servers}, problems)
        return self._found

    def named(self, name: str) -> ServerEntry:
        """Raises ToolMisuse for an unknown name, NeedsPerson for a disabled server."""
        servers = self.read().servers
        if name not in servers:
            known = ", ".join(sorted(servers)) or "none is configured"
            raise ToolMisuse(f"server_name: there is no server {clip_line(name, 64)!r}. Known: {known}.")
        if servers[name].is_disabled:
            raise NeedsPerson(f"{name} is switched off in {OWN_FILE} (disabled).")
        return servers[name]

    def add(self, name: str, entry: Mapping[str, Any]) -> ServerEntry:
        """Write a server into the person's own file. Raises NeedsPerson."""
        made = entry_of(name, entry, is_own=True, home=str(self.own_file))
        with self._changed() as servers:
            servers[name] = dict(entry)
        return made

    def switch(self, name: str, *, is_on: bool) -> None:
        """Switch a server of the person's own file on or off. Raises NeedsPerson if it is not there."""
        with self._changed() as servers:
            if not isinstance(told := servers.get(name), Mapping):
                raise NeedsPerson(Phrase("{file} has no server {name!r}.", {"file": str(self.own_file), "name": name}))
            servers[name] = {**told, "disabled": not is_on}

    def remove(self, name: str) -> None:
        """Remove a server from the person's own file. Raises NeedsPerson if it is not there."""
        with self._changed() as servers:
            if servers.pop(name, None) is None:
                raise NeedsPerson(Phrase("{file} has no server {name!r}.", {"file": str(self.own_file), "name": name}))

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Any]]:
        """The servers of the person's own file, which it writes, unless this context raises."""
        with own_files.locked(self.own_file):
            tree = _tree(self.own_file)
            servers = dict(_servers(tree))
            yield servers
            told = {**tree, "mcpServers": servers}
            own_files.write(self.own_file, json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def expanded(text: str, server: str = "", *, is_own: bool = True) -> str:
    """Fill in `${NAME}`, `${NAME:-else}`, `${env:NAME}`, and `${kept:mcp/SERVER/NAME}` for `server`.

    A saved key is only for the person's own server of that name. Raises NeedsPerson for a missing value, and if the
    entry of another file refers to a secret.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], match[2])
        if not is_own and _is_secret(match[1], found or ""):
            raise NeedsPerson(
                f"The server wants ${{{match[1]}}}, which looks like a secret. Only your own servers get such a one."
            )
        if found is None:
            raise NeedsPerson(f"The server wants ${{{match[1]}}}, which is not set where Wisp was started.")
        return found

    def kept(match: re.Match[str]) -> str:
        is_its_own = bool(server) and match[1].startswith(f"mcp/{server}/")
        if not is_its_own or not (found := store.key_of(match[1])):
            raise NeedsPerson(f"The server wants {match[1]}, which is not kept with your keys for it. Add it again.")
        return found

    return _KEPT.sub(kept, _VARIABLE.sub(value, text))


def _is_secret(name: str, value: str) -> bool:
    from app.services.processes.starting import is_secret

    return is_secret(name, value)


def _stamp(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:  # because most people and workspaces have none
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _read(file: Path, *, is_own: bool) -> Configured:
    try:
        found = _servers(_tree(file, is_own=is_own))
    except NeedsPerson as error:
        return Configured(problems=(str(error),))
    servers: dict[str, ServerEntry] = {}
    problems: list[str] = []
    for name, entry in list(found.items())[:_MOST_SERVERS]:
        try:
            servers[name] = entry_of(name, entry, is_own=is_own, home=str(file.parent))
        except NeedsPerson as error:
            problems.append(f"{file}: {error}")  # because the other servers stay usable
    if len(found) > _MOST_SERVERS:
        problems.append(f"{file}: only the first {_MOST_SERVERS} of {len(found)} servers are read.")
    return Configured(servers, tuple(problems))


def _tree(file: Path, *, is_own: bool = True) -> Mapping[str, Any]:
    try:
        if not os.path.lexists(file):
            return {}
        # Do not follow a link in the workspace, because it may lead to a pipe, which would be read for ever.
        follow = 0 if is_own else getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | follow), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise NeedsPerson(f"{file} is no regular file, so Wisp uses no server in it.")
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise NeedsPerson(f"{file} is longer than {_MOST_BYTES} bytes, so Wisp uses no server in it.")
        tree = json.loads(data.decode())
    except (OSError, ValueError, RecursionError) as error:
        raise NeedsPerson(f"{file} cannot be read ({error}), so Wisp uses no server in it.") from None
    if not isinstance(tree, dict):
        raise NeedsPerson(f"{file} has no “mcpServers”, so Wisp uses no server in it.")
    return tree


def _servers(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    found = tree.get("mcpServers", tree.get("servers", {}))
    return found if isinstance(found, dict) else {}


def entry_of(name: str, told: Any, *, is_own: bool, home: str) -> ServerEntry:
    """Return one server of a file. Raises NeedsPerson, with the fault, if its entry is not usable."""
    if not _NAME.fullmatch(name):
        what = "{name!r} is no name for a server: use letters, digits, dots and dashes."
        raise NeedsPerson(Phrase(what, {"name": clip_line(name, 64)}))
    if not isinstance(told, dict):
        raise NeedsPerson(f"{name} is no object.")
    url = next((told[key] for key in ("url", "serverUrl", "httpUrl") if key in told), "")
    kind = str(told.get("type") or ("http" if url else "stdio"))
    if kind not in ("stdio", *_HTTP):
        values = {"name": name, "kind": clip_line(kind, 40), "known": ", ".join(_HTTP)}
        raise NeedsPerson(Phrase("{name} has the type {kind!r}; known are stdio, {known}.", values))
    is_process = kind == "stdio"
    entry = ServerEntry(
        name,
        kind="stdio" if is_process else "sse" if kind == "sse" else "http",
        command=_text(name, told, "command") if is_process else "",
        args=_texts(name, told, "args"),
        env=_named(name, told, "env"),
        cwd=_text(name, told, "cwd"),
        url="" if is_process else _plain(name, "url", url),
        headers=_named(name, told, "headers"),
        network=told.get("network") is True,
        sandbox=told.get("sandbox") is not False,
        folders=_texts(name, told, "folders"),
        is_local=told.get("local") is True,
        limit_s=_limit(told.get("timeout_s")),
        is_disabled=told.get("disabled") is True,
        is_own=is_own,
        home=home,
    )
    _check(name, entry)
    return entry


def _check(name: str, entry: ServerEntry) -> None:
    """Raise NeedsPerson for an entry that cannot be used, or that would run something other than it shows."""
    is_process = entry.kind == "stdio"
    if is_process and not entry.command.strip():
        raise NeedsPerson(f"{name} names neither a command nor a url.")
    if any(".." in Path(word).parts for word in (entry.command, *entry.folders)):
        raise NeedsPerson(f"{name} has '..' in its command or folders: write the whole path.")
    for variable in entry.env:
        if not _VARIABLE_NAME.fullmatch(variable):
            values = {"name": name, "variable": clip_line(variable, 40)}
            raise NeedsPerson(Phrase("{name}: env has {variable!r}, which is no name of a variable.", values))
        if not entry.is_own and not entry.sandbox and _LOADED.fullmatch(variable):
            raise NeedsPerson(f"{name} has no sandbox and sets {variable}, by which it could load other programs.")
    if not is_process and not entry.url.startswith(("http://", "https://")):
        raise NeedsPerson(f"{name} has an address that is not http or https.")


def _limit(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return min(max(float(value), 1.0), _LONGEST_LIMIT_S) if is_number else _LIMIT_S


def _text(name: str, told: Mapping[str, Any], key: str) -> str:
    return _plain(name, key, told.get(key, ""))


def _texts(name: str, told: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = told.get(key, [])
    if not isinstance(values, list):
        raise NeedsPerson(f"{name}: {key} is no list.")
    return tuple(_plain(name, key, value) for value in values)


def _named(name: str, told: Mapping[str, Any], key: str) -> Mapping[str, str]:
    values = told.get(key, {})
    if not isinstance(values, dict):
        raise NeedsPerson(f"{name}: {key} is no object.")
    return {_plain(name, key, one): _plain(name, key, value) for one, value in values.items()}


def _plain(name: str, key: str, value: Any) -> str:
    """Raises NeedsPerson if the value is no text, or contains a line break or hidden characters."""
    text = str(value) if isinstance(value, (str, int, float)) else None
    if text is None or plain(text)[1] or "\n" in text or "\0" in text:
        raise NeedsPerson(f"{name}: {key} is no plain text.")
    return text


def at_home(word: str) -> str:
    return f"{Path.home()}{word[1:]}" if word == "~" or word.startswith("~/") else word


def private_folder(entry: ServerEntry) -> Path:
    """Return the folder that only this server uses, for its work, its home and its temporary files."""
    place = "" if entry.is_own else f"@{hashlib.sha256(entry.home.encode()).hexdigest()[:16]}"
    folder = Path(os.path.realpath(paths.data_dir())) / "mcp" / f"{entry.name}{place}"
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def folder_of(entry: ServerEntry, workspace: Path) -> Path:
    """Return the folder in which the server starts. For the person's own servers it is outside the workspace."""
    start = private_folder(entry) / "work" if entry.is_own else workspace
    return start / at_home(entry.cwd)


def mark_of(entry: ServerEntry, workspace: Path) -> str:
    """Return a hash of what the person agrees to: the entry and, if it is not theirs, the files it names. Blocks."""
    if entry.is_own or entry.kind != "stdio":
        return entry.fingerprint
    found = [f"{path}:{_digest(path)}" for path in _files_of(entry, workspace)]
    return hashlib.sha256("\n".join([entry.fingerprint, *found]).encode()).hexdigest()


def is_of_workspace(entry: ServerEntry, workspace: Path) -> bool:
    """True if the server starts in the workspace or from a file there, which others may change."""
    space = Path(os.path.realpath(workspace))
    named = (folder_of(entry, workspace), *_files_of(entry, workspace))
    return any(path.is_relative_to(space) for one in named for path in (one, Path(os.path.realpath(one))))


def _files_of(entry: ServerEntry, workspace: Path) -> list[Path]:
    """Those that the command and arguments name."""
    start = folder_of(entry, workspace)
    words = {part for word in (entry.command, *entry.args) for part in (word, word.rpartition("=")[2])}
    named = {start / at_home(word) for word in words if word and len(word) < _PATH_CHARS}
    program = shutil.which(entry.command)
    return sorted(path for path in {*named, *([Path(program)] if program else [])} if os.path.exists(path))


def _digest(path: Path) -> str:
    """A file's hash; size and time of a large one; a fixed word for anything else."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return "no file"
        if found.st_size > _HASHED_BYTES:
            return f"{found.st_size} {found.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # because the server could not read it either
        return "not readable"


def check_servers() -> Finding:
    """Check the configuration of tool servers, and that the package for them is installed if one is configured."""
    name, configured = "Tool servers", Configuration(Path.cwd()).read()
    if configured.problems:
        return note(name, configured.problems[0], "Correct that file. All that is wrong in it: wisp mcp list")
    if not configured.servers:
        return ok(name, "You have added none.")
    if importlib.util.find_spec("mcp") is None:
        return note(name, "The package that talks to them is missing.", way_to_add("mcp"))
    if not shutil.which("bwrap") and any(one.kind == "stdio" and one.sandbox for one in configured.servers.values()):
        return note(
            name,
            "Wisp does not start them, because there is no sandbox to shut them in.",
            "sudo apt-get install bubblewrap",
        )
    return ok(name, Phrase("You have added {count}.", {"count": len(configured.servers)}))
