"""Tools that read what is on the screen and where, from the programs' accessibility data and by OCR."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from functools import partial
from string import Template
from typing import Any

from app.base import resources
from app.base.clipping import clip_line
from app.base.errors import ProviderError, ToolFailed, ToolMisuse
from app.base.facts import Named, ShownThing, ShownThings
from app.base.geometry import ModelSpace, Rect
from app.base.values import dataclass, replace
from app.desktop.accessibility.outline import line_of
from app.desktop.backends import Window
from app.desktop.capture import Capture, decoded
from app.desktop.controller import IN_FRONT, DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import Element, Outline, OutlineRequest, OutlineView
from app.desktop.screen_capture import Spot
from app.desktop.targets import Located, Locator, NotFound, Search
from app.protocol.call import JsonValue, Media, ToolCall, ToolResult
from app.protocol.spec import Effect, Gesture, Param, ScreenAim, ToolSpec, ValueType
from app.tools import acts
from app.tools.acts import ELEMENT, Act, element_as_json
from app.tools.pictures import (
    READING_TOKENS,
    ModelSight,
    Texts,
    in_words,
    region_in,
    shown,
    shown_thing,
    texts_between,
    texts_in,
    to_point_in,
    unread,
    with_changed_part,
)
from app.tools.registry import LOOKING, Family, TurnContext, from_elsewhere

_WINDOWS_READ = 3
_SHOWN_CHARS = 120
_CARD_LINES = 12
_CHARS_A_TOKEN = 4
_REF_FORM = re.compile(r"e\d+")
_MARKED = "marked"
"""The region that stands for the picture of what the person marked."""


class ScreenReading:
    """The handlers of the tools that read the screen as text. Each runs on the desktop thread.

    `sight` says what the present model can see.
    """

    def __init__(self, desktop: Desktop, sight: ModelSight | None = None) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()
        self._before: dict[tuple[str, ...], tuple[Element, ...]] = {}

    async def read_screen(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        if call.text("region") == _MARKED and self._sight.marked:
            return await self._desktop.run(_read_marked, call, self._sight.marked[-1])
        if not call.has("budget"):
            call = replace(call, arguments={**call.arguments, "budget": self._sight.reading_tokens})
        if call.has("region"):
            return await self._desktop.run(_read_region, call)
        return await self._desktop.run(_read, call, self._before)

    async def locate(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        try:
            return await self._desktop.run(_locate, call)
        except NotFound as missing:
            return await self._look_for(call, turn, missing)

    async def press(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_acted, acts.press, call, self._sight)

    async def set_value(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        act = partial(acts.set_value, admit=from_elsewhere(turn.admit))
        return await self._desktop.run(_acted, act, call, self._sight)

    async def _look_for(self, call: ToolCall, turn: TurnContext, missing: NotFound) -> ToolResult:
        """Ask the model for the place in a picture. A second look at the place must confirm it.

        Otherwise the result is a failure with the picture and up to three candidates. If the policy lets no picture
        out, or the model takes none, raise NotFound.
        """
        if not self._sight.takes_pictures():
            raise missing
        area, target = missing.area, call.text("target")
        region = f"{area.x},{area.y},{area.right},{area.bottom}"
        if refusal := await turn.admit(ToolCall(call.id, _PICTURE_STEP, {"region": region, "space": "screen"})):
            raise missing.with_hint(f"No picture of it may be taken: {refusal}")
        places: list[_Sighting] = []
        try:
            capture, picture = await self._desktop.run(_photographed, area, "label", self._sight)
            places = await _sightings(turn, target, picture)
            if places and self._sight.takes_pictures():
                crop = await self._desktop.run(_cropped, capture, places[0], self._sight)
                if await _is_confirmed(turn, target, crop):
                    return await self._desktop.run(_sighted, call, capture, places)
        except (ProviderError, ToolMisuse):
            pass  # because the model at work can still point in the picture itself
        if places:
            missing = missing.with_hint(_say("maybe", places="; ".join(place.told for place in places)))
        return await self._desktop.run(to_point_in, call, missing, self._sight)


_PICTURE_STEP = "look_at_screen"
"""The step by which the policy judges a picture that goes to the model beside the conversation."""
_CANDIDATES = 3
_AROUND_PX = 24
"""How far the second look reaches beyond the box, in screen pixels: a control is known by what surrounds it, too."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """Something that the model sees in a picture: its name, and its box in the picture's pixels."""

    name: str
    box: Rect

    @property
    def told(self) -> str:
        """Describe the sighting in a few words, with the middle of its box."""
        center = self.box.center
        return _say("place", name=repr(clip_line(self.name, _SHOWN_CHARS)), x=str(center.x), y=str(center.y))


def _say(sentence: str, **values: str) -> str:
    return Template(resources.table("prompts/sight.toml", dict[str, str])[sentence].strip()).substitute(values)


async def _sightings(turn: TurnContext, target: str, picture: Media) -> list[_Sighting]:
    """Ask the model where the target is in a picture. Boxes outside the picture, or of another form, do not count."""
    size = {"width": str(picture.width), "height": str(picture.height)}
    answer = _read_json(await turn.consult(_say("find"), _say("where", target=target, **size), (picture,)))
    places = answer.get("places")
    found = [_sighting(place, picture) for place in places] if isinstance(places, list) else []
    return [place for place in found if place][:_CANDIDATES]


def _sighting(place: Any, picture: Media) -> _Sighting | None:
    try:
        left, top, right, bottom = (round(float(edge)) for edge in place["box"])
        name = str(place["name"]).strip()
    except (TypeError, ValueError, KeyError, OverflowError):  # because a model may answer in any form
        return None
    whole = Rect(0, 0, picture.width, picture.height)
    box = Rect(left, top, right - left, bottom - top)
    is_inside = box.width > 0 and box.height > 0 and whole.overlap(box) == box
    return _Sighting(name, box) if name and is_inside else None


async def _is_confirmed(turn: TurnContext, target: str, crop: Media) -> bool:
    answer = _read_json(await turn.consult(_say("check"), _say("whether", target=target), (crop,)))
    return answer.get("same") is True and bool(str(answer.get("name") or "").strip())


def _read_json(text: str) -> dict[str, Any]:
    """The JSON object in a model's answer, also if words surround it; {} if there is none."""
    try:
        found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


async def _photographed(
    controller: DesktopController, area: Rect, label: str, sight: ModelSight
) -> tuple[Capture, Media]:
    """Capture an area for a question to the model. Points in later calls still refer to the capture before."""
    capture = await controller.screen_capture.capture(area, _say(label), sight.budget, is_glance=True)
    return capture, shown(ToolCall("", "", {}), capture).llm_media[0]


async def _cropped(controller: DesktopController, capture: Capture, place: _Sighting, sight: ModelSight) -> Media:
    """Capture a sighting and what surrounds it."""
    box = _on_screen(controller, capture, place)
    around = Rect(box.x - _AROUND_PX, box.y - _AROUND_PX, box.width + 2 * _AROUND_PX, box.height + 2 * _AROUND_PX)
    area = around.overlap(capture.geometry.region) or box
    return (await _photographed(controller, area, "crop", sight))[1]


def _on_screen(controller: DesktopController, capture: Capture, place: _Sighting) -> Rect:
    """In screen pixels."""
    box = place.box
    start = controller.screen_capture.resolve(Spot(box.x, box.y, capture.id))
    end = controller.screen_capture.resolve(Spot(box.right - 1, box.bottom - 1, capture.id))
    return Rect(start.x, start.y, end.x - start.x + 1, end.y - start.y + 1)


async def _sighted(
    controller: DesktopController, call: ToolCall, capture: Capture, places: Sequence[_Sighting]
) -> ToolResult:
    best, box = places[0], _on_screen(controller, capture, places[0])
    name, middle = clip_line(best.name, _SHOWN_CHARS), best.box.center
    others: list[JsonValue] = [place.told for place in places[1:]]
    less = " " + _say("others", places="; ".join(map(str, others))) if others else ""
    echo = _say("found", name=repr(name), x=str(middle.x), y=str(middle.y), capture=capture.id, others=less)
    payload: dict[str, JsonValue] = {
        "name": name,
        "box": [box.x, box.y, box.width, box.height],
        "x": box.center.x,
        "y": box.center.y,
        "how": "vision",
        "capture": capture.id,
        "runners_up": others,
    }
    return ToolResult(True, call.name, payload, echo)


async def _acted(controller: DesktopController, act: Act, call: ToolCall, sight: ModelSight) -> ToolResult:
    return await with_changed_part(controller, await act(controller, call), sight)


async def _locate(controller: DesktopController, call: ToolCall) -> ToolResult:
    area = controller.region_of(1, call.text("window")) if call.has("window") else None
    place = await Locator(controller.backend, controller.written, controller.screen_capture.model_space).locate(
        Search(call.text("target"), area=area)
    )
    space = controller.screen_capture.model_space()
    others = f" Less likely: {'; '.join(other.told(space) for other in place.runners_up)}." if place.runners_up else ""
    echo = (
        f"Found {place.told(space)} by {place.how} ({place.score:.2f}). "
        f'Click it with ref="{place.element.ref}".{others}'
    )
    return ToolResult(True, call.name, _place_as_json(place, space), echo)


async def _read_marked(controller: DesktopController, call: ToolCall, picture: Media) -> ToolResult:
    """Read the lines in the picture that the person marked, whatever stands on the screen by now."""
    frame = await asyncio.to_thread(decoded, picture.data)
    lines = await controller.ocr.read_text(frame)
    told = [
        f"t{number} writing {json.dumps(line.text, ensure_ascii=False)} ({line.box.x},{line.box.y}) in the picture"
        for number, line in enumerate(lines, 1)
    ]
    shown: list[JsonValue] = [clip_line(line.text, _SHOWN_CHARS) for line in lines[:_CARD_LINES]]
    payload: dict[str, JsonValue] = {"written": len(lines), "lines": shown}
    things = tuple(ShownThing(Named("", line.text), is_written=True) for line in lines)
    echo = "\n".join(told) or "Nothing is written in the marked part."
    return ToolResult(True, call.name, payload, echo, facts=(ShownThings(things),))


async def _read_region(controller: DesktopController, call: ToolCall) -> ToolResult:
    return await in_words(controller, call.name, region_in(controller, call.text("region"), "", "screen"))


async def _read(
    controller: DesktopController, call: ToolCall, earlier: dict[tuple[str, ...], tuple[Element, ...]]
) -> ToolResult:
    """Carry out read_screen. What OCR read is saved in `earlier`, by windows, so that view="diff" can compare."""
    view = OutlineView(call.text("view", OutlineView.INTERACTIVE.value))
    await controller.screen_capture.rest()
    query = call.text("query")
    if view is OutlineView.FIND and not query.strip():
        raise ToolMisuse('view="find" needs a query, as in query="Save".')
    if view is OutlineView.FIND and _REF_FORM.fullmatch(query.strip()) and (one := await _whole(controller, call)):
        return one
    request = OutlineRequest(
        view,
        query,
        _window_meant(controller, call.text("window")),
        call.integer("budget", READING_TOKENS),
        controller.screen_capture.model_space(),
    )
    outline, lost = await _outline(controller, request)
    windows = _unread(controller, outline, request)
    texts = await _texts(controller, outline, request, windows)
    if lost and not texts.elements:
        raise lost
    note = f"{lost} Only what is written is told." if lost else texts.note
    note = " ".join(filter(None, [note, _private(controller, request)]))
    read = tuple(window.ref for window in windows)
    written = (
        texts.since(earlier.get(read, ()), request.space) if view is OutlineView.DIFF else texts.lines(request.space)
    )
    earlier[read] = texts.elements
    told = outline.text.splitlines()
    lines = [*told, *written] if outline.elements else [*written, *told]
    found = len(outline.elements) + len(texts.elements)
    payload: dict[str, JsonValue] = {
        "view": view.value,
        "elements": len(outline.elements),
        "written": len(texts.elements),
        "lines": [clip_line(line, _SHOWN_CHARS) for line in lines[:_CARD_LINES]],
        "silent": list(outline.silent),
    }
    shown = (*map(shown_thing, outline.elements), *map(shown_thing, texts.elements))
    echo = _told(request, outline, lines, found, note)
    return ToolResult(True, call.name, payload, echo, facts=(ShownThings(shown),))


async def _whole(controller: DesktopController, call: ToolCall) -> ToolResult | None:
    """One element by its ref with all that it holds; None if no element has this ref."""
    tree = controller.backend.accessibility
    try:
        element = await tree.element(call.text("query").strip())
    except ToolMisuse:  # because it may be the name of something, such as a cell
        return None
    # On one line, so that no line of it is taken for an element.
    held = json.dumps(await tree.text_of(element.ref), ensure_ascii=False)
    room = call.integer("budget", READING_TOKENS) * _CHARS_A_TOKEN
    rest = f"\n[cut: {room} of {len(held)} characters; raise budget]" if len(held) > room else ""
    echo = f"{line_of(element, controller.screen_capture.model_space())}\nIt holds: {held[:room]}{rest}"
    return ToolResult(True, call.name, element_as_json(element) | {"lines": [clip_line(held, _SHOWN_CHARS)]}, echo)


def _window_meant(controller: DesktopController, wanted: str) -> str:
    """The title of the window that is named by its ref or as the active one; any other name as it is."""
    is_ref = any(window.ref == wanted for window in controller.backend.windows.all())
    return controller.find_window(wanted).title if is_ref or wanted.strip().lower() == IN_FRONT else wanted


async def _outline(controller: DesktopController, request: OutlineRequest) -> tuple[Outline, ToolFailed | None]:
    """What programs report. If they cannot be asked: an empty outline, and the error."""
    try:
        return await controller.backend.accessibility.outline(request), None
    except ToolFailed as lost:
        return Outline(""), lost


def _unread(controller: DesktopController, outline: Outline, request: OutlineRequest) -> list[Window]:
    """Windows to read by OCR, which report nothing: those that the request names, or the active one."""
    return [window for window in controller.written.mute(outline) if _is_looked_at(window, request)][:_WINDOWS_READ]


def _is_looked_at(window: Window, request: OutlineRequest) -> bool:
    return _is_meant(window, request) and (bool(request.window) or window.is_active)


def _is_meant(window: Window, request: OutlineRequest) -> bool:
    return request.window.casefold() in f"{window.title} {window.app}".casefold()


def _private(controller: DesktopController, request: OutlineRequest) -> str:
    """A note about windows that the request names but that are left out because they are private."""
    shown = (one for one in controller.backend.windows.all() if not one.is_own)
    hidden = [one for one in shown if controller.backend.is_private(one) and _is_meant(one, request)]
    names = ", ".join(repr(clip_line(window.title, _SHOWN_CHARS)) for window in hidden)
    return f"Left out because it is private: {names}." if hidden else ""


async def _texts(
    controller: DesktopController, outline: Outline, request: OutlineRequest, windows: Sequence[Window]
) -> Texts:
    """What OCR reads in windows that report nothing, or in large undescribed parts of others."""
    if request.view is OutlineView.FIND:
        found = (
            ()
            if outline.elements
            else await Locator(controller.backend, controller.written, controller.screen_capture.model_space).written(
                Search(request.query)
            )
        )
        return Texts(tuple(place.element for place in found))
    texts = await texts_in(controller, windows)
    mute = controller.written.mute(outline)
    meant = [one for one in controller.backend.windows.all() if _is_looked_at(one, request) and one not in mute]
    between = await texts_between(controller, outline, meant[:_WINDOWS_READ])
    texts = Texts((*texts.elements, *between.elements), texts.note or between.note)
    rest = [window for window in mute if window not in windows and _is_meant(window, request)]
    return texts if texts.note or not rest else Texts(texts.elements, unread(rest))


def _told(request: OutlineRequest, outline: Outline, lines: Sequence[str], found: int, note: str) -> str:
    parts = [f"{request.space.note}; act on elements by ref.", *lines] if lines else []
    if request.view is OutlineView.FIND and not found:
        parts.insert(0, f"Nothing fits {request.query!r}.")
    elif not lines:
        parts = ["No program tells what it shows."]
    if outline.left_out:
        parts.append(f"[{outline.left_out} more lines: raise budget, name a window, or use view=find with a query]")
    return "\n".join([*parts, *([note] if note else [])])


def _place_as_json(place: Located, space: ModelSpace) -> dict[str, JsonValue]:
    return element_as_json(place.element) | {
        "x": place.point.x,
        "y": place.point.y,
        "how": place.how,
        "score": round(place.score, 3),
        "runners_up": [clip_line(other.told(space), _SHOWN_CHARS) for other in place.runners_up],
    }


SCREEN = Family(
    ScreenReading,
    (
        ToolSpec(
            "read_screen",
            "List what programs show, each thing with a ref to act on. Exact and cheap; prefer it to pictures where "
            "names matter. Windows that tell nothing are read off the screen, with refs such as t3.",
            Effect.READS,
            ScreenReading.read_screen,
            attrs=(
                Param(
                    "view",
                    description="interactive: controls (the default), full: texts too, page: controls out of sight "
                    "too, find: what fits query, diff: what changed since the last reading",
                    choices=tuple(view.value for view in OutlineView),
                ),
                Param("query", description="a name; a ref: all of it"),
                Param("window", description="a title or program"),
                Param("region", description="left,top,right,bottom of the screen"),
                Param("budget", ValueType.INTEGER, "in tokens; 2000", minimum=100, maximum=20_000),
            ),
            examples=('<read_screen window="Calculator"/>', '<read_screen view="find" query="Save"/>'),
            taint="screen",
        ),
        ToolSpec(
            "locate_screen_element",
            "Find one thing by its name, its writing or at last its looks, also out of sight.",
            Effect.READS,
            ScreenReading.locate,
            attrs=(
                Param(
                    "target",
                    description="such as Save button, search field",
                    required=True,
                    aliases=("description", "element", "query", "name"),
                ),
                Param("window", description="only inside that window"),
            ),
            examples=('<locate_screen_element target="Save button"/>',),
            taint="screen",
            rare=LOOKING,
        ),
        ToolSpec(
            "press",
            "Operate an element without the mouse, also where another window covers it.",
            Effect.DESKTOP,
            ScreenReading.press,
            attrs=ELEMENT,
            examples=('<press ref="e12"/>',),
            aim=ScreenAim.ELEMENT,
            gesture=Gesture.PRESS,
            steps=("press", "choose", "page_press"),
        ),
        ToolSpec(
            "set_value",
            "Give a field, a slider, a list or a box a value, in place of what it held, without typing.",
            Effect.DESKTOP,
            ScreenReading.set_value,
            attrs=ELEMENT,
            body=Param("value", description="text, number, on or off", required=True, short=False, aliases=("text",)),
            examples=('<set_value ref="e7">report.txt</set_value>',),
            aim=ScreenAim.ELEMENT,
            gesture=Gesture.SET,
            typed="value",
            steps=("set_value", "page_value"),
        ),
    ),
)
