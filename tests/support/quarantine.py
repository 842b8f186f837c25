"""The list of stories that may be tried again, with the reason of each."""

from __future__ import annotations

import tomllib
from pathlib import Path

_LIST = Path(__file__).resolve().parents[1] / "data" / "quarantine.toml"


def read_quarantine() -> dict[str, str]:
    """Return the reason of each quarantined story by its node id without parameters."""
    return {story["test"]: story["reason"] for story in tomllib.loads(_LIST.read_text("utf-8")).get("story", [])}
