"""A person at a Wayland session without devices: keys, and a look at the screen, over a connection of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from app.base.geometry import Point, Rect
from app.desktop.wayland.compositor import Compositor
from app.desktop.wayland.copying import Copier
from app.desktop.wayland.keyboard import WaylandKeyboard
from app.desktop.wayland.screen import WaylandScreen


class WaylandPerson:
    """One keyboard for the whole time: sway hands the keyboard to its own window at each new device."""

    def __init__(self, compositor: Compositor) -> None:
        self._keyboard = WaylandKeyboard(compositor, lambda: "", lambda *_: None)
        self._screen = WaylandScreen(compositor, Copier(compositor))

    def press(self, *names: str) -> None:
        for name in names:
            self._keyboard.key(name, down=True)
        for name in reversed(names):
            self._keyboard.key(name, down=False)

    def type(self, text: str) -> None:
        for character in text:
            self.press(character)

    def sees(self, at: Point) -> bytes:
        """Return the colour of a pixel."""
        return bytes(self._screen.grab(Rect(at.x, at.y, 1, 1)).bgrx[:3])


@contextlib.contextmanager
def person_at(environment: Mapping[str, str]) -> Iterator[WaylandPerson]:
    compositor = Compositor(environment)
    try:
        yield WaylandPerson(compositor)
    finally:
        compositor.close()
