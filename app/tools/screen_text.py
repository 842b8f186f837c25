"""The screen in words, for models that take no pictures: what programs tell, and what is written in the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.accessibility.outline import line_of
from app.desktop.api import Window
from app.desktop.elements import Element, OutlineRequest, View
from app.desktop.ocr.api import Ocr
from app.desktop.seat import Seat
from app.protocol.result import JsonValue, ToolResult

_EVERYTHING = 100_000
"""Tokens: an outline that leaves nothing out, since the region is chosen afterwards."""
_MOST_CHARS = 12_000
_LINE_CHARS = 200
_SHOWN_CHARS = 120
_CARD_LINES = 12
_ABOUT = (
    "The screen in words, since you take no pictures. Boxes are (x,y,width,height) in screen pixels; "
    'act on elements by ref, or at a point with space="screen".'
)


class ScreenText:
    """`is_wanted` tells whether the model in use needs words now; it may be found out while a session runs."""

    def __init__(self, ocr: Ocr, is_wanted: Callable[[], bool]) -> None:
        self._ocr = ocr
        self.is_wanted = is_wanted

    async def told(self, seat: Seat, tool: str, region: Rect) -> ToolResult:
        """What shows in a region of the screen, clipped to a budget. Runs on the desktop thread."""
        outline = await seat.backend.accessibility.outline(OutlineRequest(View.FULL, budget=_EVERYTHING))
        inside = [element for element in outline.elements if region.contains(element.box.center)]
        mute = _mute(seat, outline.elements, region)
        written, unread = await self._written(seat, mute, inside, region)
        lines = [*(line_of(element) for element in inside), *written]
        kept = _within(lines)
        notes = (
            [f"[{len(lines) - len(kept)} more lines: choose a window or a region]"] if len(kept) < len(lines) else []
        )
        notes += [unread] if unread else []
        notes += [] if lines or unread else ["Nothing is told or written there."]
        shown: list[JsonValue] = [clip_line(line, _SHOWN_CHARS) for line in lines[:_CARD_LINES]]
        payload: dict[str, JsonValue] = {"elements": len(inside), "written": len(written), "lines": shown}
        return ToolResult(True, tool, payload, "\n".join([_ABOUT, *kept, *notes]))

    async def _written(
        self, seat: Seat, mute: Sequence[Window], known: Sequence[Element], region: Rect
    ) -> tuple[list[str], str]:
        """What stands in windows that tell nothing, and a note where that cannot be read."""
        if not mute:
            return [], ""
        try:
            lines = await self._ocr.read_text(await seat.eyes.frame(region))
        except ToolFailed as error:
            names = ", ".join(json.dumps(clip_line(window.title, _SHOWN_CHARS), ensure_ascii=False) for window in mute)
            return [], f"Nothing is known of what is inside {names}: {error}"
        mine = [line for line in lines if any(window.area.contains(line.box.center) for window in mute)]
        new = [line for line in mine if not any(element.box.contains(line.box.center) for element in known)]
        return [
            f"text {json.dumps(clip_line(line.text, _LINE_CHARS), ensure_ascii=False)} {_box(line.box)}" for line in new
        ], ""


def _mute(seat: Seat, elements: Sequence[Element], region: Rect) -> list[Window]:
    """Windows in the region of which no element is known."""
    known = {element.window for element in elements} | {element.app for element in elements}
    open_ones = (window for window in seat.backend.windows.all() if not window.is_minimised)
    return [window for window in open_ones if window.title not in known and window.area.overlap(region)]


def _box(box: Rect) -> str:
    return f"({box.x},{box.y},{box.width},{box.height})"


def _within(lines: Sequence[str]) -> Sequence[str]:
    """As many as the budget allows."""
    left = _MOST_CHARS
    for count, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            return lines[:count]
    return lines
