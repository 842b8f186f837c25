"""The portals of GNOME and KDE: one session that shows the screen, takes input and has the clipboard.

https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.RemoteDesktop.html. The desktop asks the
person before it opens one. What they remember is a token in the keyring, which opens the next one without a question.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from app.base import ids
from app.base.errors import NeedsPerson, ToolFailed
from app.base.geometry import Rect
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.desktop.wayland.bus import Place, Refused, SessionBus
from app.settings import store

_OWNER, _PATH, _FAMILY = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop", "org.freedesktop.portal."
_REMOTE, _CAST = (Place(_OWNER, _PATH, f"{_FAMILY}{name}") for name in ("RemoteDesktop", "ScreenCast"))
_CLIPBOARD = Place(_OWNER, _PATH, f"{_FAMILY}Clipboard")
_BUS = Place("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_PROPERTIES = "org.freedesktop.DBus.Properties"
_CANCELLED = 1  # by the person; 2: in some other way
_KEYBOARD_AND_POINTER, _MONITORS, _UNTIL_REVOKED, _HIDDEN = 3, 1, 2, 1
NEEDED_VERSION = 2
"""Of RemoteDesktop: the first that gives a connection for input, and that remembers."""
_START_LIMIT_S = 10.0
"""The bus starts the portal when it is first asked for."""
_TOLD_AFTER_S = 1.0
_QUESTION_LIMIT_S = 300.0
_TOKEN = "screen-access"
_WALLET_LIMIT_S = 3.0
_QUESTION = Phrase(
    "Your desktop asks now whether Wisp may see the screen and use mouse and keyboard. Choose the monitors, switch on "
    "“Allow Remote Interaction” if it is there, and press “Share” or “Approve”."
)
_REFUSED = (
    "The desktop's question about sharing the screen was answered with no, so Wisp can neither see nor use it. "
    "Ask for the task again, and answer it with “Share” or “Approve”."
)
_ENDED = (
    "The desktop ended its own question about sharing the screen, so Wisp can neither see nor use it. Is the portal of "
    "your desktop installed (xdg-desktop-portal-gnome or -kde), and PipeWire running? `wisp doctor` looks."
)
_LOST = (
    "The desktop ended Wisp's access to the screen: it was locked, or somebody stopped the sharing in the panel. "
    "Ask for the task again to go on."
)


@dataclass(frozen=True, slots=True)
class Stream:
    """The pictures of one monitor: its number in PipeWire, and the monitor's place in logical pixels."""

    node: int
    area: Rect


class Opened(Protocol):
    """What is made of a session once it is open."""

    async def begin(self, connect: Callable[[], int], streams: tuple[Stream, ...], hands: int) -> None:
        """Use the session: `connect` returns a new connection to PipeWire, `hands` is that for input.

        Owns these descriptors.
        """
        ...

    def end(self) -> None: ...


def is_offered(bus: SessionBus) -> bool:
    """The portal itself need not run yet."""
    return _OWNER in bus.call(_BUS, "ListActivatableNames") or bus.has_owner(_OWNER)


def versions(bus: SessionBus) -> dict[str, int]:
    """Return the version of each portal that Wisp uses; 0 where it is missing."""
    return {name: _version(bus, name) for name in ("RemoteDesktop", "ScreenCast", "Clipboard", "GlobalShortcuts")}


def _version(bus: SessionBus, name: str) -> int:
    place = Place(_OWNER, _PATH, _PROPERTIES)
    try:
        return int(bus.call(place, "Get", "ss", f"{_FAMILY}{name}", "version", limit_s=_START_LIMIT_S)[1])
    except Refused:  # because there is no such portal
        return 0
    except ToolFailed:
        raise NeedsPerson(
            "The desktop's portal (xdg-desktop-portal) does not answer, so the screen can be neither seen nor used. "
            "Log out and in, or restart it: systemctl --user restart xdg-desktop-portal"
        ) from None


class PortalSession:
    """The session. It is the `Access` of `backends.py`, and the `Selection` of `portal_clipboard.py`."""

    kinds = "mime_types"

    def __init__(self, bus: SessionBus, opened: Opened) -> None:
        self._bus = bus
        self._opened = opened
        self._listeners: list[Callable[[Phrase], None]] = []
        self._opening = asyncio.Lock()
        self.path = ""
        """The session's object; empty while none is open."""
        self.has_clipboard = False
        self._why_not: NeedsPerson | None = None

    def asked_anew(self) -> None:
        self._why_not = None

    def on_question(self, listener: Callable[[Phrase], None]) -> None:
        self._listeners.append(listener)

    def _explain(self) -> None:
        for listener in self._listeners:
            listener(_QUESTION)

    async def open(self) -> None:
        """Open the session if it is not open. Raises NeedsPerson if the person refused it, or ended it since."""
        async with self._opening:
            if self._why_not:
                raise self._why_not
            if not self.path:
                await self._open()

    async def _open(self) -> None:
        try:
            await self._negotiate()
        except NeedsPerson as error:
            self._why_not = error
            self.close()
            raise
        except BaseException:  # so that a stopped task leaves no question on the screen
            self.close()
            raise

    async def _negotiate(self) -> None:
        if await asyncio.to_thread(_version_apart, self._bus.address) < NEEDED_VERSION:
            raise NeedsPerson(
                "This desktop's portal gives programs no mouse and keyboard (RemoteDesktop 2 is missing). "
                "Install the portal of your desktop (xdg-desktop-portal-gnome or -kde), then log out and in."
            )
        token = await _from_wallet(partial(store.key_of, _TOKEN)) or ""
        made = await self._request(_REMOTE, "CreateSession", "", {"session_handle_token": ("s", _handle())})
        self.path = made["session_handle"][1]
        self._bus.hear(Place("", self.path, f"{_FAMILY}Session"), "Closed", self._closed)
        remembered = {"restore_token": ("s", token)} if token else {}
        devices = {"types": ("u", _KEYBOARD_AND_POINTER), "persist_mode": ("u", _UNTIL_REVOKED), **remembered}
        await self._request(_REMOTE, "SelectDevices", "o", devices, self.path)
        shown = {"types": ("u", _MONITORS), "multiple": ("b", True), "cursor_mode": ("u", _HIDDEN)}
        await self._request(_CAST, "SelectSources", "o", shown, self.path)
        with suppress(Refused):  # because older portals have none
            self._bus.call(_CLIPBOARD, "RequestClipboard", "oa{sv}", self.path, {})
        started = await self._started(is_remembered=bool(token))
        self.has_clipboard = bool(started.get("clipboard_enabled", ("b", False))[1])
        if kept := started.get("restore_token"):
            await _from_wallet(partial(store.keep, _TOKEN, kept[1]))
        streams = tuple(stream_of(*found) for found in started.get("streams", ("", ()))[1])
        if not streams:
            raise NeedsPerson("No monitor was shared with Wisp. Ask again, and choose one in the desktop's question.")
        hands = self._bus.call(_REMOTE, "ConnectToEIS", "oa{sv}", self.path, {})
        await self._opened.begin(self._connected_to_pictures, streams, hands.to_raw_fd())

    def _connected_to_pictures(self) -> int:
        """The connection to PipeWire shows only what was shared."""
        return int(self._bus.call(_CAST, "OpenPipeWireRemote", "oa{sv}", self.path, {}).to_raw_fd())

    async def _started(self, *, is_remembered: bool) -> Mapping[str, Any]:
        """Start the session. The person is told before the desktop asks; with a token it usually does not."""
        if not is_remembered:
            self._explain()
        answer = asyncio.ensure_future(
            self._request(_REMOTE, "Start", "os", {}, self.path, "", limit_s=_QUESTION_LIMIT_S)
        )
        try:
            if is_remembered and not (await asyncio.wait({answer}, timeout=_TOLD_AFTER_S))[0]:
                self._explain()
            return await answer
        finally:
            answer.cancel()

    async def _request(
        self,
        place: Place,
        member: str,
        signature: str,
        options: Mapping[str, Any],
        *arguments: Any,
        limit_s: float = _START_LIMIT_S,
    ) -> Mapping[str, Any]:
        """Make a request and wait for its response. Raises NeedsPerson if it is refused or not answered in time (s)."""
        token = _handle()
        path = f"{_PATH}/request/{self._bus.name[1:].replace('.', '_')}/{token}"
        response = asyncio.get_running_loop().create_future()

        def responded(code: int, results: Mapping[str, Any]) -> None:
            if not response.done():
                response.set_result((code, results))

        request = Place("", path, f"{_FAMILY}Request")
        self._bus.hear(request, "Response", responded)
        asked = {"handle_token": ("s", token), **options}
        try:
            self._bus.call(place, member, f"{signature}a{{sv}}", *arguments, asked, limit_s=_START_LIMIT_S)
            async with asyncio.timeout(limit_s):
                code, results = await response
        except (TimeoutError, asyncio.CancelledError) as error:
            with suppress(ToolFailed):
                self._bus.call(Place(_OWNER, path, f"{_FAMILY}Request"), "Close")
            if isinstance(error, asyncio.CancelledError):
                raise
            raise NeedsPerson(_REFUSED) from None
        finally:
            self._bus.forget(request, "Response")
        if code:
            raise NeedsPerson(_REFUSED if code == _CANCELLED else _ENDED)
        return dict(results)

    def _closed(self, *_details: object) -> None:
        if self.path:
            self._why_not = NeedsPerson(_LOST)
            self._let_go()

    def close(self) -> None:
        """End the session, if one is open."""
        if self.path:
            with suppress(ToolFailed):
                self._bus.call(Place(_OWNER, self.path, f"{_FAMILY}Session"), "Close")
            self._let_go()

    def _let_go(self) -> None:
        self.path = ""
        self.has_clipboard = False
        self._opened.end()

    # --- the clipboard

    def clipboard(self, member: str, signature: str, *values: Any) -> Any:
        return self._bus.call(_CLIPBOARD, member, f"o{signature}", self.path, *values)

    def hear_clipboard(self, changed: Callable[[Mapping[str, Any]], None], asked: Callable[[str, int], None]) -> None:
        def of_this_session(told: Callable[..., None]) -> Callable[..., None]:
            return lambda session, *values: told(*values) if session == self.path else None

        self._bus.hear(_CLIPBOARD, "SelectionOwnerChanged", of_this_session(changed))
        self._bus.hear(_CLIPBOARD, "SelectionTransfer", of_this_session(asked))


def _version_apart(address: str) -> int:
    """Uses a connection of its own: the first question starts the portal, which takes seconds."""
    bus = SessionBus({}, address)
    try:
        return _version(bus, "RemoteDesktop")
    finally:
        bus.close()


async def _from_wallet(work: Callable[[], str]) -> str | None:
    """Return the result of a call of the keyring; None if it is not there in time: it may wait for a password for ever.

    Its thread is a daemon, so that such a question does not keep Wisp open.
    """
    result: Future[str] = Future()

    def call() -> None:
        result.set_result(work())

    threading.Thread(target=call, name="keyring", daemon=True).start()
    with suppress(TimeoutError):
        return await asyncio.wait_for(asyncio.wrap_future(result), _WALLET_LIMIT_S)
    return None


def _handle() -> str:
    return ids.unique("wisp")


def stream_of(node: int, properties: Mapping[str, Any]) -> Stream:
    x, y = properties.get("position", ("", (0, 0)))[1]
    width, height = properties["size"][1]
    return Stream(node, Rect(x, y, width, height))
