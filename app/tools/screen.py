"""What stands on the screen and where: by what programs say of themselves, and by what is written there."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.geometry import Rect
from app.desktop.desk import Desktop
from app.desktop.elements import Element, Outline, OutlineRequest, View
from app.desktop.locate import Located, Locator, Vision
from app.desktop.ocr.api import Ocr
from app.desktop.seat import Seat
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Effect, Kind, Param, ToolSpec
from app.tools.context import TurnContext
from app.tools.registry import Family

_BUDGET = 2000
_SHOWN_CHARS = 120
_CARD_LINES = 12


class ScreenReading:
    """Handlers; each hops to the desktop thread. `vision` is the model's own eyes, where it can point at pictures."""

    def __init__(self, desktop: Desktop, ocr: Ocr, vision: Vision | None = None) -> None:
        self._desktop = desktop
        self._ocr = ocr
        self._vision = vision

    async def read_screen(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_read, call)

    async def locate(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(self._locate, call)

    async def press(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_press, call)

    async def set_value(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_set_value, call)

    async def close(self) -> None:
        """Let go of the text recognition."""

        async def end(_seat: Seat) -> None:
            await self._ocr.close()

        await self._desktop.run(end)

    async def _locate(self, seat: Seat, call: ToolCall) -> ToolResult:
        locator = Locator(seat.backend, seat.eyes.frame, self._ocr, self._vision)
        area = seat.region_of(1, call.text("window")) if call.has("window") else None
        place = await locator.locate(call.text("target"), area)
        others = f" Less likely: {'; '.join(other.told for other in place.runners_up)}." if place.runners_up else ""
        echo = (
            f"Found {place.told} on the screen by {place.how} ({place.score:.2f}). {_how_to_click(seat, place)}{others}"
        )
        return ToolResult(True, call.name, _place_as_json(place), echo)


async def _read(seat: Seat, call: ToolCall) -> ToolResult:
    view = View(call.text("view", View.INTERACTIVE.value))
    query = call.text("query")
    if view is View.FIND and not query.strip():
        raise ToolMisuse('view="find" needs a query, as in query="Save".')
    request = OutlineRequest(view, query, call.text("window"), call.integer("budget", _BUDGET))
    outline = await seat.backend.accessibility.outline(request)
    payload: dict[str, JsonValue] = {
        "view": view.value,
        "elements": len(outline.elements),
        "lines": [clip_line(line, _SHOWN_CHARS) for line in outline.text.splitlines()[:_CARD_LINES]],
        "silent": list(outline.silent),
    }
    return ToolResult(True, call.name, payload, _told(seat, request, outline))


def _told(seat: Seat, request: OutlineRequest, outline: Outline) -> str:
    parts = ["Boxes are (x,y,width,height) in screen pixels; act on elements by ref.", outline.text]
    if not outline.text:
        parts = [f"Nothing fits {request.query!r}." if request.query else "No program tells what it shows."]
    if outline.left_out:
        parts.append(f"[{outline.left_out} more lines: raise budget, name a window, or use view=find with a query]")
    if request.view is not View.FIND and (mute := _mute(seat, outline.elements, request.window)):
        parts.append(f"Nothing is known of what is inside {mute}: locate_screen_element reads text there.")
    return "\n".join(parts)


def _mute(seat: Seat, elements: Sequence[Element], wanted: str) -> str:
    """Open windows of which no element is known."""
    known = {element.window for element in elements} | {element.app for element in elements}
    windows = [w for w in seat.backend.windows.all() if not w.is_minimised and w.title not in known]
    named = [w for w in windows if wanted.casefold() in f"{w.title} {w.app}".casefold()]
    return ", ".join(f"{clip_line(window.title, 60)!r}" for window in named)


async def _press(seat: Seat, call: ToolCall) -> ToolResult:
    tree = seat.backend.accessibility
    element = await tree.element(call.text("ref"))
    actions: list[str] = []

    async def do() -> None:
        actions.append(await tree.press(element.ref))

    seen = await seat.act(do, element.box)
    payload = _as_json(element) | {"action": actions[0], "verdict": seen.verdict, "proof": seen.proof}
    return ToolResult(True, call.name, payload, f"Pressed {_named(element)} ({actions[0]}). {seen.sentence}")


async def _set_value(seat: Seat, call: ToolCall) -> ToolResult:
    tree = seat.backend.accessibility
    text = call.text("value")
    element = await tree.element(call.text("ref"))
    held: list[str] = []

    async def do() -> None:
        held.append(await tree.set_value(element.ref, text))

    seen = await seat.act(do, element.box)
    if held[0] == text:
        seen = seen.with_evidence("It holds exactly that.")
        echo = f"Set {_named(element)}. {seen.sentence}"
    else:
        echo = f"Set {_named(element)}, but it holds {clip_line(held[0], _SHOWN_CHARS)!r} now. {seen.sentence}"
    payload = _as_json(element) | {"value": clip_line(held[0], _SHOWN_CHARS), "proof": seen.proof}
    return ToolResult(True, call.name, payload, echo)


def _named(element: Element) -> str:
    return f"{element.ref} {element.role} {clip_line(element.name, _SHOWN_CHARS)!r}"


def _how_to_click(seat: Seat, place: Located) -> str:
    """The coordinates as a click wants them: of the newest capture where it shows the place."""
    if place.ref:
        return f'Click it with ref="{place.ref}".'
    capture = seat.eyes.newest()
    if capture is not None:
        x, y = capture.geometry.to_picture(place.point)
        if capture.geometry.contains(x, y):
            return f'Click it with x="{x}" y="{y}" (capture {capture.id}).'
    return f'Click it with x="{place.point.x}" y="{place.point.y}" space="screen".'


def _as_json(element: Element) -> dict[str, JsonValue]:
    name = clip_line(element.name, _SHOWN_CHARS)
    return {"ref": element.ref, "role": element.role, "name": name, "box": _box(element.box), "window": element.window}


def _place_as_json(place: Located) -> dict[str, JsonValue]:
    return {
        "name": clip_line(place.name, _SHOWN_CHARS),
        "x": place.point.x,
        "y": place.point.y,
        "box": _box(place.box),
        "how": place.how,
        "score": round(place.score, 3),
        "ref": place.ref,
        "runners_up": [clip_line(other.told, _SHOWN_CHARS) for other in place.runners_up],
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
            "prefer it to a picture where names matter.",
            Effect.READS,
            ScreenReading.read_screen,
            attrs=(
                Param(
                    "view",
                    description="interactive (controls; the default), full (texts too), find (only what fits query), "
                    "diff (what changed since the last reading)",
                    choices=tuple(view.value for view in View),
                ),
                Param("query", description="what to find"),
                Param("window", description="only windows or programs called that"),
                Param("budget", Kind.INTEGER, "tokens the listing may take; 2000", minimum=100, maximum=20_000),
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
                Param("target", description="such as Save button, search field, File menu", required=True),
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
            body=Param("value", description="the text or number", required=True, short=False),
            examples=('<set_value ref="e7">report.txt</set_value>',),
        ),
    ),
)
