"""Windows of other programs, through System Events; the person grants that once, under Accessibility."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from app.base.errors import ToolFailed
from app.base.geometry import Point, Rect
from app.base.paths import resources
from app.desktop.api import Frame, Landing, Window, landing
from app.desktop.portable.commands import output_of

_POLL_S = 0.05


class MacWindows:
    """`all` is what the last look found; every action looks again first. Titles are the refs' second half."""

    def __init__(self) -> None:
        self._seen: tuple[Window, ...] = ()

    def all(self) -> tuple[Window, ...]:
        return self._seen

    async def look(self) -> tuple[Window, ...]:
        """Ask the system anew."""
        told = json.loads(await _ask("list"))
        self._seen = tuple(
            Window(
                ref=f"w{entry['pid']}.{entry['index']}",
                title=entry["title"],
                app=entry["app"],
                area=Rect(*entry["area"]),
                pid=entry["pid"],
                is_active=entry["active"],
                is_minimised=entry["minimised"],
            )
            for entry in told
        )
        return self._seen

    def shown(self) -> tuple[Window, ...]:
        return tuple(window for window in self.all() if not window.is_minimised)

    def keyboard(self) -> Landing:
        return landing(self.shown())

    def under(self, point: Point) -> Landing:
        return landing(self.shown(), point)

    async def focus(self, ref: str) -> Window:
        await self._do("focus", ref)
        return await self._find(ref)

    async def close(self, ref: str) -> bool:
        await self._do("close", ref)
        return all(window.ref != ref for window in await self.look())

    async def place(self, ref: str, area: Rect) -> Window:
        await self._do("place", ref, str(area.x), str(area.y), str(area.width), str(area.height))
        return replace(await self._find(ref), area=area)

    async def minimise(self, ref: str) -> None:
        await self._do("minimise", ref)

    async def answers(self, ref: str, limit_s: float) -> bool:  # noqa: ARG002 - macOS does not tell
        return False

    async def picture(self, ref: str) -> Frame | None:  # noqa: ARG002
        return None

    async def arranged(self, limit_s: float) -> bool:  # noqa: ARG002
        return True

    async def changed(self, limit_s: float) -> None:
        before = self._seen
        limit = asyncio.get_running_loop().time() + limit_s
        while await self.look() == before and asyncio.get_running_loop().time() < limit:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(_POLL_S)

    async def _find(self, ref: str) -> Window:
        found = next((window for window in await self.look() if window.ref == ref), None)
        if found is None:
            raise ToolFailed("That window is gone; list_windows shows what is there.")
        return found

    async def _do(self, action: str, ref: str, *more: str) -> None:
        window = await self._find(ref)
        await _ask(action, str(window.pid), ref.partition(".")[2], *more)


async def _ask(*words: str) -> str:
    script = resources() / "desktop" / "macos-windows.js"
    return await output_of("osascript", "-l", "JavaScript", str(script), *words)
