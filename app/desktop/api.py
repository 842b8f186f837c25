"""The seams of the desktop: small protocols, each with backends chosen in `choose.py`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from app.base.geometry import Rect


class Curtain(Protocol):
    """Gets our own windows out of the way. Both methods may be called from any thread and never wait over 500 ms."""

    def covers(self, area: Rect) -> bool:
        """Whether a window of ours is showing inside `area` (screen pixels)."""
        ...

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:
        """While inside, no window of ours shows within `area` or takes input there."""
        ...
