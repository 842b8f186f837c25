"""What a platform provides, in one value, and the curtain that is always open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from app.base.geometry import Rect
from app.desktop.api import Apps, Clipboard, Drawing, ExactTyping, Keyboard, Pointer, Screen, Window, Windows
from app.desktop.elements import Accessibility
from app.desktop.keys import Chord

Listen = Callable[[Chord, Callable[[], None], Callable[[], None]], Callable[[], None]]
"""Hear the person: `listen(stop_key, stop, touched)` starts a thread that calls the two, and returns how to end it."""


def _is_anybodys(_window: Window) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Backend:
    """All seams of one platform; made, used and closed on the desktop thread.

    `name` says which platform and which desktop (`x11:0`). `listen` is None where the person cannot be heard, and
    `drawing` where one has to look to see whether something was drawn. `is_private` tells windows that are not seen.
    `reach` raises NeedsPerson where nothing on the screen can be seen or driven from here; None where that cannot be.
    """

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
    listen: Listen | None = None
    drawing: Drawing | None = None
    is_private: Callable[[Window], bool] = _is_anybodys
    reach: Callable[[], None] | None = None


class NoCurtain:
    """For runs without windows of our own."""

    def covers(self, area: Rect) -> bool:  # noqa: ARG002
        return False

    def drawn_back(self, area: Rect) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()
