"""The last check before an event is sent, whatever was allowed before: no window of a Wisp gets any, and the keys that
stop or summon Wisp are never pressed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import Point
from app.desktop.backend import Backend
from app.desktop.keys import Chord, chord

_log = logging.getLogger(__name__)

Reserved = Callable[[], Iterable[str]]
"""The chords that only the person presses, as the settings have them now."""


def nothing_reserved() -> Iterable[str]:
    return ()


class InputGuard:
    """Each check raises ToolFailed with the sentence for the model. Lives on the desktop thread."""

    def __init__(self, backend: Backend, reserved: Reserved) -> None:
        self._backend = backend
        self._reserved = reserved

    def check_key(self, key: str, held: Sequence[str]) -> None:
        """Before a key goes down while others are held."""
        self.check_keyboard()
        down = {self._place(name) for name in (*held, key)}
        for one in self._chords():
            if {self._place(name) for name in one.keys} <= down:
                raise ToolFailed(f"{one} belongs to the person alone: it stops or summons Wisp. No tool presses it.")

    def check_keyboard(self) -> None:
        """Before anything is typed."""
        if self._backend.windows.keyboard().is_own:
            raise ToolFailed(
                "The keyboard is in one of Wisp's own windows, and there only the person types. "
                "Bring the program forward that is meant, with focus_window."
            )

    def check_press(self, at: Point) -> None:
        """Before a button goes down, or is let go after a drag."""
        if self._backend.windows.under(at).is_own:
            raise ToolFailed(
                f"A window of Wisp is at ({at.x}, {at.y}), and there only the person presses. Act somewhere else."
            )

    def _place(self, name: str) -> str:
        """The physical key; left and right alike."""
        if name.endswith(("_L", "_R")):
            return name[:-2]
        return self._backend.keyboard.place(name)

    def _chords(self) -> Iterator[Chord]:
        for text in self._reserved():
            try:
                yield chord(text)
            except ToolMisuse as error:
                _log.warning("The key %r of the settings is not known here: %s", text, error)
