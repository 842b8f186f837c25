"""The screen a command works on: the person's, or a private one where there is none."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_MISUSED = 2


@dataclass(frozen=True, slots=True)
class OwnDisplay:
    """`private` is the number of the private display, empty on the person's own."""

    private: str = ""

    def announce(self) -> None:
        if self.private:
            print(f"wisp: there is no display here; working on a private one ({self.private}).", file=sys.stderr)


def is_at_hand() -> bool:
    """Whether the person has a display here."""
    return platform.system() != "Linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def say_that_a_display_is_missing() -> int:
    """Tell the person why no window can open; the answer is the exit code."""
    print(
        "wisp: there is no display here, so nobody would see a window. Start it in a desktop session, or set DISPLAY. "
        '`wisp do "…"` works without a display.',
        file=sys.stderr,
    )
    return _MISUSED


@contextmanager
def on_a_display(*, needed: bool = True) -> Iterator[OwnDisplay]:
    """Make sure that there is a display while inside. Raises NeedsPerson where a private one cannot be started."""
    if not needed or is_at_hand():
        yield OwnDisplay()
        return
    from app.desktop.x11.virtual import VirtualDesktop

    before = dict(os.environ)
    with VirtualDesktop() as virtual:
        os.environ.update(virtual.environment)
        try:
            yield OwnDisplay(virtual.environment["DISPLAY"])
        finally:
            os.environ.clear()
            os.environ.update(before)
