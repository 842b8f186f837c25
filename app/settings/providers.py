"""The table of who can answer. A new provider is one folder below `app/providers` and one row of `providers.toml`."""

from __future__ import annotations

import functools
from typing import Any

from app.base import resources
from app.base.values import dataclass


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider. `make` is `module:function`; the comments of the file explain the other fields."""

    id: str
    label: str
    make: str
    maker: str = ""
    key: str = ""
    host: str = ""
    model: str = ""
    is_first_choice: bool = False


@functools.cache
def providers() -> dict[str, ProviderRow]:
    """The rows by id, in the file's order."""
    table = resources.table("providers.toml", dict[str, dict[str, Any]])
    return {name: ProviderRow(name, **row) for name, row in table.items()}


def with_keys() -> tuple[ProviderRow, ...]:
    """Those that take a key."""
    return tuple(row for row in providers().values() if row.key)


def key_variables() -> frozenset[str]:
    """The environment variables that hold keys."""
    return frozenset(row.key for row in with_keys())
