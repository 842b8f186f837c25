"""Read what is on the screen and where, from the programs' accessibility data and by OCR."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import ModelSpace
from app.base.texts import clip_line
from app.desktop.backends import Window
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.elements import Element, Outline, OutlineRequest, OutlineView
from app.desktop.targets import Located, Locator, NotFound, Search
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Gesture, Param, ScreenAim, ToolSpec, ValueType
from app.tools import acts
from app.tools.acts import Act, element_as_json
from app.tools.pictures import ModelSight, Texts, texts_between, texts_in, to_point_in, unread, with_changed_part
from app.tools.registry import Family, TurnContext, from_elsewhere

_BUDGET = 2000
_WINDOWS_READ = 3
_SHOWN_CHARS = 120
_CARD_LINES = 12


class ScreenReading:
    """The handlers of these tools. Each runs on the desktop thread. `sight` says how the model in use sees."""

    def __init__(self, desktop: Desktop, sight: ModelSight | None = None) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()
        self._before: dict[tuple[str, ...], tuple[Element, ...]] = {}

    async def read_screen(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_read, call, self._before)

    async def locate(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_locate, call, self._sight)

    async def press(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_acted, acts.press, call, self._sight)

    async def set_value(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        act = partial(acts.set_value, admit=from_elsewhere(turn.admit))
        return await self._desktop.run(_acted, act, call, self._sight)


async def _acted(controller: DesktopController, act: Act, call: ToolCall, sight: ModelSight) -> ToolResult:
    return await with_changed_part(controller, await act(controller, call), sight)


async def _locate(controller: DesktopController, call: ToolCall, sight: ModelSight) -> ToolResult:
    area = controller.region_of(1, call.text("window")) if call.has("window") else None
    try:
        place = await Locator(controller.backend, controller.written, controller.screen_capture.model_space).locate(
            Search(call.text("target"), area=area)
        )
    except NotFound as missing:
        return await to_point_in(controller, call, missing, sight)
    space = controller.screen_capture.model_space()
    others = f" Less likely: {'; '.join(other.told(space) for other in place.runners_up)}." if place.runners_up else ""
    echo = (
        f"Found {place.told(space)} by {place.how} ({place.score:.2f}). "
        f'Click it with ref="{place.element.ref}".{others}'
    )
    return ToolResult(True, call.name, _place_as_json(place, space), echo)


async def _read(
    controller: DesktopController, call: ToolCall, earlier: dict[tuple[str, ...], tuple[Element, ...]]
) -> ToolResult:
    """Answer read_screen. Keep in `earlier` what OCR read in which windows, so that view="diff" can compare."""
    view = OutlineView(call.text("view", OutlineView.INTERACTIVE.value))
    await controller.screen_capture.rest()
    query = call.text("query")
    if view is OutlineView.FIND and not query.strip():
        raise ToolMisuse('view="find" needs a query, as in query="Save".')
    request = OutlineRequest(
        view, query, call.text("window"), call.integer("budget", _BUDGET), controller.screen_capture.model_space()
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
    lines = [*outline.text.splitlines(), *written]
    payload: dict[str, JsonValue] = {
        "view": view.value,
        "elements": len(outline.elements),
        "written": len(texts.elements),
        "lines": [clip_line(line, _SHOWN_CHARS) for line in lines[:_CARD_LINES]],
        "silent": list(outline.silent),
    }
    return ToolResult(True, call.name, payload, _told(request, outline, lines, note))


async def _outline(controller: DesktopController, request: OutlineRequest) -> tuple[Outline, ToolFailed | None]:
    """Return what programs report, and the error if they cannot be asked."""
    try:
        return await controller.backend.accessibility.outline(request), None
    except ToolFailed as lost:
        return Outline(""), lost


def _unread(controller: DesktopController, outline: Outline, request: OutlineRequest) -> list[Window]:
    """Return the silent windows to read: those that the request names, otherwise the active one."""
    return [window for window in controller.written.mute(outline) if _is_looked_at(window, request)][:_WINDOWS_READ]


def _is_looked_at(window: Window, request: OutlineRequest) -> bool:
    return _is_meant(window, request) and (bool(request.window) or window.is_active)


def _is_meant(window: Window, request: OutlineRequest) -> bool:
    return request.window.casefold() in f"{window.title} {window.app}".casefold()


def _private(controller: DesktopController, request: OutlineRequest) -> str:
    """Return a note about windows that the request names but that are left out because they are private."""
    hidden = [w for w in controller.backend.windows.all() if controller.backend.is_private(w) and _is_meant(w, request)]
    names = ", ".join(repr(clip_line(window.title, _SHOWN_CHARS)) for window in hidden)
    return f"Left out because it is private: {names}." if hidden else ""


async def _texts(
    controller: DesktopController, outline: Outline, request: OutlineRequest, windows: Sequence[Window]
) -> Texts:
    """Return the text in windows that report nothing, or in large silent parts of them."""
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


def _told(request: OutlineRequest, outline: Outline, lines: Sequence[str], note: str) -> str:
    parts = [f"{request.space.note}; act on elements by ref.", *lines]
    if not lines:
        parts = [f"Nothing fits {request.query!r}." if request.query else "No program tells what it shows."]
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


_REF = Param("ref", description="the element's ref, such as e12", required=True)

SCREEN = Family(
    ScreenReading,
    (
        ToolSpec(
            "read_screen",
            "List what programs show: buttons, fields, menus and texts, each with a ref to act on. Exact and cheap; "
            "prefer it to a picture where names matter. Text of windows that tell nothing is read off the screen, with "
            "refs such as t3 to click.",
            Effect.READS,
            ScreenReading.read_screen,
            attrs=(
                Param(
                    "view",
                    description="interactive (controls; the default), full (texts too), page (controls out of "
                    "sight too), find (only what fits query), diff (what changed since the last reading)",
                    choices=tuple(view.value for view in OutlineView),
                ),
                Param("query", description="what to find"),
                Param("window", description="only windows or programs called that"),
                Param("budget", ValueType.INTEGER, "tokens the listing may take; 2000", minimum=100, maximum=20_000),
            ),
            examples=('<read_screen window="Calculator"/>', '<read_screen view="find" query="Save"/>'),
            taint="screen",
        ),
        ToolSpec(
            "locate_screen_element",
            "Find one thing on the screen by what it is called or what is written on it. It looks into programs that "
            "read_screen cannot see into, too. Scrolls a page to it where it stands further down.",
            Effect.READS,
            ScreenReading.locate,
            attrs=(
                Param(
                    "target",
                    description="such as Save button, search field, File menu",
                    required=True,
                    aliases=("description", "element", "query", "name"),
                ),
                Param("window", description="only inside that window"),
            ),
            examples=('<locate_screen_element target="Save button"/>',),
            taint="screen",
        ),
        ToolSpec(
            "press",
            "Operate an element by its ref without the mouse; works also where another window covers it.",
            Effect.DESKTOP,
            ScreenReading.press,
            attrs=(_REF,),
            examples=('<press ref="e12"/>',),
            aim=ScreenAim.ELEMENT,
            gesture=Gesture.PRESS,
            steps=("press", "choose", "page_press"),
        ),
        ToolSpec(
            "set_value",
            "Put a text into a field, or a slider to a number, by ref and without typing. Replaces what it held.",
            Effect.DESKTOP,
            ScreenReading.set_value,
            attrs=(_REF,),
            body=Param("value", description="the text or number", required=True, short=False, aliases=("text",)),
            examples=('<set_value ref="e7">report.txt</set_value>',),
            aim=ScreenAim.ELEMENT,
            gesture=Gesture.SET,
            typed="value",
            steps=("set_value", "page_value"),
        ),
    ),
)
