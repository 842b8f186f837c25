"""Short names for things that are born at run time."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable

WINDOW_MARK = "_WISP_WINDOW"
"""The X property that tells which windows belong to a Wisp."""


def counter(prefix: str) -> Callable[[], str]:
    """A source of `prefix1`, `prefix2`, …: readable where only this process must tell things apart."""
    numbers = itertools.count(1)
    return lambda: f"{prefix}{next(numbers)}"


def unique(prefix: str = "") -> str:
    """A name nobody else has: 60 random bits, safe in file names and URLs."""
    return f"{prefix}{secrets.token_hex(8)[:15]}"
