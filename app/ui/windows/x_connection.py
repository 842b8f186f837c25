"""The presence's own connection to the X server, for what Qt does not offer. Any thread may use it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from app.base.errors import NeedsPerson
from app.base.geometry import Rect
from app.base.ids import KEYBOARD_MARK, WINDOW_MARK

_log = logging.getLogger(__name__)
_LOCK_LIMIT_S = 0.3
_LEVELS = 8
_MOST_WISPS = 256
# because window managers may refuse a plain program: https://specifications.freedesktop.org/wm-spec/wm-spec-latest.html
_OF_A_PAGER = 2
_ALPHA_DEPTH = 32
_ALL_WORKSPACES = 0xFFFFFFFF

Shape = list[tuple[int, int, int, int]] | None
"""Rectangles of a window's shape; None is a window without one: its outline follows its size."""


GONE = "The display has gone, so Wisp has ended."


@contextmanager
def until_the_display_goes() -> Iterator[None]:
    """Raise NeedsPerson with a sentence in place of the errors that come when the X server ends."""
    try:
        from Xlib.error import ConnectionClosedError
    except ImportError:  # because other systems have no X server
        yield
        return
    try:
        yield
    except ConnectionClosedError:
        raise NeedsPerson(GONE) from None


class XConnection:
    """A connection to the X server that DISPLAY names. Raises Xlib's DisplayError if it cannot connect."""

    def __init__(self) -> None:
        from Xlib.display import Display

        self._display = Display()
        self._display.set_error_handler(_told)
        self._lock = threading.Lock()

    def close(self) -> None:
        from Xlib.error import ConnectionClosedError

        with self._lock, suppress(ConnectionClosedError, OSError):  # because the display may have gone first
            self._display.close()

    def is_composited(self) -> bool:
        with self._lock:
            return bool(self._display.get_selection_owner(self._display.intern_atom("_NET_WM_CM_S0")))

    def is_xwayland(self) -> bool:
        """Return whether the server is XWayland, which says so by an extension:
        https://gitlab.freedesktop.org/xorg/proto/xorgproto/-/blob/master/xwaylandproto.txt"""
        with self._lock:
            return self._display.query_extension("XWAYLAND") is not None

    def note_keyboard(self, window_id: int) -> None:
        """Let every Wisp on the display know which of Wisp's windows got the keyboard past X's focus; 0 for none."""
        from Xlib import Xatom

        with self._lock:
            mark = self._display.intern_atom(KEYBOARD_MARK)
            self._display.screen().root.change_property(mark, Xatom.WINDOW, 32, [window_id])
            self._display.flush()

    def mark(self, window_id: int, pid: int) -> None:
        """Mark a window of the process `pid` as one of Wisp's, and remove marks of processes that ended."""
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
            self._display.grab_server()  # because another Wisp may start at this moment
            told = root.get_property(mark, X.AnyPropertyType, 0, _MOST_WISPS)
            known = [int(number) for number in told.value] if told is not None else []
            dead = {number for number in known if not is_alive(number)}
            if dead:
                root.change_property(mark, Xatom.WINDOW, 32, [number for number in known if number not in dead])
            root.change_property(mark, Xatom.WINDOW, 32, [window_id], X.PropModeAppend)
            self._display.ungrab_server()
            self._display.sync()

    def active_window_atom(self) -> int:
        """The property in which the window manager publishes the focused window."""
        with self._lock:
            return int(self._display.intern_atom("_NET_ACTIVE_WINDOW"))

    def active_window(self) -> int:
        """Return the id of the focused window as the window manager publishes it, or 0."""
        from Xlib import X

        with self._lock:
            root = self._display.screen().root
            found = root.get_full_property(self._display.intern_atom("_NET_ACTIVE_WINDOW"), X.AnyPropertyType)
            return int(found.value[0]) if found is not None and len(found.value) else 0

    def manager(self) -> str:
        """Return the name of the window manager; "" if there is none."""
        from Xlib import X
        from Xlib.error import XError

        with self._lock:
            found = self._display.screen().root.get_full_property(
                self._atom("_NET_SUPPORTING_WM_CHECK"), X.AnyPropertyType
            )
            if found is None:
                return ""
            try:
                check = self._display.create_resource_object("window", int(found.value[0]))
                name = check.get_full_property(self._atom("_NET_WM_NAME"), X.AnyPropertyType)
            except XError:
                return ""
        return bytes(name.value).decode("utf-8", "replace") if name is not None else ""

    def make_caller(self, title: str) -> int:
        """Make a window of one transparent pixel, which the window manager gives the keyboard. Returns its id."""
        from Xlib import X, Xatom, Xutil
        from Xlib.ext import shape

        with self._lock:
            screen = self._display.screen()
            root, visual = screen.root, _transparent_visual(screen)
            colours = root.create_colormap(visual, X.AllocNone)
            window = root.create_window(
                0, 0, 1, 1, 0, _ALPHA_DEPTH, X.InputOutput, visual, background_pixel=0, border_pixel=0, colormap=colours
            )
            window.set_wm_name(title)
            window.set_wm_class("wisp", "Wisp")
            window.set_wm_hints(flags=Xutil.InputHint, input=1)
            window.set_wm_normal_hints(flags=Xutil.USPosition | Xutil.USSize)
            window.change_property(self._atom("_NET_WM_PID"), Xatom.CARDINAL, 32, [os.getpid()])
            undecorated = [2, 0, 0, 0, 0]  # https://gitlab.gnome.org/GNOME/mutter/-/blob/main/src/x11/xprops.h
            window.change_property(self._atom("_MOTIF_WM_HINTS"), self._atom("_MOTIF_WM_HINTS"), 32, undecorated)
            apart = [self._atom(f"_NET_WM_STATE_SKIP_{where}") for where in ("TASKBAR", "PAGER")]
            window.change_property(self._atom("_NET_WM_STATE"), Xatom.ATOM, 32, apart)
            window.shape_rectangles(shape.SO.Set, shape.SK.Input, X.Unsorted, 0, 0, [])
            self._display.sync()
        self.mark(window.id, os.getpid())
        return int(window.id)

    def call(self, window_id: int, x: int, y: int) -> None:
        """Show a window, and let the window manager give it the keyboard."""
        with self._lock:
            window = self._display.create_resource_object("window", window_id)
            window.configure(x=x, y=y)
            window.map()
        self._ask_manager(window_id, ("_NET_ACTIVE_WINDOW", _OF_A_PAGER))

    def focused(self) -> int:
        """The window that has X's focus; 0 or 1 for none."""
        with self._lock:
            focus = self._display.get_input_focus().focus
            return int(getattr(focus, "id", focus))

    def _atom(self, name: str) -> int:
        return int(self._display.intern_atom(name))

    def name_of(self, window_id: int) -> tuple[str, str]:
        """Return a window's program and title, as the window reports them; "" for what it does not report."""
        from Xlib import X
        from Xlib.error import XError

        with self._lock:
            try:
                window = self._display.create_resource_object("window", window_id)
                program = window.get_wm_class() or ("", "")
                title = window.get_full_property(self._display.intern_atom("_NET_WM_NAME"), X.AnyPropertyType)
            except XError:
                return "", ""
            words = title.value if title is not None else b""
            return program[1], words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)

    def activate(self, window_id: int) -> None:
        """Ask the window manager to give a window the keyboard."""
        from Xlib import X

        self._ask_manager(window_id, ("_NET_ACTIVE_WINDOW", _OF_A_PAGER, X.CurrentTime, 0))

    def leave_keyboard(self, window_id: int) -> None:
        """Tell the window manager, before a window shows, not to offer it the keyboard when it appears.

        Qt says that each window takes it by itself (WM_TAKE_FOCUS), also one that accepts none:
        https://x.org/releases/current/doc/xorg-docs/icccm/icccm.html, section 4.1.7.
        """
        with self._lock:
            window = self._display.create_resource_object("window", window_id)
            takes = self._display.intern_atom("WM_TAKE_FOCUS")
            window.set_wm_protocols([each for each in window.get_wm_protocols() if each != takes])
            self._display.sync()

    def keep_apart(self, window_id: int) -> None:
        """Keep a window that shows out of task bars and pagers, on every workspace, and visible while others work.

        KWin hides the utility windows of a program that is behind, if they say that they belong to other windows:
        https://invent.kde.org/plasma/kwin/-/blob/master/src/workspace.cpp, updateToolWindows.
        """
        with self._lock:
            window = self._display.create_resource_object("window", window_id)
            window.delete_property(self._display.intern_atom("WM_TRANSIENT_FOR"))
        self._ask_manager(
            window_id,
            ("_NET_WM_STATE", 1, "_NET_WM_STATE_SKIP_TASKBAR", "_NET_WM_STATE_SKIP_PAGER", _OF_A_PAGER),
            ("_NET_WM_DESKTOP", _ALL_WORKSPACES, _OF_A_PAGER),
        )

    def _ask_manager(self, window_id: int, *wishes: tuple[str | int, ...]) -> None:
        """Send messages about a window to the window manager: each its name, then up to five numbers or atoms."""
        from Xlib import X
        from Xlib.protocol.event import ClientMessage

        with self._lock:
            for wish in wishes:
                name, *data = (self._display.intern_atom(each) if isinstance(each, str) else each for each in wish)
                message = ClientMessage(window=window_id, client_type=name, data=(32, (data + [0] * 5)[:5]))
                self._display.screen().root.send_event(message, X.SubstructureRedirectMask | X.SubstructureNotifyMask)
            self._display.flush()

    def give_up_keyboard(self) -> None:
        """Take the keyboard from all windows, because no other window had it before. Keys then reach no window."""
        from Xlib import X

        with self._lock:
            self._display.set_input_focus(X.NONE, X.RevertToNone, X.CurrentTime)
            self._display.flush()

    def set_input(self, window_id: int, rects: Sequence[Rect]) -> None:
        """Set the areas in which the window takes clicks, in pixels of the window."""
        from Xlib.ext import shape

        with self._lock:
            window = self._display.create_resource_object("window", window_id)
            window.shape_rectangles(shape.SO.Set, shape.SK.Input, 0, 0, 0, [_bare(rect) for rect in rects])
            self._display.sync()

    def steady(self, window_id: int, *, above: bool) -> None:
        """Keep the painted content in place while the window grows: upwards if `above`, else downwards.

        It has no ground: the server would fill the whole window with it at each change of the window's shape.
        """
        from Xlib import X
        from Xlib.error import XError

        with self._lock:
            try:
                for window in self._with_frames(window_id):
                    gravity = X.SouthWestGravity if above else X.NorthWestGravity
                    window.change_attributes(bit_gravity=gravity)
                self._display.sync()
            except XError as error:
                _log.debug("The window went away meanwhile: %s", error)

    def shown_at(self, window_id: int) -> Rect | None:
        """In screen pixels; None while the window is not mapped."""
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
        """Make a window and its frame invisible. Returns each one's id and shape, from which `appear` restores them."""
        from Xlib.error import XError

        with self._lock:
            try:
                found = [(window.id, _bounds(window)) for window in self._with_frames(window_id)]
            except XError:
                return []
        self.cut_away([each for each, _ in found])
        return found

    def cut_away(self, window_ids: Sequence[int]) -> None:
        """Make these windows invisible and let clicks pass through them."""
        with self._lock:
            for window_id in window_ids:
                self._reshape(window_id, [])
            self._display.sync()

    def move(self, places: Iterable[tuple[int, int, int]]) -> None:
        """Move windows: each one's id, and where its corner goes."""
        with self._lock:
            for window_id, x, y in places:
                self._display.create_resource_object("window", window_id).configure(x=x, y=y)
            self._display.sync()

    def unmap(self, window_ids: Sequence[int]) -> None:
        """Remove windows from the screen until they are shown again."""
        with self._lock:
            for window_id in window_ids:
                self._display.create_resource_object("window", window_id).unmap()
            self._display.sync()

    def appear(self, shapes: Sequence[tuple[int, Shape]]) -> None:
        """Give windows the shapes back that `vanish` returned."""
        with self._lock:
            for window_id, rects in shapes:
                self._reshape(window_id, rects)
            self._display.sync()

    def pixels(self, area: Rect) -> bytes:
        """Empty if the area is off the screen."""
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
        """With the windows that the window manager put around it, from the inside out."""
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

    # Skip an unshaped window, because its default bounds, set as a shape, would cut it off when it grows.
    if not window.shape_query_extents().bounding_shaped:
        return None
    return [
        (rect.x, rect.y, rect.width, rect.height) for rect in window.shape_get_rectangles(shape.SK.Bounding).rectangles
    ]


def _transparent_visual(screen: Any) -> int:
    """A way to draw with transparency, which every XWayland has."""
    return next(int(depth.visuals[0].visual_id) for depth in screen.allowed_depths if depth.depth == _ALPHA_DEPTH)


def _told(error: object, _request: object) -> None:
    """Log an error that the X server sends without a waiting call, such as for a window that is gone."""
    _log.debug("X said: %s", error)
