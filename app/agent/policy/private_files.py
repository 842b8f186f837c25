"""Which secrets of the workspace a call would read: keys and passwords that projects hold.

A file that a call names is one. A command is taken to have read those that stand in its workspace, unless it only looks
and names none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from app.services.workspace import protected

_BETWEEN = re.compile(r"[\s'\"=;|&<>(){}$`,]+")
_SEARCHES = re.compile(r"\b(?:rg|ag|ack|[ef]?grep\b.*\s-\w*[rR]|grep\b.*--recursive)")


def among(paths: Iterable[str]) -> tuple[Path, ...]:
    """The secrets among absolute paths."""
    found = (Path(path) for path in paths)
    return tuple(path for path in found if protected.is_local_secret(path) or protected.is_private_key(path))


def named_in(command: str, secrets: Iterable[Path]) -> tuple[Path, ...]:
    """The secrets that a command's words name, also by a pattern."""
    words = [Path(word).name for word in _BETWEEN.split(command) if word]
    return tuple(path for path in secrets if any(_fits(path.name, word) for word in words))


def may_read_any(command: str, *, only_looks: bool) -> bool:
    """Whether a command may read files that it does not name."""
    return not only_looks or _SEARCHES.search(command) is not None


def _fits(name: str, word: str) -> bool:
    return name == word or (any(sign in word for sign in "*?[") and fnmatchcase(name, word))
