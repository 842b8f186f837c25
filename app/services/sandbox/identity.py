"""Who commits: the person's name and address for git, without the rest of their configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_LIMIT_S = 5.0
_MOST_CHARS = 200
_KEYS = ("name", "email")


def write(target: Path) -> bool:
    """Put it into a configuration of its own; False where the person has told git nothing."""
    told = {key: _clean(value) for key in _KEYS if (value := _asked(f"user.{key}"))}
    lines = [f'\t{key} = "{value}"' for key, value in told.items() if value]
    if not lines:
        return False
    beside = target.with_suffix(f".{os.getpid()}")
    beside.write_text("[user]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    os.replace(beside, target)
    return True


def _asked(key: str) -> str:
    """Of the person's own configuration only: a workspace has no say in it."""
    try:
        done = subprocess.run(
            ("git", "config", "--global", "--get", key),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _clean(value: str) -> str:
    return "".join(sign for sign in value if sign.isprintable() and sign not in '"\\')[:_MOST_CHARS]
