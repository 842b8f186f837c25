"""The entries of apps in the desktop's menu of programs (freedesktop.org's Desktop Entry specification)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from app.base import paths
from app.base.desktop_entries import SURFACE_CLASS, exec_line, own_command
from app.base.phrases import Phrase
from app.base.remains import Remains

HAS_MENU = sys.platform.startswith("linux")
"""Whether the desktops of this system have such a menu."""
_COMMENT = "Comment=An app that Wisp made"
_NAME = re.compile(r"^Name=.*$", re.MULTILINE)
_SIGNS = str.maketrans({"\\": "\\\\", "\n": " ", "\r": " ", "\t": " "})
_PLACES = (paths.PRESENCE, "WISP_DATA_DIR")
"""The variables that say where the app is kept."""


def menu_entry(surface_id: str) -> Path:
    """Each presence has files of its own."""
    return _folder() / f"{_prefix()}{surface_id}.desktop"


def _folder() -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "applications"


def surface_of(entry: Path) -> str:
    """Return the id of the surface whose entry would have this file name."""
    return entry.stem.removeprefix(_prefix())


def entry_text(surface_id: str, name: str, picture: Path) -> str:
    """Return the entry that opens a surface. `picture` is its icon, if there is such a file."""
    variables = [f"{variable}={os.environ[variable]}" for variable in _PLACES if os.environ.get(variable)]
    command = [*(["env", *variables] if variables else []), *own_command(), "apps", "open", surface_id]
    lines = [
        "[Desktop Entry]",
        "Type=Application",
        f"Name={_escaped(name)}",
        _COMMENT,
        f"Exec={exec_line(command)}",
        f"Icon={picture if picture.is_file() else 'wisp'}",
        "Terminal=false",
        "Categories=Utility;",
        f"StartupWMClass={SURFACE_CLASS}",
    ]
    return "\n".join([*lines, ""])


def remains() -> Sequence[Remains]:
    """Return the entries of all presences' apps."""
    return [
        Remains(Phrase("the app “{name}” in the menu of programs", {"name": name[0].partition("=")[2]}), entry.unlink)
        for entry in sorted(_folder().glob("wisp-*.desktop"))
        if _COMMENT in (text := entry.read_text(encoding="utf-8", errors="replace")) and (name := _NAME.findall(text))
    ]


def renamed(text: str, name: str) -> str:
    """Return the text of an entry with another name. What a person changed in it stays."""
    return _NAME.sub(lambda _: f"Name={_escaped(name)}", text)


def _escaped(name: str) -> str:
    return name.translate(_SIGNS)


def _prefix() -> str:
    return f"wisp-{paths.presence()}-" if paths.presence() else "wisp-"
