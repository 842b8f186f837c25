"""What Qt cannot ask of an X server: whether there is a compositor, and shapes that change nothing else.

Qt's own mask cuts the picture and the input of a window together; here the input alone is cut (clicks on transparent
corners reach what is below), and a window can be made to vanish without being unmapped, so that it keeps its focus
and its place in the stack. Used from any thread: one connection behind one lock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from app.base.geometry import Rect
from app.base.ids import WINDOW_MARK

_log = logging.getLogger(__name__)
_LOCK_LIMIT_S = 0.3
_LEVELS = 8
_MOST_WISPS = 256

Shape = list[tuple[int, int, int, int]] | None
"""Rectangles of a window's shape; None is a window without one: its outline follows its size."""


class Server:
    """One connection to the X server named by DISPLAY. Raises Xlib's DisplayError where there is none."""

    def __init__(self) -> None:
        from Xlib.display import Display

        self._display = Display()
        self._display.set_error_handler(_told)
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            self._display.close()

    def is_composited(self) -> bool:
        with self._lock:
            owner = self._display.get_selection_owner(self._display.intern_atom("_NET_WM_CM_S0"))
            return bool(owner)

    def mark(self, window_id: int, pid: int) -> None:
        """Leave the mark by which every Wisp knows this one's windows, and take away those of Wisps that ended."""
        from Xlib import X, Xatom
        from Xlib.error import XError

        with self._lock:
            mark, root = self._display.intern_atom(WINDOW_MARK), self._display.screen().root

            def is_alive(number: int) -> bool:
                try:
                    window = self._display.create_resource_object("window", number)
                    return window.get_property(mark, X.AnyPropertyType, 0, 1) is not None
                except XError:
                    return False

            self._display.create_resource_object("window", window_id).change_property(mark, Xatom.CARDINAL, 32, [pid])
            self._display.grab_server()  # another Wisp may start at this moment
            told = root.get_property(mark, X.AnyPropertyType, 0, _MOST_WISPS)
            known = [int(number) for number in told.value] if told is not None else []
            dead = {number for number in known if not is_alive(number)}
            if dead:
                root.change_property(mark, Xatom.WINDOW, 32, [number for number in known if number not in dead])
            root.change_property(mark, Xatom.WINDOW, 32, [window_id], X.PropModeAppend)
            self._display.ungrab_server()
            self._display.sync()

    def active_window(self) -> int:
        """The id of the window that has the focus as the window manager tells it; 0 where it does not."""
        from Xlib import X

        with self._lock:
            root = self._display.screen().root
            found = root.get_full_property(self._display.intern_atom("_NET_ACTIVE_WINDOW"), X.AnyPropertyType)
            return int(found.value[0]) if found is not None and len(found.value) else 0

    def set_input(self, window_id: int, rects: Sequence[Rect]) -> None:
        """Where the window takes clicks, in its own pixels."""
        from Xlib.ext import shape

        with self._lock:
            window = self._display.create_resource_object("window", window_id)
            window.shape_rectangles(shape.SO.Set, shape.SK.Input, 0, 0, 0, [_bare(rect) for rect in rects])
            self._display.sync()

    def shown_at(self, window_id: int) -> Rect | None:
        """Where a window is on the screen, in screen pixels; None while it is not mapped."""
        from Xlib import X
        from Xlib.error import XError

        if not self._lock.acquire(timeout=_LOCK_LIMIT_S):
            return None
        try:
            window = self._display.create_resource_object("window", window_id)
            if window.get_attributes().map_state != X.IsViewable:
                return None
            size = window.get_geometry()
            place = self._display.screen().root.translate_coords(window, 0, 0)
            return Rect(place.x, place.y, size.width, size.height)
        except XError:
            return None
        finally:
            self._lock.release()

    def vanish(self, window_id: int) -> list[tuple[int, Shape]]:
        """Cut everything away from a window and the frame around it; the answer brings them back."""
        from Xlib.error import XError

        with self._lock:
            try:
                found = [(window.id, _bounds(window)) for window in self._with_frames(window_id)]
            except XError:
                return []
        self.cut_away([each for each, _ in found])
        return found

    def cut_away(self, window_ids: Sequence[int]) -> None:
        """Leave nothing of windows to be seen or clicked."""
        with self._lock:
            for window_id in window_ids:
                self._reshape(window_id, [])
            self._display.sync()

    def appear(self, shapes: Sequence[tuple[int, Shape]]) -> None:
        """Give windows their shapes back."""
        with self._lock:
            for window_id, rects in shapes:
                self._reshape(window_id, rects)
            self._display.sync()

    def pixels(self, area: Rect) -> bytes:
        """What the screen shows in an area; empty where that is off the screen."""
        from Xlib import X
        from Xlib.error import XError

        with self._lock:
            root = self._display.screen().root
            size = root.get_geometry()
            inside = area.overlap(Rect(0, 0, size.width, size.height))
            if inside is None:
                return b""
            try:
                image = root.get_image(inside.x, inside.y, inside.width, inside.height, X.ZPixmap, 0xFFFFFFFF)
            except XError:
                return b""
            return bytes(image.data)

    def _with_frames(self, window_id: int) -> list[Any]:
        """The window and what the window manager put around it, inside first."""
        root = self._display.screen().root
        window = self._display.create_resource_object("window", window_id)
        found = [window]
        for _ in range(_LEVELS):
            parent = found[-1].query_tree().parent
            if not parent or parent.id == root.id:
                break
            found.append(parent)
        return found

    def _reshape(self, window_id: int, rects: Shape) -> None:
        from Xlib import X
        from Xlib.ext import shape

        window = self._display.create_resource_object("window", window_id)
        if rects is None:
            window.shape_mask(shape.SO.Set, shape.SK.Bounding, 0, 0, X.NONE)
        else:
            window.shape_rectangles(shape.SO.Set, shape.SK.Bounding, 0, 0, 0, rects)


def _bare(rect: Rect) -> tuple[int, int, int, int]:
    return rect.x, rect.y, rect.width, rect.height


def _bounds(window: Any) -> Shape:
    from Xlib.ext import shape

    # An unshaped window answers with its default bounds. Set as a shape they would cut it off when it grows.
    if not window.shape_query_extents().bounding_shaped:
        return None
    return [
        (rect.x, rect.y, rect.width, rect.height) for rect in window.shape_get_rectangles(shape.SK.Bounding).rectangles
    ]


def _told(error: object, _request: object) -> None:
    """Errors without an asker: a window that went away meanwhile."""
    _log.debug("X said: %s", error)
