"""The removable drives that are plugged in, such as a USB stick, and what people call them."""

from __future__ import annotations

import getpass
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from app.base import resources

NAMED = "WISP_DRIVES"
"""An environment variable with more folders that count as drives, for those who mount theirs elsewhere."""


def drives() -> tuple[Path, ...]:
    """Return the folders at which drives are mounted now, by name."""
    named = [Path(one) for one in os.environ.get(NAMED, "").split(os.pathsep) if one]
    found = [folder for parent in _parents() for folder in _folders_in(parent) if os.path.ismount(folder)]
    real = {Path(os.path.realpath(folder)) for folder in (*named, *found)}
    return tuple(sorted(folder for folder in real if folder.is_dir() and folder != Path(folder.anchor)))


def is_drive_word(said: str) -> bool:
    """True for words that mean any drive, such as “USB stick”."""
    return said.casefold().strip() in drive_words()


@cache
def drive_words() -> frozenset[str]:
    """Return what people call a drive, in all languages and in lower case."""
    return frozenset(word for words in resources.table("drives.toml", resources.Table).values() for word in words)


def _parents() -> tuple[Path, ...]:
    """Where desktops mount drives: udisks in a folder of the user's, macOS in one for all."""
    user = ""
    with suppress(KeyError, OSError):  # because a user id may have no name
        user = getpass.getuser()
    own = (Path("/media") / user, Path("/run/media") / user) if user else ()
    return (*own, Path("/Volumes"))


def _folders_in(parent: Path) -> list[Path]:
    try:
        return list(parent.iterdir())
    except OSError:  # because nothing was ever mounted there
        return []
