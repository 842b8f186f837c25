"""Provider keys: environment first, then the system's keyring, then a file only the owner can read."""

from __future__ import annotations

import json
import os
from pathlib import Path

from app.base import paths

_SERVICE = "wisp"
_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


def key_of(provider: str) -> str:
    """The key, or an empty string. Never logged; never put into a child's environment."""
    return os.environ.get(_VARIABLES.get(provider, ""), "") or _from_keyring(provider) or _from_file(provider)


def keep(provider: str, key: str) -> str:
    """Store a key and say where: `keyring` or `file`."""
    import keyring
    import keyring.errors

    try:
        keyring.set_password(_SERVICE, provider, key)
    except keyring.errors.KeyringError:
        _to_file(provider, key)
        return "file"
    return "keyring"


def _from_keyring(provider: str) -> str:
    import keyring
    import keyring.errors

    try:
        return keyring.get_password(_SERVICE, provider) or ""
    except keyring.errors.KeyringError:
        return ""


def _file() -> Path:
    return paths.config_dir() / "keys.json"


def _read_file() -> dict[str, str]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def _from_file(provider: str) -> str:
    return _read_file().get(provider, "")


def _to_file(provider: str, key: str) -> None:
    beside = _file().with_suffix(".new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({**_read_file(), provider: key}, file)
    os.replace(beside, _file())
