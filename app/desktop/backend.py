"""What a platform provides, in one value, and the curtain that is always open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from app.base.geometry import Rect
from app.desktop.api import Apps, Clipboard, ExactTyping, Keyboard, Pointer, Screen, Windows
from app.desktop.elements import Accessibility


@dataclass(frozen=True, slots=True)
class Backend:
    """All seams of one platform; made, used and closed on the desktop thread."""

    name: str
    screen: Screen
    pointer: Pointer
    keyboard: Keyboard
    exact: ExactTyping
    windows: Windows
    apps: Apps
    clipboard: Clipboard
    accessibility: Accessibility
    close: Callable[[], Awaitable[None]]


class NoCurtain:
    """For runs without windows of our own."""

    def covers(self, area: Rect) -> bool:  # noqa: ARG002
        return False

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()
