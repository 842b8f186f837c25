"""Turn captures into results: the picture for the model, the data for the card."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Fact, Named, ShownThing, ShownThings
from app.base.geometry import ModelSpace, Rect
from app.base.values import dataclass, field, replace
from app.desktop.accessibility.outline import COVERED, line_of
from app.desktop.backends import Window
from app.desktop.capture import Capture, PictureBudget, is_black
from app.desktop.controller import DesktopController
from app.desktop.elements import Element, Outline, OutlineRequest, OutlineView
from app.desktop.ocr.elements import SIZEABLE, is_written
from app.desktop.screen_capture import Spot
from app.desktop.staleness import TargetChanged
from app.desktop.targets import NotFound
from app.desktop.verification import window_changes
from app.protocol.call import CHANGED_PART, MARKED_PART, JsonValue, Media, ToolCall, ToolResult
from app.protocol.spec import Param

_TITLE_CHARS = 80
READING_TOKENS = 2000


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ModelSight:
    """What the present model can see: the largest picture that it reads unscaled, and whether it takes pictures.

    One that `prefers_text` gets pictures only where it asks for them. A reading of the screen has `reading_tokens`,
    where the model gives no budget.
    """

    budget: PictureBudget = field(default_factory=PictureBudget)
    takes_pictures: Callable[[], bool] = _always
    prefers_text: bool = False
    reading_tokens: int = READING_TOKENS
    marked: list[Media] = field(default_factory=list)
    """The part of the screen that the person marked last, as a picture; empty if there is none."""

    @property
    def shows_unasked(self) -> bool:
        """Whether a result may bring a picture that the model did not ask for."""
        return self.takes_pictures() and not self.prefers_text

    def note_marked(self, media: Sequence[Media]) -> None:
        """Keep the last of these pictures that shows a marked part of the screen, if any does."""
        self.marked[:] = [one for one in media if one.label == MARKED_PART][-1:] or self.marked


async def to_point_in(
    controller: DesktopController, call: ToolCall, missing: NotFound, sight: ModelSight
) -> ToolResult:
    """Return a failed result with a picture of the part of the screen where the target should be.

    This is the last way to find a target: the model can point into the picture. If the model gets no picture unasked,
    raise `missing`.
    """
    if not sight.shows_unasked:
        raise missing
    capture = await controller.screen_capture.capture(
        missing.area, "part of the screen where it should be", sight.budget
    )
    picture = shown(call, capture, f"{call.name}: {missing} Or point in this picture, by x and y, where you see it.")
    payload = {**picture.payload, "tag": call.name, "reason": str(missing)}
    facts = (*missing.facts, missing.why)
    return ToolResult(False, "tool_error", payload, picture.llm_echo, picture.llm_media, facts=facts)


async def to_look_anew(
    controller: DesktopController, call: ToolCall, changed: TargetChanged, sight: ModelSight
) -> ToolResult:
    """Return a picture of the present screen: the model acted on an older one, which no longer fits.

    If the model gets no picture unasked, raise `changed`.
    """
    if not sight.shows_unasked:
        raise changed
    capture = await controller.screen_capture.capture(controller.region_of(0, ""), "screen", sight.budget)
    picture = shown(call, capture, f"{call.name}: {changed} This is how it looks now.")
    payload = {**picture.payload, "tag": call.name, "reason": str(changed)}
    return ToolResult(False, "tool_error", payload, picture.llm_echo, picture.llm_media, facts=(changed.why,))


async def with_changed_part(controller: DesktopController, result: ToolResult, sight: ModelSight) -> ToolResult:
    """Add a picture of the changed part of the screen to the result, if no program described the change.

    For a model that gets no picture unasked, add the text in that part.
    """
    part = result.payload.get(CHANGED_PART)
    if not isinstance(part, (list, tuple)):
        return result
    told = Rect(*(int(number) for number in part if isinstance(number, int)))
    area = told.overlap(controller.backend.screen.extent()) or told
    if not sight.shows_unasked:
        under = [window for window in controller.backend.windows.all() if window.area.contains(area.center)][:1]
        texts = [
            clip_line(element.name, _SHOWN_CHARS) for element in (await texts_in(controller, under, area)).elements
        ]
        written = clip_line("; ".join(json.dumps(text, ensure_ascii=False) for text in texts), _WRITTEN_CHARS)
        return replace(result, llm_echo=f"{result.llm_echo} Written there now: {written}.") if written else result
    try:
        capture = await controller.screen_capture.capture(area, "part that changed", sight.budget, is_glance=True)
    except ToolFailed as error:  # because the act was carried out, whatever became of the picture
        return replace(result, llm_echo=f"{result.llm_echo} What changed could not be seen: {error}")
    if is_black(capture.pixels) and not capture.pixels.hidden:  # because an empty desktop tells nothing
        return replace(result, llm_echo=f"{result.llm_echo} What is there now is black.")
    picture = shown(ToolCall("", result.event, {}), capture)
    echo = f'{result.llm_echo} {picture.llm_echo} To point in it, add capture="{capture.id}".'
    return replace(result, llm_echo=echo, llm_media=picture.llm_media)


def window_changes_since(controller: DesktopController, before: tuple[Window, ...]) -> tuple[Fact, ...]:
    after = controller.backend.windows.all()
    hidden = {window.ref for window in (*before, *after) if window.is_own or controller.backend.is_private(window)}
    old, new = ([w for w in windows if w.ref not in hidden] for windows in (before, after))
    return tuple(change.fact for change in window_changes(old, new, None))


CAPTURE = Param("capture", description="id of the capture that the pixels are of; the newest if left out")
SPACE = Param("space", description="the pixels are the screen's own", choices=("screen",))
"""The arguments that say what coordinates are measured in."""


def region_in(controller: DesktopController, text: str, capture: str, space: str) -> Rect:
    """Return the screen pixels of `left,top,right,bottom` in a capture. Raise ToolMisuse for an invalid region.

    Right and bottom are exclusive.
    """
    try:
        left, top, right, bottom = (float(part) for part in text.replace(",", " ").split())
    except ValueError:
        raise ToolMisuse(
            'A region is four numbers, as in region="100,50,400,300" (left, top, right, bottom).'
        ) from None
    if right - left < 1 or bottom - top < 1:
        raise ToolMisuse("The region is empty: right must be greater than left, and bottom greater than top.")
    start = controller.screen_capture.resolve(Spot(left, top, capture, space))
    end = controller.screen_capture.resolve(Spot(right - 1, bottom - 1, capture, space))
    return Rect(start.x, start.y, end.x - start.x + 1, end.y - start.y + 1)


def shown(call: ToolCall, capture: Capture, sentence: str = "") -> ToolResult:
    """Return a result with the picture for the model's next turn."""
    sent = capture.geometry.sent
    label = (
        f"Capture {capture.id} of the {capture.label}, {sent.width}x{sent.height}. {_told(capture)}{_hidden(capture)}"
    )
    media = Media(capture.data, capture.media_type, sent.width, sent.height, label)
    return ToolResult(True, call.name, payload_of(capture), f"{sentence} {label}".strip(), (media,))


def payload_of(capture: Capture) -> dict[str, JsonValue]:
    geometry = capture.geometry
    return {
        "capture": capture.id,
        "label": capture.label,
        "width": geometry.sent.width,
        "height": geometry.sent.height,
        "region": [geometry.region.x, geometry.region.y, geometry.region.width, geometry.region.height],
    }


def _hidden(capture: Capture) -> str:
    if not capture.pixels.hidden:
        return ""
    names = ", ".join(repr(clip_line(title, _TITLE_CHARS)) for title in capture.pixels.hidden)
    return f" What is black there is private: {names}. The person does not want it seen."


def _told(capture: Capture) -> str:
    if capture.cursor is None:
        return "The pointer is outside of it."
    return f"The pointer is at ({capture.cursor[0]}, {capture.cursor[1]})."


_EVERYTHING = 100_000
"""A budget in tokens that is large enough for every line."""
_MOST_CHARS = 12_000
_SHOWN_CHARS = 120
_CARD_LINES = 12
_WRITTEN_CHARS = 900
_NO_CONTROLS = "No program tells what it shows there."
_ABOUT = "The screen in words, since you take no pictures."


@dataclass(frozen=True, slots=True)
class Texts:
    """What OCR read in windows; `note` says which windows could not be read, and why."""

    elements: tuple[Element, ...] = ()
    note: str = ""

    def lines(self, space: ModelSpace) -> list[str]:
        return [line_of(element, space) for element in self.elements]

    def since(self, before: Sequence[Element], space: ModelSpace) -> list[str]:
        """Return the lines that appeared or disappeared since `before`, written as in outlines."""
        known, now = {element.ref for element in before}, {element.ref for element in self.elements}
        came = [f"+ {line_of(element, space)}" for element in self.elements if element.ref not in known]
        return came + [f"- {line_of(element, space)}" for element in before if element.ref not in now]


async def everything(controller: DesktopController) -> Outline:
    """Return the full accessibility outline, or an empty one if the accessibility bus does not answer."""
    try:
        return await controller.backend.accessibility.outline(OutlineRequest(OutlineView.FULL, budget=_EVERYTHING))
    except ToolFailed:
        return Outline("")


async def texts_in(controller: DesktopController, windows: Sequence[Window], area: Rect | None = None) -> Texts:
    return await _read([(window, area) for window in windows], controller)


async def texts_between(controller: DesktopController, outline: Outline, windows: Sequence[Window]) -> Texts:
    """Return the text in those large parts of windows that their programs do not describe."""
    parts = [
        (window, part)
        for window in windows
        for part in await controller.written.silent_parts(window, outline, SIZEABLE)
    ]
    return await _read(parts, controller)


async def _read(parts: Sequence[tuple[Window, Rect | None]], controller: DesktopController) -> Texts:
    """Each line once."""
    found: dict[str, Element] = {}
    for place, (window, part) in enumerate(parts):
        try:
            found |= {element.ref: element for element in await controller.written.inside(window, part)}
        except ToolFailed as error:
            lost = [window for window, _ in parts[place:]]
            return Texts(tuple(found.values()), f"Nothing is known of what is inside {_titles(lost)}: {error}")
    return Texts(tuple(found.values()))


def unread(windows: Sequence[Window]) -> str:
    """Return a note on windows whose programs report nothing and that OCR did not read."""
    if not windows:
        return ""
    return f"Nothing is told of what is inside {_titles(windows)}: name one in window, and its text is read."


async def in_words(controller: DesktopController, tool: str, region: Rect) -> ToolResult:
    """The visible text in a region of the screen, cut to a budget."""
    outline = await everything(controller)
    inside = [element for element in outline.elements if region.contains(element.box.center)]
    mute = [window for window in controller.written.mute(outline) if window.area.overlap(region)]
    others = [
        window for window in controller.backend.windows.all() if window not in mute and window.area.overlap(region)
    ]
    between = [
        one for one in (await texts_between(controller, outline, others)).elements if region.contains(one.box.center)
    ]
    written = await texts_in(controller, mute, region)
    written = Texts((*written.elements, *between), written.note)
    space = controller.screen_capture.model_space()
    lines = [*(line_of(element, space) for element in inside), *written.lines(space)]
    kept = _within(lines)
    about = f"{_ABOUT} {space.note}; act on elements by ref, or at a point."
    notes = [f"[{len(lines) - len(kept)} more lines: choose a window or a region]"] if len(kept) < len(lines) else []
    notes += [written.note] if written.note else []
    notes += [] if lines or written.note else ["Nothing is told or written there."]
    shown: list[JsonValue] = [clip_line(line, _SHOWN_CHARS) for line in lines[:_CARD_LINES]]
    payload: dict[str, JsonValue] = {"elements": len(inside), "written": len(written.elements), "lines": shown}
    things = tuple(map(shown_thing, (*inside, *written.elements)))
    return ToolResult(True, tool, payload, "\n".join([about, *kept, *notes]), facts=(ShownThings(things),))


async def controls_in(controller: DesktopController, region: Rect) -> str:
    """One control a line, with the refs of read_screen."""
    space = controller.screen_capture.model_space()
    try:
        outline = await controller.backend.accessibility.outline(OutlineRequest(budget=_EVERYTHING, space=space))
    except ToolFailed as lost:  # because the picture is there all the same
        return str(lost)
    inside = [one for one in outline.elements if region.contains(one.box.center) and not one.is_(COVERED)]
    lines = [line_of(one, space) for one in inside]
    kept = _within(lines)
    rest = [f"[{len(lines) - len(kept)} more lines: choose a window or a region]"] if len(kept) < len(lines) else []
    return "\n".join([f"{space.note}; act on elements by ref.", *kept, *rest]) if lines else _NO_CONTROLS


def shown_thing(element: Element) -> ShownThing:
    named = Named(element.role, element.name)
    return ShownThing(named, element.value, is_written=is_written(element.ref), is_covered=element.is_(COVERED))


def _titles(windows: Sequence[Window]) -> str:
    return ", ".join(json.dumps(clip_line(window.title, _SHOWN_CHARS), ensure_ascii=False) for window in windows)


def _within(lines: Sequence[str]) -> Sequence[str]:
    left = _MOST_CHARS
    for count, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            return lines[:count]
    return lines
