"""Captures as results: the picture for the model, the facts for the card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.geometry import Rect
from app.desktop.capture import Budget, Capture
from app.desktop.eyes import Spot
from app.desktop.locate import NotFound
from app.desktop.sameness import Changed
from app.desktop.seat import Seat
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, Media, ToolResult

_TITLE_CHARS = 80


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Sight:
    """How the model in use sees: the largest picture it reads unscaled, and whether it takes pictures at all."""

    budget: Budget = field(default_factory=Budget)
    takes_pictures: Callable[[], bool] = _always


async def to_point_in(seat: Seat, call: ToolCall, missing: NotFound, sight: Sight) -> ToolResult:
    """The last rung of looking for a thing: the model's own eyes, on the part of the screen where it should be.

    A failed result with a picture that points refer to from now on; `missing` itself is raised for models without eyes.
    """
    if not sight.takes_pictures():
        raise missing
    capture = await seat.eyes.capture(missing.area, "part of the screen where it should be", sight.budget)
    picture = shown(call, capture, f"{call.name}: {missing} Or point in this picture, by x and y, where you see it.")
    payload = {**picture.payload, "tag": call.name, "reason": str(missing)}
    return ToolResult(False, "tool_error", payload, picture.llm_echo, picture.llm_media)


async def to_look_anew(seat: Seat, call: ToolCall, changed: Changed, sight: Sight) -> ToolResult:
    """What is there now, for a model that acted on what was there before; raises `changed` for one without eyes."""
    if not sight.takes_pictures():
        raise changed
    capture = await seat.eyes.capture(seat.region_of(0, ""), "screen", sight.budget)
    picture = shown(call, capture, f"{call.name}: {changed} This is how it looks now.")
    payload = {**picture.payload, "tag": call.name, "reason": str(changed)}
    return ToolResult(False, "tool_error", payload, picture.llm_echo, picture.llm_media)


def region_in(seat: Seat, text: str, capture: str, space: str) -> Rect:
    """Screen pixels of `left,top,right,bottom` in a capture (right and bottom exclusive). ToolMisuse if it is none."""
    try:
        left, top, right, bottom = (float(part) for part in text.replace(",", " ").split())
    except ValueError:
        raise ToolMisuse(
            'A region is four numbers, as in region="100,50,400,300" (left, top, right, bottom).'
        ) from None
    if right - left < 1 or bottom - top < 1:
        raise ToolMisuse("The region is empty: right must be greater than left, and bottom greater than top.")
    start = seat.eyes.resolve(Spot(left, top, capture, space))
    end = seat.eyes.resolve(Spot(right - 1, bottom - 1, capture, space))
    return Rect(start.x, start.y, end.x - start.x + 1, end.y - start.y + 1)


def shown(call: ToolCall, capture: Capture, sentence: str = "") -> ToolResult:
    """A result with the picture for the model's next turn."""
    sent = capture.geometry.sent
    label = (
        f"Capture {capture.id} of the {capture.label}, {sent.width}x{sent.height}. {_told(capture)}{_hidden(capture)}"
    )
    media = Media(capture.data, capture.media_type, sent.width, sent.height, label)
    return ToolResult(True, call.name, payload_of(capture), f"{sentence} {label}".strip(), (media,))


def payload_of(capture: Capture) -> dict[str, JsonValue]:
    """What a card needs to show a capture."""
    geometry = capture.geometry
    return {
        "capture": capture.id,
        "label": capture.label,
        "width": geometry.sent.width,
        "height": geometry.sent.height,
        "region": [geometry.region.x, geometry.region.y, geometry.region.width, geometry.region.height],
    }


def _hidden(capture: Capture) -> str:
    if not capture.frame.hidden:
        return ""
    names = ", ".join(repr(clip_line(title, _TITLE_CHARS)) for title in capture.frame.hidden)
    return f" What is black there is private: {names}. The person does not want it seen."


def _told(capture: Capture) -> str:
    if capture.cursor is None:
        return "The pointer is outside of it."
    return f"The pointer is at ({capture.cursor[0]}, {capture.cursor[1]})."
