"""Hears the person by pynput: the stop key, the corner, a hand on the mouse or keyboard. What we send is told apart.

The system calls us on threads of pynput's own, which need neither the desktop thread nor an event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.desktop.keys import Chord
from app.desktop.portable.drivers import button_driver, key_driver
from app.desktop.portable.keyboard import portable_key

_JOLT = 3
"""So many movements in a row are a hand; a single one may be a bump on the table."""
_CORNER = (0, 0)


class PortableListener:
    """`stop` and `touched` are called at once. Without a `stop_key` no keys are heard at all.

    macOS ends a program that listens to keys from another thread once Qt has started
    (https://github.com/moses-palmer/pynput/issues/511); there the mouse alone is heard.
    """

    def __init__(self, stop_key: Chord | None, stop: Callable[[], None], touched: Callable[[], None]) -> None:
        self._stop = stop
        self._touched = touched
        self._moves = 0
        self._down: set[Any] = set()
        self._keys: Any = None
        self._wanted: frozenset[Any] = frozenset()
        if stop_key is not None:
            self._keys = key_driver().Listener(on_press=self._pressed, on_release=self._released)
            self._wanted = frozenset(self._keys.canonical(portable_key(name)) for name in stop_key.keys)
            self._keys.start()
        self._mouse = button_driver().Listener(on_move=self._moved, on_click=self._clicked, on_scroll=self._scrolled)
        self._mouse.start()

    def close(self) -> None:
        """End the threads."""
        for listener in (self._keys, self._mouse):
            if listener is not None:
                listener.stop()

    def _pressed(self, key: Any, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - pynput's signature
        self._down.add(self._keys.canonical(key))
        if self._wanted <= self._down:
            self._stop()
        elif not injected:
            self._touched()

    def _released(self, key: Any, _injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        self._down.discard(self._keys.canonical(key))

    def _moved(self, x: int, y: int, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        if injected:
            return
        if (x, y) == _CORNER:
            self._stop()
        self._moves += 1
        if self._moves >= _JOLT:
            self._touched()

    def _clicked(self, _x: int, _y: int, _button: Any, _down: bool, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        if not injected:
            self._touched()

    def _scrolled(self, _x: int, _y: int, _dx: int, _dy: int, injected: bool = False) -> None:  # noqa: FBT001, FBT002 - as above
        if not injected:
            self._touched()
