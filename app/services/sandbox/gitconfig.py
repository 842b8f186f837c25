"""Whether a repository's configuration names no program that git would run. Unsure means no."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from app.services.sandbox.layout import table
from app.services.workspace.beneath import hold

_MOST_BYTES = 65_536
_SECTION = re.compile(r'\[([A-Za-z]+)(?: "[^"\\]*")?\]')
_ENTRY = re.compile(r'[ \t]*([A-Za-z]+) = ([^"\\;#\x00-\x1f]*)')
_HELPER = "::"
"""In an address it names a program that fetches."""


def is_plain(workspace: Path, config: Path) -> bool:
    """Line by line and only in the form that git itself writes, so that no other reading of it exists."""
    rules = table()["protected"]
    try:
        lines = _read(workspace, config).split("\n")
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return all(_is_harmless(line, rules["git_sections"], rules["git_keys"]) for line in lines if line)


def _is_harmless(line: str, sections: list[str], keys: list[str]) -> bool:
    if section := _SECTION.fullmatch(line):
        return section[1].casefold() in sections
    entry = _ENTRY.fullmatch(line)
    return entry is not None and entry[1].casefold() in keys and _HELPER not in entry[2]


def _read(workspace: Path, config: Path) -> str:
    with hold(workspace, config.relative_to(workspace).parts[:-1]) as folder:
        fd = folder.open(config.name, os.O_RDONLY)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("no regular file")
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError("too long")
    return data.decode("utf-8")
