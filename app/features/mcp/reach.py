"""What a server needs beyond its sandbox, judged by the command that the person wrote.

The files and folders that a command names may be read. A script needs the other files of its project, too. A folder
that holds keys or passwords, and the home folder itself, are never given by this: the person names them apart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.base import paths, resources
from app.base.values import dataclass
from app.features.mcp.configuration import ServerEntry, at_home
from app.services.files import places
from app.services.files.survey import survey
from app.services.files.workspace import why_no_workspace
from app.services.sandbox import layout

_LINE_BYTES = 512
_MOST_LINKS = 40  # as Linux allows: https://man7.org/linux/man-pages/man7/path_resolution.7.html
_STARTS = ("/", "~", "./", "../")


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """What a server may read because its command names it, and why it may not read the rest that it names."""

    folders: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonFiles:
    """What a sandbox must show so that a program's Python starts: its own folders, and the links that lead to it."""

    folders: tuple[Path, ...] = ()
    links: tuple[Path, ...] = ()


def python_of(program: Path) -> PythonFiles:
    """Return where the Python of a program lies: a program that is a link to one, or a script that names one.

    That is how virtual environments look whose Python comes from pyenv, uv or another home folder. Nothing else is
    shown of that folder: only what holds Python's library counts, and whole only if it holds no keys. Reads the disk.
    """
    links = list(_links(named := _interpreter(program)))
    python = Path(os.path.realpath(named))
    prefix, library = python.parent.parent, python.parent.parent / "lib" / python.name
    if not (library / "os.py").is_file() or _is_shown(python):
        return PythonFiles()
    return PythonFiles((python, library) if _why_not(prefix) else (prefix,), tuple(links))


def _interpreter(program: Path) -> Path:
    """What a script's first line names; the program itself if it is no script."""
    try:
        with program.open("rb") as file:
            first = file.readline(_LINE_BYTES)
    except OSError:
        return program
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return Path(words[0]) if words else program


def _links(path: Path) -> Iterator[Path]:
    """Yield the symbolic links on the way from a whole path to what it names."""
    at, parts, left = Path(path.anchor), list(path.parts[1:]), _MOST_LINKS
    while parts and left:
        at = at.parent if parts[0] == ".." else at / parts[0]
        parts = parts[1:]
        if at.is_symlink():
            yield at
            target = at.readlink()
            at, parts, left = at.parent / target.anchor, [*target.relative_to(target.anchor).parts, *parts], left - 1


def with_whole_paths(argv: Sequence[str], cwd: Path) -> list[str]:
    """Existing files and folders get their whole path, because a server starts elsewhere."""
    return [_whole(word, cwd, is_program=not at) for at, word in enumerate(argv)]


def of(told: Mapping[str, Any]) -> NamedFiles:
    """Return what the command of an entry makes readable. Reads the disk."""
    if told.get("sandbox") is False:
        return NamedFiles()
    argv = _argv(told)
    program, *given = argv
    named = [path for path in _named(argv) if not _is_shown(path)]
    programs = [Path(at_home(program)), Path(os.path.realpath(at_home(program)))]
    scripts = [*programs, *_script(given)] if not loader(argv) else []
    folders: list[str] = []
    kept_back: list[str] = []
    given_folders = [at_home(folder) for folder in told.get("folders", ())]
    for path in named:
        is_script = path in scripts and path.is_file()
        for one in dict.fromkeys((_root(path), path.parent, path) if is_script else (path,)):
            if any(one.is_relative_to(folder) for folder in (*given_folders, *folders)):
                continue
            if why := _why_not(one):
                kept_back.append(f"{one}, which {why}")
            else:
                folders.append(str(one))
    return NamedFiles(tuple(folders), tuple(kept_back))


def missing(told: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return what an entry lacks to start at all, as fields of it, and why in a sentence; ({}, "") if nothing."""
    argv = _argv(told)
    if not argv or told.get("sandbox") is False:
        return {}, ""
    if _begins(argv, "containers"):
        return {"sandbox": False}, f"{Path(argv[0]).name} starts a container, and for that it may do all that you may."
    if (loads := loader(argv)) and not told.get("network"):
        return {"network": True}, f"{loads} loads the server from the internet into a folder that only this server has."
    return {}, ""


def loader(argv: Sequence[str]) -> str:
    """Return the command that loads the server when it starts, such as `npx`; "" if this one needs no loading."""
    return _begins(argv, "programs")


def unseen(entry: ServerEntry, workspace: Path) -> list[Path]:
    """Return what the command names and the server's sandbox does not show."""
    program = Path(at_home(entry.command))
    shown = [workspace, *(Path(at_home(folder)) for folder in entry.folders)]
    shown += python_of(program).folders
    # The folder of a program is shown with it, unless that lies in the home folder.
    named = [
        path for path in _named((entry.command, *entry.args)) if path != program or path.is_relative_to(Path.home())
    ]
    return [path for path in named if not _is_shown(path) and not any(path.is_relative_to(one) for one in shown)]


def _argv(told: Mapping[str, Any]) -> list[str]:
    return [str(told["command"]), *map(str, told.get("args", ()))] if told.get("command") else []


def _begins(argv: Sequence[str], kind: str) -> str:
    line = [Path(argv[0]).name, *argv[1:]] if argv else []
    commands: list[str] = resources.table("mcp/loading.toml", resources.Table)[kind]
    return next((one for one in commands if line[: one.count(" ") + 1] == one.split()), "")


def _whole(word: str, cwd: Path, *, is_program: bool) -> str:
    option, sign, value = word.rpartition("=")
    if not value.startswith(_STARTS) and "/" not in value and not Path(value).suffix and value not in (".", ".."):
        return word
    path = os.path.normpath(cwd / at_home(value))
    if not os.path.exists(path):
        return word
    # The name of a program may decide what it does: a virtual environment's Python is a link.
    return option + sign + (path if is_program else os.path.realpath(path))


def _named(argv: Sequence[str]) -> list[Path]:
    """Return the existing files and folders that a command names with their whole paths.

    If the program is a link, as the Python of a virtual environment is, its target is named by that, too.
    """
    words = [at_home(word.rpartition("=")[2]) for word in argv]
    targets = [os.path.realpath(word) for word in words[:1] if word.startswith("/")]
    paths = [Path(word) for word in (*words, *targets) if word.startswith("/") and os.path.exists(word)]
    return list(dict.fromkeys(paths))


def _script(given: Sequence[str]) -> Iterator[Path]:
    """Yield the first file among a program's arguments, unless it is the value of an option."""
    for before, word in zip(("", *given), given, strict=False):
        if Path(at_home(word)).is_file():
            if not before.startswith("--"):
                yield Path(at_home(word))
            return


def _root(script: Path) -> Path:
    """The folder of its project; without any, the script's own, or the one above its `bin`."""
    marks: list[str] = resources.table("mcp/loading.toml", resources.Table)["roots"]
    above = [folder for folder in script.parents if not _is_broad(folder)]
    beside = script.parent.parent if script.parent.name == "bin" else script.parent
    return next((one for one in above if any((one / mark).exists() for mark in marks)), beside)


def _is_shown(path: Path) -> bool:
    """By every sandbox: programs of the system, and toolchains in the home folder."""
    trees = [Path(tree) for tree in layout.table()["root"]["trees"] + layout.table()["root"]["links"]]
    tools = [Path.home() / name for name in layout.table()["home"]["toolchains"]]
    return any(path.is_relative_to(tree) for tree in (*trees, *tools))


def _is_broad(folder: Path) -> bool:
    return bool(why_no_workspace(folder, Path(os.path.realpath(Path.home()))))


def _why_not(path: Path) -> str:
    """The end of a sentence; "" if a server may read the path by naming it."""
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(own) or own.is_relative_to(real) for own in map(Path.resolve, paths.own_dirs())):
        return "holds what Wisp keeps"
    if places.is_named_secret(str(real)) or places.is_private_key(real):
        return "holds keys or passwords"
    if not real.is_dir():
        return ""
    if why := why_no_workspace(real, Path(os.path.realpath(Path.home()))):
        return why
    found = survey(real)
    if secrets := [*found.secrets, *found.linked, *places.local_secrets_in(real)]:
        return f"holds {secrets[0].name}, which may be a key or a password"
    return "" if found.is_whole else "holds too much to be searched for keys"
