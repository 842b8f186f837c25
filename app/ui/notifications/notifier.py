"""Watches the view and tells a person who does not look: over D-Bus, or else through the tray's icon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject

from app.ui.notifications.worth import Note, worth_telling
from app.ui.presenter.view import View

Show = Callable[[Note], Awaitable[bool]]
"""Shows a note; False where it cannot."""


class Notifier(QObject):
    """`ways` are tried in their order until one has shown the note. Needs a running event loop."""

    def __init__(self, ways: tuple[Show, ...], *, on: bool) -> None:
        super().__init__()
        self.on = on
        self._ways = ways
        self._seen = View()
        self._telling: set[asyncio.Task[None]] = set()

    def show_view(self, view: View) -> None:
        """The view has become this."""
        note = worth_telling(self._seen, view) if self.on else None
        self._seen = view
        if note is not None:
            task = asyncio.ensure_future(self._tell(note))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell(self, note: Note) -> None:
        for show in self._ways:
            if await show(note):
                return
