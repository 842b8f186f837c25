"""Mouse and keyboard of GNOME and KDE: the portal's devices, with the layout that the person uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.base.errors import NeedsPerson, ToolMisuse
from app.base.geometry import Point, Rect
from app.desktop.backends import KeyboardMoved
from app.desktop.wayland.ei import Hands
from app.desktop.wayland.xkb import Stroke, layouts

_LOCK = 2  # the bit of caps lock: https://www.x.org/releases/current/doc/xproto/x11protocol.html, SETofKEYMASK
_OUT_OF_THE_CORNER_PX = (1, 60)
"""Where the first way of a pointer leads that may begin in the corner: barriers as long as the panel is high hold it
there, and take more than 100 pixels of push for a call of the overview.
https://gitlab.gnome.org/GNOME/gnome-shell/-/blob/main/js/ui/layout.js, HotCorner
"""
_MOVES_WINDOWS = frozenset({"Alt_L", "Super_L", "Super_R"})


class PortalHands:
    """The devices while a session is open. Raises NeedsPerson while none is. It is the mouse of `pointer.py`.

    `where` returns where the pointer is, if the desktop tells.
    """

    def __init__(self, where: Callable[[], Point | None]) -> None:
        self._where = where
        self._hands: Hands | None = None
        self._layouts: list[dict[str, Stroke]] = []
        self._group = 0
        self.has_caps_lock = False
        self._has_left_corner = False

    def begin(self, handle: int) -> None:
        """Use a connection for input; owns its descriptor. Raises NeedsPerson if it gives no devices."""
        hands = self._hands = Hands(handle, self._keymap, self._modifiers, "Wisp")

        def read() -> None:
            hands.wire.read()
            if hands.wire.broken:
                loop.remove_reader(hands.wire.fileno())

        self._has_left_corner = False
        loop = asyncio.get_running_loop()
        loop.add_reader(hands.wire.fileno(), read)

    def end(self) -> None:
        if self._hands:
            asyncio.get_running_loop().remove_reader(self._hands.wire.fileno())
            self._hands.close()
            self._hands = None

    def _keymap(self, text: str) -> None:
        self._layouts = layouts(text)

    def _modifiers(self, locked: int, group: int) -> None:
        self.has_caps_lock = bool(locked & _LOCK)
        self._group = group

    @property
    def strokes(self) -> dict[str, Stroke]:
        """How each symbol is typed in the layout that is used now."""
        return self._layouts[min(self._group, len(self._layouts) - 1)] if self._layouts else {}

    @property
    def all_layouts(self) -> tuple[dict[str, Stroke], ...]:
        return tuple(self._layouts)

    def _open(self) -> Hands:
        if self._hands is None:
            raise NeedsPerson(
                "Wisp may not use mouse and keyboard now. Try again, and answer the desktop's question with “Share”."
            )
        return self._hands

    def move(self, to: Point, ahead_ms: int) -> None:
        hands = self._open()
        if not self._has_left_corner:
            self._leave_corner(hands, hands.region_of(to))
        hands.move(to, ahead_ms)

    def _leave_corner(self, hands: Hands, monitor: Rect) -> None:
        at = self._where()
        first, last = _OUT_OF_THE_CORNER_PX
        if at is None or max(at.x - monitor.x, at.y - monitor.y) < last:
            for px in (first, last):
                hands.move(Point(monitor.x + px, monitor.y + px))
        self._has_left_corner = True

    def button(self, code: int, *, down: bool, ahead_ms: int) -> None:
        self._open().button(code, down=down, ahead_ms=ahead_ms)

    def notch(self, dx: int, dy: int, ahead_ms: int) -> None:
        self._open().notch(dx, dy, ahead_ms)

    def key(self, code: int, *, down: bool) -> None:
        self._open().key(code, down=down)

    def sync(self) -> None:
        self._open().sync()


class PortalKeyboard:
    """The keyboard, in the layout that the person uses. `focused` returns the place that keys go to.

    `sent` is called for each event, and gets whether it may have moved a window.
    """

    is_lending = False

    def __init__(self, hands: PortalHands, focused: Callable[[], str], sent: Callable[[bool], None]) -> None:
        self._hands = hands
        self._focused = focused
        self._sent = sent
        self._held: set[str] = set()

    # --- what the layout has

    def place(self, name: str) -> str:
        stroke = self._hands.strokes.get(name)
        return str(stroke.code) if stroke else name

    def can_type(self, text: str) -> bool:
        return all(character in self._hands.strokes for character in text)

    def symbols_of(self, name: str) -> frozenset[str]:
        own = self._hands.strokes.get(name)
        known = ((symbol, stroke) for layout in self._hands.all_layouts for symbol, stroke in layout.items())
        return frozenset(symbol for symbol, stroke in known if own and stroke.code == own.code)

    # --- pressing

    def key(self, name: str, *, down: bool) -> None:
        stroke = self._hands.strokes.get(name)
        if stroke is None:
            raise ToolMisuse(f"The keyboard layout in use has no key {name!r}.")
        if down:
            self._level(stroke, down=True)
            self._held.add(name)
        else:
            self._held.discard(name)
        self._hands.key(stroke.code, down=down)
        if not down:
            self._level(stroke, down=False)
        self._done()

    def type_text(self, text: str) -> None:
        for character in text:
            stroke = self._hands.strokes[character]
            self._level(stroke, down=True)
            self._hands.key(stroke.code, down=True)
            self._hands.key(stroke.code, down=False)
            self._level(stroke, down=False)
        self._done()

    def _level(self, stroke: Stroke, *, down: bool) -> None:
        for is_needed, name in ((stroke.shift, "Shift_L"), (stroke.level3, "ISO_Level3_Shift")):
            if is_needed:
                self._hands.key(self._hands.strokes[name].code, down=down)

    def _done(self) -> None:
        self._sent(bool(self._held & _MOVES_WINDOWS))
        self._hands.sync()

    # --- where keys go

    @contextmanager
    def plain(self) -> Iterator[None]:
        """Switch caps lock off meanwhile. Keys that the person holds stay held: nobody else can release them."""
        if not self._hands.has_caps_lock:
            yield
            return
        self._tap("Caps_Lock")
        try:
            yield
        finally:
            self._tap("Caps_Lock")

    def _tap(self, name: str) -> None:
        for down in (True, False):
            self.key(name, down=down)

    @contextmanager
    def only_into(self, place: str) -> Iterator[None]:
        """Look once more where the keyboard is. A compositor cannot be held still, so it may move even after that."""
        if self._focused() != place:
            raise KeyboardMoved
        yield

    def give_back(self) -> None:
        return None
