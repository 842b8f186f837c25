"""Which programs the stories work in: a table of their facts, and folders in which nothing else is installed.

`WISP_STORY_FILES`, `WISP_STORY_TERMINAL` and `WISP_STORY_EDITOR` choose others than the first of each kind.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parents[1] / "data" / "programs.toml").read_text(encoding="utf-8")
)
KINDS = ("files", "terminal", "editor")
_SHARED = Path("/usr/share")


@dataclass(frozen=True)
class Programs:
    """What is taken for the file manager, the terminal and the text editor, with the facts of each in the table."""

    files: Mapping[str, Any]
    terminal: Mapping[str, Any]
    editor: Mapping[str, Any]


def chosen() -> Programs:
    """The programs of this run."""
    return Programs(*(TABLE[kind][_name_of(kind)] for kind in KINDS))


def _name_of(kind: str) -> str:
    return os.environ.get(f"WISP_STORY_{kind.upper()}") or next(iter(TABLE[kind]))


def missing(names: Mapping[str, str]) -> list[str]:
    """Debian packages of the named programs that are not installed."""
    wanted = [TABLE[kind][name] for kind, name in names.items()]
    return [fact["package"] for fact in wanted if not (_SHARED / "applications" / fact["entry"]).is_file()]


def private_defaults(folder: Path, programs: Programs) -> dict[str, str]:
    """Make the data, settings and commands of a desktop with these programs alone, and tell where they are.

    All else that the system shares (icons, types, schemas) is there as it is.
    """
    data, settings, commands = folder / "share", folder / "xdg", folder / "bin"
    entries = data / "applications"
    for made in (entries, settings, commands):
        made.mkdir(parents=True)
    for shared in _SHARED.iterdir():
        if shared.name != "applications":
            (data / shared.name).symlink_to(shared)
    ours = [getattr(programs, kind)["entry"] for kind in KINDS]
    for name in (*ours, *TABLE["always"]["entries"]):
        if (_SHARED / "applications" / name).is_file():
            (entries / name).symlink_to(_SHARED / "applications" / name)
    (settings / "mimeapps.list").write_text(_defaults(programs), encoding="utf-8")
    (entries / "mimeapps.list").write_text(_defaults(programs), encoding="utf-8")
    terminal = shutil.which(programs.terminal["command"])
    if terminal:
        (commands / "x-terminal-emulator").symlink_to(terminal)
    return {
        "XDG_DATA_DIRS": str(data),
        "XDG_CONFIG_DIRS": f"{settings}:{os.environ.get('XDG_CONFIG_DIRS') or '/etc/xdg'}",
        "PATH": f"{commands}:{os.environ['PATH']}",
        "TERMINAL": programs.terminal["command"],
    }


def _defaults(programs: Programs) -> str:
    handlers = {
        "inode/directory": programs.files["entry"],
        "text/plain": programs.editor["entry"],
        **TABLE["always"]["handlers"],
    }
    return "[Default Applications]\n" + "".join(f"{kind}={entry}\n" for kind, entry in handlers.items())
