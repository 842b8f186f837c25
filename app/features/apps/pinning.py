"""Keep the window of a small app on the desktop: on all workspaces, and behind all other windows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from app.base.errors import NeedsPerson, ToolFailed
from app.features.apps.chromium import settings

if TYPE_CHECKING:
    from Xlib.display import Display

_PINNED = ("_NET_WM_STATE_BELOW", "_NET_WM_STATE_SKIP_TASKBAR", "_NET_WM_STATE_SKIP_PAGER")
_OF_A_PAGER = 2
_EVERY_WORKSPACE = 0xFFFFFFFF


def keep_on_desktop(instance: str, *, is_kept: bool, environment: Mapping[str, str] | None = None) -> str:
    """Keep the window whose class begins with `instance` on all workspaces behind the others, or no longer.

    Returns what was done. Raises ToolFailed if there is no such window, NeedsPerson where no window manager can do it.
    """
    from Xlib import X, Xatom
    from Xlib.display import Display
    from Xlib.error import DisplayError
    from Xlib.protocol.event import ClientMessage

    try:
        display = Display((environment if environment is not None else os.environ).get("DISPLAY", ""))
    except (DisplayError, OSError) as error:
        raise NeedsPerson(_says("no_manager")) from error
    with closing(display):
        root = display.screen().root
        window = next((one for one in _clients(display) if _instance(one).split(".")[0] == instance), None)
        if window is None:
            raise ToolFailed(_says("no_window"))
        states = [display.intern_atom(name) for name in _PINNED]
        shown = root.get_full_property(display.intern_atom("_NET_CURRENT_DESKTOP"), Xatom.CARDINAL)
        workspace = _EVERY_WORKSPACE if is_kept else int(shown.value[0]) if shown else 0
        wishes = [("_NET_WM_STATE", (int(is_kept), state, 0)) for state in states]
        for name, values in [*wishes, ("_NET_WM_DESKTOP", (workspace, _OF_A_PAGER, 0))]:
            data = (32, [*values, _OF_A_PAGER, 0])
            message = ClientMessage(window=window, client_type=display.intern_atom(name), data=data)
            root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        display.sync()
    return _says("pinned" if is_kept else "unpinned")


def _clients(display: Display) -> list[Any]:
    from Xlib import X

    found = display.screen().root.get_full_property(display.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType)
    if found is None:
        raise NeedsPerson(_says("no_manager"))
    return [display.create_resource_object("window", number) for number in found.value]


def _instance(window: Any) -> str:
    from Xlib.error import XError

    try:
        return str((window.get_wm_class() or ("",))[0])
    except XError:  # because a window may close at any time
        return ""


def _says(key: str) -> str:
    said: str = settings()["pinning"][key]
    return said
