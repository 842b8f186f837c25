"""When something is drawn, by the DAMAGE extension: nothing has to be looked at to know that nothing happened."""

from __future__ import annotations

import asyncio
from typing import Any

from Xlib import X
from Xlib.ext import damage

from app.desktop.x11.connection import Connection


class X11Drawing:
    """Implements `Drawing`. The server reports once and then waits to be asked again, so idle time costs nothing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._display: Any = connection.display  # extensions add their methods at run time
        self._damage = 0
        self._drawn = asyncio.Event()
        connection.listen(self._note)

    def begins(self) -> bool:
        if not self._is_possible():
            return False
        if not self._damage:
            self._display.damage_query_version()
            self._damage = self._connection.root.damage_create(damage.DamageReportNonEmpty)
        self._ask_again()
        return True

    def _is_possible(self) -> bool:
        """A compositor draws the screen itself, and not in a way that every server reports."""
        if not self._display.has_extension(damage.extname):
            return False
        compositor = self._connection.atom(f"_NET_WM_CM_S{self._display.get_default_screen()}")
        return bool(self._display.get_selection_owner(compositor) == X.NONE)

    async def drawn(self, limit_s: float) -> bool:
        self._connection.drain()
        try:
            async with asyncio.timeout(limit_s):
                await self._drawn.wait()
        except TimeoutError:
            return False
        self._ask_again()
        return True

    def _ask_again(self) -> None:
        self._drawn.clear()
        self._display.damage_subtract(self._damage)
        self._display.flush()

    def _note(self, event: Any) -> None:
        if self._damage and event.type == self._display.extension_event.DamageNotify:
            self._drawn.set()
