"""Windows by wlr-foreign-toplevel-management: their titles, programs and states, but no places and no processes.

https://wayland.app/protocols/wlr-foreign-toplevel-management-unstable-v1
"""

from __future__ import annotations

from collections.abc import Callable

from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.base.values import dataclass, field
from app.desktop.backends import Window
from app.desktop.wayland.compositor import TOPLEVELS, Compositor
from app.desktop.wayland.wire import Wire

_MAXIMISED, _MINIMISED, _ACTIVATED, _FULLSCREEN = 0, 1, 2, 3
_MINIMISE, _RESTORE, _ACTIVATE, _CLOSE = 2, 3, 4, 5
_WORD_BYTES = 4


@dataclass(slots=True)
class Toplevel:
    """A window as the compositor told it. `parent` is the object of the window that it is a dialog of, or 0."""

    title: str = ""
    app: str = ""
    states: frozenset[int] = field(default_factory=frozenset)
    parent: int = 0


class Toplevels:
    """The windows of a compositor that tells nothing but their names. The last activated one comes first."""

    name = "toplevels"

    def __init__(self, compositor: Compositor) -> None:
        self._compositor = compositor
        self._known: dict[int, Toplevel] = {}
        self._order: list[int] = []
        self._changed: Callable[[], None] = lambda: None
        compositor.on_connect(self._connected)

    def _connected(self, wire: Wire) -> None:
        self._known.clear()
        self._order.clear()
        if self._compositor.has(TOPLEVELS):
            manager = self._compositor.bound(TOPLEVELS)
            wire.hear(manager, {0: ("n", self._appeared)})
            wire.roundtrip()

    def _appeared(self, number: int) -> None:
        told = self._known[number] = Toplevel()
        self._order.append(number)

        def titled(text: str) -> None:
            told.title = text

        def named(text: str) -> None:
            told.app = text

        def stated(raw: bytes) -> None:
            words = (raw[at : at + _WORD_BYTES] for at in range(0, len(raw), _WORD_BYTES))
            before, told.states = told.states, frozenset(int.from_bytes(word, "little") for word in words)
            if _ACTIVATED in told.states - before:
                self._order.remove(number)
                self._order.insert(0, number)

        def owned(parent: int) -> None:
            told.parent = parent

        def done() -> None:
            self._changed()

        def closed() -> None:
            del self._known[number]
            self._order.remove(number)
            self._compositor.wire.send(number, 7)
            self._compositor.wire.forget(number)
            self._changed()

        self._compositor.wire.hear(
            number,
            {
                0: ("s", titled),
                1: ("s", named),
                4: ("a", stated),
                5: ("", done),
                6: ("", closed),
                7: ("o", owned),
            },
        )

    def windows(self) -> tuple[Window, ...]:
        self._compositor.wire.roundtrip()
        found = [self._window(number, self._known[number]) for number in self._order]
        return tuple(sorted(found, key=lambda window: window.is_minimised))

    def _window(self, number: int, told: Toplevel) -> Window:
        return Window(
            ref=f"w{number:x}",
            title=told.title,
            app=told.app,
            area=Rect(0, 0, 0, 0),
            is_active=_ACTIVATED in told.states,
            is_minimised=_MINIMISED in told.states,
            is_dialog=bool(told.parent),
        )

    def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something happens to a window."""
        self._changed = changed

    def leave(self) -> None:
        return

    def x_number(self, ref: str) -> int:  # noqa: ARG002 - the protocol does not tell
        return 0

    def focus(self, ref: str) -> None:
        self._send(ref, _RESTORE)
        self._send(ref, _ACTIVATE, "o", self._compositor.seat())

    def close(self, ref: str) -> None:
        self._send(ref, _CLOSE)

    def place(self, ref: str, area: Rect) -> None:  # noqa: ARG002
        raise ToolFailed("This compositor lets no program move or resize the windows of others.")

    def minimise(self, ref: str) -> None:
        self._send(ref, _MINIMISE)

    def _send(self, ref: str, opcode: int, signature: str = "", *arguments: int) -> None:
        number = int(ref.removeprefix("w"), 16) if ref.removeprefix("w").isalnum() else 0
        if number not in self._known:
            raise ToolFailed("That window is gone.", "list_windows shows what is there.")
        self._compositor.wire.send(number, opcode, signature, *arguments)
        self._compositor.wire.roundtrip()
