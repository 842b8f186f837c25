"""The screen in words: what programs tell, and what is written in the windows that tell nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.base.geometry import Rect
from app.desktop.accessibility.outline import line_of
from app.desktop.api import Window
from app.desktop.elements import Element, Outline, OutlineRequest, View
from app.desktop.seat import Seat
from app.protocol.result import JsonValue, ToolResult

_EVERYTHING = 100_000
"""Tokens: an outline that leaves nothing out."""
_MOST_CHARS = 12_000
_SHOWN_CHARS = 120
_CARD_LINES = 12
_ABOUT = (
    "The screen in words, since you take no pictures. Boxes are (x,y,width,height) in screen pixels; "
    'act on elements by ref, or at a point with space="screen".'
)


@dataclass(frozen=True, slots=True)
class Texts:
    """What was read off windows; `note` says of which windows nothing is known, and why."""

    elements: tuple[Element, ...] = ()
    note: str = ""

    @property
    def lines(self) -> list[str]:
        return [line_of(element) for element in self.elements]

    def since(self, before: Sequence[Element]) -> list[str]:
        """What came and what went, as outlines tell it."""
        known, now = {element.ref for element in before}, {element.ref for element in self.elements}
        came = [f"+ {line_of(element)}" for element in self.elements if element.ref not in known]
        return came + [f"- {line_of(element)}" for element in before if element.ref not in now]


async def everything(seat: Seat) -> Outline:
    """All that programs tell of themselves; nothing where there is nobody to ask."""
    try:
        return await seat.backend.accessibility.outline(OutlineRequest(View.FULL, budget=_EVERYTHING))
    except ToolFailed:
        return Outline("")


async def texts_in(seat: Seat, windows: Sequence[Window], area: Rect | None = None) -> Texts:
    """What is written in windows, or in the part of them that lies in an area."""
    found: list[Element] = []
    for place, window in enumerate(windows):
        try:
            found += await seat.written.inside(window, area)
        except ToolFailed as error:
            return Texts(tuple(found), f"Nothing is known of what is inside {_titles(windows[place:])}: {error}")
    return Texts(tuple(found))


def unread(windows: Sequence[Window]) -> str:
    """A note on windows that tell nothing and were not read."""
    if not windows:
        return ""
    return f"Nothing is told of what is inside {_titles(windows)}: name one in window, and its text is read."


async def in_words(seat: Seat, tool: str, region: Rect) -> ToolResult:
    """What shows in a region of the screen, clipped to a budget."""
    outline = await everything(seat)
    inside = [element for element in outline.elements if region.contains(element.box.center)]
    mute = [window for window in seat.written.mute(outline) if window.area.overlap(region)]
    written = await texts_in(seat, mute, region)
    lines = [*map(line_of, inside), *written.lines]
    kept = _within(lines)
    notes = [f"[{len(lines) - len(kept)} more lines: choose a window or a region]"] if len(kept) < len(lines) else []
    notes += [written.note] if written.note else []
    notes += [] if lines or written.note else ["Nothing is told or written there."]
    shown: list[JsonValue] = [clip_line(line, _SHOWN_CHARS) for line in lines[:_CARD_LINES]]
    payload: dict[str, JsonValue] = {"elements": len(inside), "written": len(written.elements), "lines": shown}
    return ToolResult(True, tool, payload, "\n".join([_ABOUT, *kept, *notes]))


def _titles(windows: Sequence[Window]) -> str:
    return ", ".join(json.dumps(clip_line(window.title, _SHOWN_CHARS), ensure_ascii=False) for window in windows)


def _within(lines: Sequence[str]) -> Sequence[str]:
    """As many as the budget allows."""
    left = _MOST_CHARS
    for count, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            return lines[:count]
    return lines
