"""Short identifiers for objects created at run time."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable

WINDOW_MARK = "_WISP_WINDOW"
"""The X property that marks the windows of a Wisp."""
KEYBOARD_MARK = "_WISP_KEYBOARD"
"""The root window's property with the window of Wisp that has the keyboard on XWayland, where X's focus tells nothing.
"""


def counter(prefix: str) -> Callable[[], str]:
    """Number names in order: `prefix1`, `prefix2`, …. They are unique within this process only."""
    numbers = itertools.count(1)
    return lambda: f"{prefix}{next(numbers)}"


def unique(prefix: str = "") -> str:
    """A name of 60 random bits, safe in file names and URLs."""
    return f"{prefix}{secrets.token_hex(8)[:15]}"
