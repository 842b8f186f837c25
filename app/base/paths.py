"""Where Wisp keeps its files. `WISP_DATA_DIR` moves all of it, for a portable copy or a test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

from app.base.errors import NeedsPerson

_NAME = "wisp"
_PRIVATE = 0o700


def _private(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    except OSError as error:
        raise NeedsPerson(
            f"The folder {folder} cannot be made ({error.strerror}). Name another one: WISP_DATA_DIR=/some/folder"
        ) from error
    return folder


def _place(kind: str, default: Callable[[], str]) -> Path:
    root = os.environ.get("WISP_DATA_DIR")
    return _private(Path(root) / kind if root else Path(default()))


def data_dir() -> Path:
    """Conversations, memories, what the assistant made: worth a backup. Readable by the owner only."""
    return _place("data", lambda: platformdirs.user_data_dir(_NAME))


def config_dir() -> Path:
    """Settings and rules the person wrote."""
    return _place("config", lambda: platformdirs.user_config_dir(_NAME))


def state_dir() -> Path:
    """Window places, logs, crash reports, runs: may be deleted."""
    return _place("state", lambda: platformdirs.user_state_dir(_NAME))


def runtime_dir() -> Path:
    """Sockets and locks of the running session."""
    return _place("run", lambda: os.path.join(platformdirs.user_runtime_dir(), _NAME))


def made_dir() -> Path:
    """Where files that the assistant made were kept before the workspace was their place; `wisp:/` still finds them."""
    return _private(data_dir() / "files")


def resources() -> Path:
    """The folder of words and pictures: beside the package in a checkout, inside it once installed."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "resources"
    return inside if inside.is_dir() else package.parent / "resources"
