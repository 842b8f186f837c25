"""A private X server with a window manager: the desktop of machines without a screen, and of tasks apart."""

from __future__ import annotations

import select
import time
from pathlib import Path

from app.desktop.apart import START_LIMIT_S, DesktopApart, not_started

_BACKGROUND = 0x3A4250


class VirtualDesktop(DesktopApart):
    """A desktop on an X server without a screen."""

    programs = {"Xvfb": "xvfb", "openbox": "openbox"}  # noqa: RUF012 - ClassVar of the base
    variables = {  # noqa: RUF012 - ClassVar of the base
        "GDK_BACKEND": "x11",
        "QT_QPA_PLATFORM": "xcb",
        "XDG_SESSION_TYPE": "x11",
        "XDG_CURRENT_DESKTOP": "openbox",
    }

    def __init__(
        self, width_px: int = 1280, height_px: int = 800, home: Path | None = None, *, window_manager: bool = True
    ) -> None:
        super().__init__(width_px, height_px, home)
        self._with_manager = window_manager

    def _start(self) -> None:
        size = f"{self._width}x{self._height}x24"
        display = self.told(
            ["Xvfb", "-screen", "0", size, "-nolisten", "tcp", "-noreset", "-dpi", "96", "-displayfd", "{fd}"]
        )
        self.environment["DISPLAY"] = f":{display}"
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.start_bus()
        self.start_accessibility()
        if self._with_manager:
            self.spawn(["openbox", "--sm-disable"])
            self._wait_for_manager()

    def _wait_for_manager(self) -> None:
        """Wait until the window manager answers a request.

        Openbox announces itself (_NET_SUPPORTING_WM_CHECK) before it works, and may ignore a window that is mapped in
        between until some later event. So it is asked for a window's frame until it answers:
        https://specifications.freedesktop.org/wm-spec/wm-spec-latest.html, _NET_REQUEST_FRAME_EXTENTS.
        """
        from Xlib import X
        from Xlib.display import Display
        from Xlib.protocol.event import ClientMessage

        display = Display(self.environment["DISPLAY"])
        try:
            root = display.screen().root
            root.change_attributes(background_pixel=_BACKGROUND)
            root.clear_area()
            window = root.create_window(0, 0, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask)
            answer = display.intern_atom("_NET_FRAME_EXTENTS")
            request = display.intern_atom("_NET_REQUEST_FRAME_EXTENTS")
            limit = time.monotonic() + START_LIMIT_S
            while window.get_full_property(answer, X.AnyPropertyType) is None:
                left = limit - time.monotonic()
                if left <= 0 or self._children[-1].poll() is not None:
                    raise not_started("openbox")
                asked = ClientMessage(window=window, client_type=request, data=(32, [0] * 5))
                root.send_event(asked, X.SubstructureRedirectMask | X.SubstructureNotifyMask)
                display.flush()
                select.select([display.fileno()], [], [], min(left, 0.1))
                while display.pending_events():
                    display.next_event()
            window.destroy()
        finally:
            display.close()
