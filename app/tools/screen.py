"""What stands on the screen and where: by what programs say of themselves, and by what is written there."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.errors import ToolFailed, ToolMisuse
from app.base.geometry import ModelSpace, Rect
from app.base.texts import clip_line
from app.desktop.backends import Window
from app.desktop.controller import DesktopController, Proving
from app.desktop.desktop import Desktop
from app.desktop.elements import SECRET, Element, Outline, OutlineRequest, OutlineView, TakesNoValue
from app.desktop.input import Press
from app.desktop.keys import chord
from app.desktop.ocr.elements import is_written
from app.desktop.targets import Located, Locator, NotFound, Search
from app.desktop.verification import Proof, of_click, of_setting
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec, ValueType
from app.tools.pictures import ModelSight, Texts, texts_between, texts_in, to_point_in, unread
from app.tools.registry import Family, TurnContext

_BUDGET = 2000
_WINDOWS_READ = 3
_SHOWN_CHARS = 120
_CARD_LINES = 12
_LEAVING = "\n\r\t"
_OPENING_S = 1.0
_LOOK_AGAIN_S = 0.1


class ScreenReading:
    """Handlers; each hops to the desktop thread. `sight` is how the model in use sees."""

    def __init__(self, desktop: Desktop, sight: ModelSight | None = None) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()
        self._before: dict[tuple[str, ...], tuple[Element, ...]] = {}

    async def read_screen(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_read, call, self._before)

    async def locate(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_locate, call, self._sight)

    async def press(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_press, call)

    async def set_value(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_set_value, call)


async def _locate(seat: DesktopController, call: ToolCall, sight: ModelSight) -> ToolResult:
    area = seat.region_of(1, call.text("window")) if call.has("window") else None
    try:
        place = await Locator(seat.backend, seat.written, seat.eyes.model_space).locate(
            Search(call.text("target"), area=area)
        )
    except NotFound as missing:
        return await to_point_in(seat, call, missing, sight)
    space = seat.eyes.model_space()
    others = f" Less likely: {'; '.join(other.told(space) for other in place.runners_up)}." if place.runners_up else ""
    echo = (
        f"Found {place.told(space)} by {place.how} ({place.score:.2f}). "
        f'Click it with ref="{place.element.ref}".{others}'
    )
    return ToolResult(True, call.name, _place_as_json(place, space), echo)


async def _read(
    seat: DesktopController, call: ToolCall, told: dict[tuple[str, ...], tuple[Element, ...]]
) -> ToolResult:
    """Read the screen. `told` holds the OCR texts of earlier results, by the windows that were read."""
    view = OutlineView(call.text("view", OutlineView.INTERACTIVE.value))
    await seat.eyes.rest()
    query = call.text("query")
    if view is OutlineView.FIND and not query.strip():
        raise ToolMisuse('view="find" needs a query, as in query="Save".')
    request = OutlineRequest(view, query, call.text("window"), call.integer("budget", _BUDGET), seat.eyes.model_space())
    outline, lost = await _outline(seat, request)
    windows = _unread(seat, outline, request)
    texts = await _texts(seat, outline, request, windows)
    if lost and not texts.elements:
        raise lost
    note = f"{lost} Only what is written is told." if lost else texts.note
    note = " ".join(filter(None, [note, _private(seat, request)]))
    read = tuple(window.ref for window in windows)
    written = texts.since(told.get(read, ()), request.space) if view is OutlineView.DIFF else texts.lines(request.space)
    told[read] = texts.elements
    lines = [*outline.text.splitlines(), *written]
    payload: dict[str, JsonValue] = {
        "view": view.value,
        "elements": len(outline.elements),
        "written": len(texts.elements),
        "lines": [clip_line(line, _SHOWN_CHARS) for line in lines[:_CARD_LINES]],
        "silent": list(outline.silent),
    }
    return ToolResult(True, call.name, payload, _told(request, outline, lines, note))


async def _outline(seat: DesktopController, request: OutlineRequest) -> tuple[Outline, ToolFailed | None]:
    """What programs tell, or why they cannot be asked."""
    try:
        return await seat.backend.accessibility.outline(request), None
    except ToolFailed as lost:
        return Outline(""), lost


def _unread(seat: DesktopController, outline: Outline, request: OutlineRequest) -> list[Window]:
    """The windows that tell nothing and are to be read: those that were named, else the active one."""
    return [window for window in seat.written.mute(outline) if _is_looked_at(window, request)][:_WINDOWS_READ]


def _is_looked_at(window: Window, request: OutlineRequest) -> bool:
    return _is_meant(window, request) and (bool(request.window) or window.is_active)


def _is_meant(window: Window, request: OutlineRequest) -> bool:
    return request.window.casefold() in f"{window.title} {window.app}".casefold()


def _private(seat: DesktopController, request: OutlineRequest) -> str:
    """A note on the windows that are left out because they are private, where they were asked for."""
    hidden = [w for w in seat.backend.windows.all() if seat.backend.is_private(w) and _is_meant(w, request)]
    names = ", ".join(repr(clip_line(window.title, _SHOWN_CHARS)) for window in hidden)
    return f"Left out because it is private: {names}." if hidden else ""


async def _texts(
    seat: DesktopController, outline: Outline, request: OutlineRequest, windows: Sequence[Window]
) -> Texts:
    """What is written in windows that tell nothing, or in large parts of them."""
    if request.view is OutlineView.FIND:
        found = (
            ()
            if outline.elements
            else await Locator(seat.backend, seat.written, seat.eyes.model_space).written(Search(request.query))
        )
        return Texts(tuple(place.element for place in found))
    texts = await texts_in(seat, windows)
    mute = seat.written.mute(outline)
    meant = [one for one in seat.backend.windows.all() if _is_looked_at(one, request) and one not in mute]
    between = await texts_between(seat, outline, meant[:_WINDOWS_READ])
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


async def _press(seat: DesktopController, call: ToolCall) -> ToolResult:
    tree = seat.backend.accessibility
    element = await tree.element(_of_a_program(call.text("ref")))
    actions: list[str] = []

    async def do() -> None:
        actions.append(await tree.press(element.ref))

    proof = Proving(lambda: of_click(seat.backend, element), window=_window_of(seat, element))
    seen = await seat.act(do, element.box, proof=proof)
    payload = _as_json(element) | {"action": actions[0], "verdict": seen.verdict, "proof": seen.proof}
    return ToolResult(True, call.name, payload, f"Pressed {_named(element)} ({actions[0]}). {seen.sentence}")


async def _set_value(seat: DesktopController, call: ToolCall) -> ToolResult:
    tree = seat.backend.accessibility
    text = call.text("value")
    element = await tree.element(_of_a_program(call.text("ref")))
    held: list[str] = []

    async def do() -> None:
        try:
            await tree.set_value(element.ref, text)
        except TakesNoValue as refusal:
            await _enter(seat, element, text, refusal)

    async def read_back() -> Proof:
        proof, now = await of_setting(seat.backend, element, text)
        held.append(now)
        return proof

    proof = Proving(read_back, by_changes=False, at_rest=True, window=_window_of(seat, element))
    seen = await seat.act(do, element.box, proof=proof)
    private = " Passwords are not read back." if element.role == SECRET else ""
    payload = _as_json(element) | {"value": clip_line(held[-1], _SHOWN_CHARS), "proof": seen.proof}
    return ToolResult(True, call.name, payload, f"Set {_named(element)}.{private} {seen.sentence}")


async def _enter(seat: DesktopController, element: Element, text: str, refusal: TakesNoValue) -> None:
    """Put a value in by click and keyboard, where a program such as Chromium lets nothing be set. Raises the refusal.

    Line breaks and tabs are not typed: they submit a form or leave the field.
    """
    is_list = element.role == "combo box" and not element.is_("editable")
    is_typable = (
        seat.backend.keyboard.can_type(text) and element.is_("expandable") if is_list else element.is_("editable")
    )
    if not is_typable or any(sign in text for sign in _LEAVING):
        raise refusal
    await seat.press(await seat.marksman.at_ref(element.ref), Press())
    if is_list:
        await _choose(seat, element, text, refusal)
        return
    await seat.hands.press([chord("ctrl+a")], 1, 0.0)
    if text:
        await seat.hands.type_text(text)
    else:
        await seat.hands.press([chord("Delete")], 1, 0.0)


async def _choose(seat: DesktopController, element: Element, text: str, refusal: TakesNoValue) -> None:
    """Choose in the open list of a combo box. Return is pressed only while the list is open: else it submits a form."""
    limit = seat.clock.now() + _OPENING_S
    while not await _is_open(seat, element):
        if seat.clock.now() > limit:
            raise refusal
        await seat.backend.windows.changed(_LOOK_AGAIN_S)
    await seat.hands.type_text(text)
    if await _is_open(seat, element):
        await seat.hands.press([chord("Return")], 1, 0.0)


async def _is_open(seat: DesktopController, element: Element) -> bool:
    return (await seat.backend.accessibility.element(element.ref)).is_("expanded")


def _window_of(seat: DesktopController, element: Element) -> Window | None:
    """The window that an element is in; any of its program's where none has its title."""
    own = [window for window in seat.backend.windows.all() if element.pid and window.pid == element.pid]
    return next((window for window in own if window.title == element.window), own[0] if own else None)


def _of_a_program(ref: str) -> str:
    """The ref, if it may be an element's. ToolMisuse for text that was read off the screen."""
    if is_written(ref):
        raise ToolMisuse(f"{ref} is text that was read off the screen. It can be clicked: computer_click ref={ref!r}.")
    return ref


def _named(element: Element) -> str:
    return f"{element.ref} {element.role} {clip_line(element.name, _SHOWN_CHARS)!r}"


def _as_json(element: Element) -> dict[str, JsonValue]:
    name = clip_line(element.name, _SHOWN_CHARS)
    return {"ref": element.ref, "role": element.role, "name": name, "box": _box(element.box), "window": element.window}


def _place_as_json(place: Located, space: ModelSpace) -> dict[str, JsonValue]:
    return _as_json(place.element) | {
        "x": place.point.x,
        "y": place.point.y,
        "how": place.how,
        "score": round(place.score, 3),
        "runners_up": [clip_line(other.told(space), _SHOWN_CHARS) for other in place.runners_up],
    }


def _box(box: Rect) -> list[JsonValue]:
    return [box.x, box.y, box.width, box.height]


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
                    description="interactive (controls; the default), full (texts too), find (only what fits query), "
                    "diff (what changed since the last reading)",
                    choices=tuple(view.value for view in OutlineView),
                ),
                Param("query", description="what to find"),
                Param("window", description="only windows or programs called that"),
                Param("budget", ValueType.INTEGER, "tokens the listing may take; 2000", minimum=100, maximum=20_000),
            ),
            examples=('<read_screen window="Calculator"/>', '<read_screen view="find" query="Save"/>'),
        ),
        ToolSpec(
            "locate_screen_element",
            "Find one thing on the screen by what it is called or what is written on it, also in programs that "
            "read_screen cannot see into. Scrolls a page to it where it stands further down.",
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
        ),
        ToolSpec(
            "press",
            "Operate an element by its ref without the mouse; works also where another window covers it.",
            Effect.DESKTOP,
            ScreenReading.press,
            attrs=(_REF,),
            examples=('<press ref="e12"/>',),
        ),
        ToolSpec(
            "set_value",
            "Put a text into a field, or a slider to a number, by ref and without typing. Replaces what it held.",
            Effect.DESKTOP,
            ScreenReading.set_value,
            attrs=(_REF,),
            body=Param("value", description="the text or number", required=True, short=False, aliases=("text",)),
            examples=('<set_value ref="e7">report.txt</set_value>',),
        ),
    ),
)
