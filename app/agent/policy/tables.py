"""The data that calls are read by: `resources/policy`, loaded once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from app.base import paths


@cache
def table(name: str) -> Mapping[str, Any]:
    """One file of `resources/policy`, by its stem. Raises OSError or ValueError where it cannot be read."""
    return tomllib.loads((paths.resources() / "policy" / f"{name}.toml").read_text(encoding="utf-8"))


def by_tool(entries: Mapping[str, Any], tool: str) -> Any:
    """A tool's entry of a table whose keys are names or patterns; its own name wins, then the first that fits."""
    if tool in entries:
        return entries[tool]
    return next((value for pattern, value in entries.items() if fnmatchcase(tool, pattern)), None)
