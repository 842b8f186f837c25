"""The clipboard of a desktop whose compositor gives none: by the Clipboard portal, in the session of `portal.py`.

https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Clipboard.html
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.backends import Formats
from app.desktop.wayland.bus import Refused, SessionBus
from app.desktop.wayland.clipboard import NO_CONTENT, TEXTS, read_to_end, write_all
from app.desktop.wayland.portal import CLIPBOARD, PortalSession


class PortalClipboard:
    """The clipboard. What was written is served until another program copies something, or the session ends."""

    def __init__(self, bus: SessionBus, session: PortalSession) -> None:
        self._bus = bus
        self._session = session
        self._kinds: tuple[str, ...] = ()
        self._owning = ""
        """The session that owns the clipboard here; GNOME lets nobody read what is their own."""
        self.held: Formats = {}
        """What is offered here; empty once another program offers something."""
        self.served = asyncio.Event()
        """Set when a program has asked for what is offered here."""
        self._writing: set[asyncio.Task[None]] = set()
        bus.hear(CLIPBOARD, "SelectionOwnerChanged", self._changed)
        bus.hear(CLIPBOARD, "SelectionTransfer", self._asked)

    def _changed(self, session: str, options: Mapping[str, Any]) -> None:
        if session != self._session.path:
            return
        kinds = options.get("mime_types", ("as", ()))[1]
        # Portals wrapped the list in a structure at first: https://github.com/flatpak/xdg-desktop-portal/issues/1067
        kinds = kinds[0] if kinds and not isinstance(kinds[0], str) else kinds
        self._kinds = tuple(kind for kind in kinds if kind not in NO_CONTENT)
        if not options.get("session_is_owner", ("b", False))[1]:
            self._owning, self.held = "", {}

    # --- reading

    async def read(self) -> str:
        self._check()
        if self._is_owner:
            return self.held.get(TEXTS[0], b"").decode("utf-8", "replace")
        kind = next((kind for kind in TEXTS if kind in self._kinds), None)
        try:
            return "" if kind is None else (await self._content(kind)).decode("utf-8", "replace")
        except Refused:
            raise ToolFailed("The program that owns the clipboard does not give its content.", transient=True) from None

    async def selected(self, window: str) -> str:  # noqa: ARG002 - the portal has no primary selection
        return ""

    async def formats(self) -> Formats:
        self._check()
        if self._is_owner:
            return dict(self.held)
        found = dict[str, bytes]()
        for kind in self._kinds:
            with suppress(Refused):  # because its owner does not give it, or has just changed
                found[kind] = await self._content(kind)
        return found

    @property
    def _is_owner(self) -> bool:
        return self._owning == self._session.path

    def _check(self) -> None:
        if not self._session.has_clipboard:
            raise NeedsPerson(
                "The desktop gives Wisp no clipboard. Switch on “Allow Clipboard Access” when it asks about sharing."
            )

    async def _content(self, kind: str) -> bytes:
        pipe = self._bus.call(CLIPBOARD, "SelectionRead", "os", self._session.path, kind)
        return await read_to_end(pipe.to_raw_fd())

    # --- writing

    async def write(self, text: str) -> None:
        self.put(dict.fromkeys(TEXTS, text.encode("utf-8", "surrogatepass")))

    def put(self, formats: Formats) -> None:
        """Own the clipboard, and give its content to whoever asks."""
        self._check()
        self._owning, self.held = self._session.path, dict(formats)
        self.served.clear()
        # A list of nothing leaves what was offered before, so an empty text stands for an empty clipboard.
        offered = {"mime_types": ("as", list(self.held or TEXTS[:1]))}
        self._bus.call(CLIPBOARD, "SetSelection", "oa{sv}", self._session.path, offered)

    def _asked(self, session: str, kind: str, serial: int) -> None:
        """Serve one program that pastes. Each question has to be answered, or the program waits."""
        if session == self._session.path:
            task = asyncio.get_running_loop().create_task(self._serve(kind, serial))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def _serve(self, kind: str, serial: int) -> None:
        pipe = self._bus.call(CLIPBOARD, "SelectionWrite", "ou", self._session.path, serial)
        await write_all(os.dup(pipe.fileno()), self.held.get(kind, b""))
        pipe.close()
        self._bus.call(
            CLIPBOARD, "SelectionWriteDone", "oub", self._session.path, serial, not self.held or kind in self.held
        )
        self.served.set()
