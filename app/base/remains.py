"""What Wisp has put on this computer outside of its program, for `wisp uninstall`."""

from __future__ import annotations

from collections.abc import Callable

from app.base.phrases import Phrase
from app.base.values import dataclass


@dataclass(frozen=True, slots=True)
class Remains:
    """Something that is left when the program goes: what it is, for a person, and what removes it.

    `remove` blocks, and raises OSError or WispError.
    """

    what: Phrase
    remove: Callable[[], object]
