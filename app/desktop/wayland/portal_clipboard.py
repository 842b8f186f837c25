"""The clipboard of a desktop whose compositor gives none: in the session of `portal.py`, by the Clipboard portal.

In that of `mutter.py`, GNOME itself answers the same calls. https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Clipboard.html
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from app.base.errors import NeedsPerson, ToolFailed
from app.desktop.backends import Formats
from app.desktop.wayland.bus import Refused
from app.desktop.wayland.clipboard import NO_CONTENT, TEXTS, read_to_end, write_all


class Selection(Protocol):
    """The calls and signals of a session's clipboard. `kinds` is its name for the list of formats in a call."""

    kinds: str
    has_clipboard: bool

    @property
    def path(self) -> str:
        """The session's object; empty while none is open."""
        ...

    def clipboard(self, member: str, signature: str, *values: Any) -> Any: ...

    def hear_clipboard(self, changed: Callable[[Mapping[str, Any]], None], asked: Callable[[str, int], None]) -> None:
        """Call `changed` when another program or this one has copied something, and `asked` when one pastes."""
        ...


class PortalClipboard:
    """The clipboard. What was written is served until another program copies something, or the session ends."""

    def __init__(self, session: Selection) -> None:
        self._session = session
        self._kinds: tuple[str, ...] = ()
        self._owning = ""
        """The session that owns the clipboard here; GNOME lets nobody read what is their own."""
        self.held: Formats = {}
        """What is offered here; empty once another program offers something."""
        self.served = asyncio.Event()
        """Set when a program has asked for what is offered here."""
        self._writing: set[asyncio.Task[None]] = set()
        session.hear_clipboard(self._changed, self._asked)

    def _changed(self, options: Mapping[str, Any]) -> None:
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
        pipe = self._session.clipboard("SelectionRead", "s", kind)
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
        offered = {self._session.kinds: ("as", list(self.held or TEXTS[:1]))}
        self._session.clipboard("SetSelection", "a{sv}", offered)

    def _asked(self, kind: str, serial: int) -> None:
        """Serve one program that pastes. Each question has to be answered, or the program waits."""
        task = asyncio.get_running_loop().create_task(self._serve(kind, serial))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _serve(self, kind: str, serial: int) -> None:
        pipe = self._session.clipboard("SelectionWrite", "u", serial)
        await write_all(os.dup(pipe.fileno()), self.held.get(kind, b""))
        pipe.close()
        self._session.clipboard("SelectionWriteDone", "ub", serial, not self.held or kind in self.held)
        self.served.set()
