"""Where Wisp keeps its files. `WISP_DATA_DIR` moves all of them, for a portable copy or a test."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import platformdirs

from app.base.errors import NeedsPerson

_NAME = "wisp"
_PRIVATE = 0o700  # so that other users of the computer cannot read it


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
    """Return the folder of conversations, memories and made files: worth a backup. Only the owner can read it."""
    return _place("data", lambda: platformdirs.user_data_dir(_NAME))


def config_dir() -> Path:
    """Return the folder of settings and rules that the person wrote."""
    return _place("config", lambda: platformdirs.user_config_dir(_NAME))


def state_dir() -> Path:
    """Return the folder of window positions, logs, crash reports and runs, which may be deleted."""
    return _place("state", lambda: platformdirs.user_state_dir(_NAME))


def runtime_dir() -> Path:
    """Return the folder of sockets and locks of the running session."""
    return _place("run", lambda: os.path.join(_user_runtime_dir(), _NAME))


def _user_runtime_dir() -> str:
    """Return the session's folder, or the private folder in the temporary folder if there is no session folder."""
    with warnings.catch_warnings():
        # Its fallback is what is wanted here; a warning of Python's is nothing that a person could act on.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        return platformdirs.user_runtime_dir()


def made_dir() -> Path:
    """Return the old folder of files that the assistant made. `wisp:/` still finds them."""
    return _private(data_dir() / "files")


def resources() -> Path:
    """Return the folder of words and pictures: beside the package in a checkout, inside it once installed."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "resources"
    return inside if inside.is_dir() else package.parent / "resources"
