"""A GNOME that is Wisp's own: Mutter itself gives the pictures, takes the input and has the clipboard.

https://gitlab.gnome.org/GNOME/mutter/-/tree/main/data/dbus-interfaces. These are the interfaces on which GNOME's portal
rests. They ask nobody, so they are for the desktop that Wisp started for a task, and never for the person's session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.base.errors import NeedsPerson, ToolFailed
from app.base.phrases import Phrase
from app.desktop.wayland import kernel
from app.desktop.wayland.bus import Place, SessionBus
from app.desktop.wayland.portal import Opened, stream_of

OWN_BUS = "WISP_OWN_BUS"
"""The variable with the address of the session bus that Wisp started."""
_REMOTE, _CAST = (
    Place(f"org.gnome.Mutter.{name}", f"/org/gnome/Mutter/{name}", f"org.gnome.Mutter.{name}")
    for name in ("RemoteDesktop", "ScreenCast")
)
_PROPERTIES = "org.freedesktop.DBus.Properties"
_PRIMARY, _HIDDEN = "", 0
_START_LIMIT_S = 10.0
_ENDED = "The desktop of this task has ended. Ask for the task again."


def is_own(environment: Mapping[str, str], bus: SessionBus) -> bool:
    """True on the bus of a desktop that Wisp started for itself."""
    return environment.get(OWN_BUS) == bus.address and is_here(bus)


def is_here(bus: SessionBus) -> bool:
    return all(bus.has_owner(place.owner) for place in (_REMOTE, _CAST))


class MutterSession:
    """The session. It is the `Access` of `backends.py`, and the `Selection` of `portal_clipboard.py`."""

    kinds = "mime-types"

    def __init__(self, environment: Mapping[str, str], bus: SessionBus, opened: Opened) -> None:
        self._pipewire = Path(environment["XDG_RUNTIME_DIR"], "pipewire-0")
        self._bus = bus
        self._opened = opened
        self._opening = asyncio.Lock()
        self._session: Place | None = None
        self.has_clipboard = False
        self._why_not = ""

    def asked_anew(self) -> None:
        self._why_not = ""

    def on_question(self, listener: Callable[[Phrase], None]) -> None:
        """Do nothing: nobody is asked."""

    async def open(self) -> None:
        """Open the session if it is not open. Raises NeedsPerson if it ended."""
        async with self._opening:
            if self._why_not:
                raise NeedsPerson(self._why_not)
            if self._session is None:
                try:
                    await self._open()
                except BaseException:  # so that the next try finds no half of a session
                    self.close()
                    raise

    async def _open(self) -> None:
        call = self._bus.call
        path = call(_REMOTE, "CreateSession", limit_s=_START_LIMIT_S)
        self._session = session = Place(_REMOTE.owner, path, f"{_REMOTE.interface}.Session")
        self._bus.hear(session, "Closed", self._closed)
        number = call(Place(_REMOTE.owner, path, _PROPERTIES), "Get", "ss", session.interface, "SessionId")
        path = call(_CAST, "CreateSession", "a{sv}", {"remote-desktop-session-id": number})
        cast = Place(_CAST.owner, path, f"{_CAST.interface}.Session")
        path = call(cast, "RecordMonitor", "sa{sv}", _PRIMARY, {"cursor-mode": ("u", _HIDDEN)})
        shown = Place(_CAST.owner, path, f"{_CAST.interface}.Stream")
        node: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._bus.hear(shown, "PipeWireStreamAdded", node.set_result)
        call(session, "EnableClipboard", "a{sv}", {})
        self.has_clipboard = True
        call(session, "Start", limit_s=_START_LIMIT_S)
        about = call(Place(_CAST.owner, path, _PROPERTIES), "Get", "ss", shown.interface, "Parameters")[1]
        async with asyncio.timeout(_START_LIMIT_S):
            stream = stream_of(await node, about)
        hands = call(session, "ConnectToEIS", "a{sv}", {})
        await self._opened.begin(self._connected_to_pictures, (stream,), hands.to_raw_fd())

    def _connected_to_pictures(self) -> int:
        return kernel.connected(self._pipewire, _START_LIMIT_S).detach()

    @property
    def path(self) -> str:
        return self._session.path if self._session else ""

    def _closed(self) -> None:
        if self._session:
            self._why_not = _ENDED
            self._let_go()

    def close(self) -> None:
        """End the session, if one is open."""
        if session := self._session:
            with suppress(ToolFailed):
                self._bus.call(session, "Stop")
            self._let_go()

    def _let_go(self) -> None:
        self._session = None
        self.has_clipboard = False
        self._opened.end()

    # --- the clipboard

    def clipboard(self, member: str, signature: str, *values: Any) -> Any:
        assert self._session
        return self._bus.call(self._session, member, signature, *values)

    def hear_clipboard(self, changed: Callable[[Mapping[str, Any]], None], asked: Callable[[str, int], None]) -> None:
        anywhere = Place("", "", f"{_REMOTE.interface}.Session")

        def renamed(options: Mapping[str, Any]) -> None:
            changed({name.replace("-", "_"): value for name, value in options.items()})

        self._bus.hear(anywhere, "SelectionOwnerChanged", renamed)
        self._bus.hear(anywhere, "SelectionTransfer", asked)
