"""Mouse and keyboard. Every result says in one line what was seen to happen, and claims no more."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.geometry import Rect
from app.desktop.api import Button
from app.desktop.desk import Desktop
from app.desktop.eyes import Spot
from app.desktop.hands import Press
from app.desktop.keys import chords, modifiers
from app.desktop.receipts import Receipt
from app.desktop.seat import Seat, Target
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.protocol.spec import Effect, Kind, Param, ToolSpec
from app.tools.context import TurnContext
from app.tools.registry import Family

_SHOWN_CHARS = 120
_DRAG_MS = 200
_PAIR = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[,;]\s*(-?\d+(?:\.\d+)?)\s*")
_COUNTED = {1: "Clicked", 2: "Double-clicked", 3: "Triple-clicked"}


class Computer:
    """Handlers; each hops to the desktop thread, where all of it happens."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop

    async def click(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_click, call)

    async def move(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_move, call)

    async def drag(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_drag, call)

    async def scroll(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_scroll, call)

    async def type(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_type, call)

    async def key(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_key, call)

    async def button_down(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_button, call, down=True)

    async def button_up(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_button, call, down=False)


async def _click(seat: Seat, call: ToolCall) -> ToolResult:
    press = Press(_button_of(call), call.integer("count", 1), modifiers(call.text("modifiers")))
    aim = await seat.aim(_target(call))
    seen = await seat.act(lambda: seat.hands.click(aim.point, press), aim.place)
    button = "" if press.button is Button.LEFT else f" with the {press.button} button"
    payload: dict[str, JsonValue] = {
        "x": aim.point.x,
        "y": aim.point.y,
        "button": press.button.value,
        "count": press.count,
        "target": aim.element.name if aim.element else "",
        "route": aim.route,
    }
    return _done(call, payload, f"{_COUNTED[press.count]} {aim.told}{button}.", seen)


async def _move(seat: Seat, call: ToolCall) -> ToolResult:
    aim = await seat.aim(_target(call))
    seen = await seat.act(lambda: seat.hands.move(aim.point), aim.place)
    return _done(call, {"x": aim.point.x, "y": aim.point.y, "route": aim.route}, f"The pointer is on {aim.told}.", seen)


async def _drag(seat: Seat, call: ToolCall) -> ToolResult:
    press = Press(_button_of(call), 1, modifiers(call.text("modifiers")))
    aims = [await seat.aim(target) for target in _path(call)]
    points = [aim.point for aim in aims]
    seconds = call.integer("duration_ms", _DRAG_MS) / 1000
    end = points[-1]
    seen = await seat.act(lambda: seat.hands.drag(points, press, seconds), Rect(end.x, end.y, 1, 1))
    payload: dict[str, JsonValue] = {"path": [[p.x, p.y] for p in points], "button": press.button.value}
    return _done(call, payload, f"Dragged from {aims[0].told} to {aims[-1].told}.", seen)


async def _scroll(seat: Seat, call: ToolCall) -> ToolResult:
    notches = (call.integer("dx"), call.integer("dy"))
    if notches == (0, 0):
        raise ToolMisuse("Nothing to scroll: give dy (notches, positive is down) or dx (positive is right).")
    held = modifiers(call.text("modifiers"))
    target = _target(call)
    aim = await seat.aim(target) if target != Target() else None
    at = aim.point if aim else None
    seen = await seat.act(lambda: seat.hands.scroll(at, notches, held))
    payload: dict[str, JsonValue] = {"dx": notches[0], "dy": notches[1]}
    if aim:
        payload |= {"x": aim.point.x, "y": aim.point.y}
    return _done(call, payload, f"Scrolled {_notches(*notches)}{f' on {aim.told}' if aim else ''}.", seen)


async def _type(seat: Seat, call: ToolCall) -> ToolResult:
    text = call.text("text")
    if not text:
        raise ToolMisuse("There is no text to type. Write it between the tags.")
    routes: list[str] = []

    async def do() -> None:
        routes.extend(route.value for route in await seat.hands.type_text(text))

    seen = await seat.act(do)
    payload: dict[str, JsonValue] = {"text": clip_line(text, _SHOWN_CHARS), "length": len(text), "routes": routes}
    return _done(call, payload, f"Typed {len(text)} characters.", seen)


async def _key(seat: Seat, call: ToolCall) -> ToolResult:
    pressed = chords(call.text("keys"))
    repeat, hold_s = call.integer("repeat", 1), call.integer("hold_ms") / 1000
    seen = await seat.act(lambda: seat.hands.press(pressed, repeat, hold_s))
    times = f" {repeat} times" if repeat > 1 else ""
    payload: dict[str, JsonValue] = {"keys": call.text("keys"), "repeat": repeat}
    return _done(call, payload, f"Pressed {call.text('keys')}{times}.", seen)


async def _button(seat: Seat, call: ToolCall, *, down: bool) -> ToolResult:
    button = _button_of(call)
    target = _target(call)
    aim = await seat.aim(target) if target != Target() else None
    at = aim.point if aim else seat.backend.pointer.position()

    async def do() -> None:
        if aim:
            await seat.hands.move(aim.point)
        await (seat.hands.button_down(button) if down else seat.hands.button_up(button))

    seen = await seat.act(do, Rect(at.x, at.y, 1, 1))
    word = "held down" if down else "let go"
    payload: dict[str, JsonValue] = {"x": at.x, "y": at.y, "button": button.value}
    return _done(call, payload, f"The {button} button is {word} at ({at.x}, {at.y}).", seen)


def _done(call: ToolCall, payload: dict[str, JsonValue], sentence: str, seen: Receipt) -> ToolResult:
    told: dict[str, JsonValue] = {"verdict": seen.verdict, "proof": seen.proof, "window": seen.focus}
    return ToolResult(True, call.name, payload | told, f"{sentence} {seen.sentence}")


def _target(call: ToolCall) -> Target:
    if call.has("x") != call.has("y"):
        raise ToolMisuse("A point needs both x and y.")
    spot = None
    if call.has("x"):
        spot = Spot(call.number("x"), call.number("y"), call.text("capture"), call.text("space"))
    return Target(spot, call.text("ref"), call.text("target"))


def _button_of(call: ToolCall) -> Button:
    return Button(call.text("button", Button.LEFT.value))


def _path(call: ToolCall) -> list[Target]:
    """The points of a drag: `path`, or `from` and `to`."""
    if call.has("path"):
        found = [_place(part, call) for part in re.findall(r"\S+\s*,\s*\S+", call.text("path"))]
        if len(found) < 2 or any(target.spot is None for target in found):
            raise ToolMisuse('path needs two points or more, as in path="600,500 750,560".')
        return found
    if not (call.has("from") and call.has("to")):
        raise ToolMisuse('Drag from where to where? path="600,500 750,560", or from="report.txt" to="Trash".')
    return [_place(call.text("from"), call), _place(call.text("to"), call)]


def _place(text: str, call: ToolCall) -> Target:
    """A position written as `x,y`, or else a visible name."""
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return Target(name=text)
    return Target(Spot(float(pair[1]), float(pair[2]), call.text("capture"), call.text("space")))


def _notches(dx: int, dy: int) -> str:
    ways = ((dy, "down", "up"), (dx, "right", "left"))
    return " and ".join(f"{abs(n)} {more if n > 0 else less}" for n, more, less in ways if n)


Handler = Callable[[Computer, ToolCall, TurnContext], Awaitable[ToolResult]]

_BUTTON = Param("button", description="which button; left if left out", choices=tuple(b.value for b in Button))
_MODIFIERS = Param("modifiers", description="keys held meanwhile, such as ctrl+shift")
_CAPTURE = Param("capture", description="id of the capture that x and y refer to; the newest if left out")
_SPACE = Param("space", description="write screen when x and y are screen pixels", choices=("screen",))
_X = Param("x", Kind.NUMBER, "from the left, in pixels of the capture")
_Y = Param("y", Kind.NUMBER, "from the top")
_REF = Param("ref", description="an element's ref, such as e12")
_TARGET = Param("target", description="what it is called on the screen, such as Save")
_AT = (_X, _Y, _REF, _TARGET)
_SPACES = (_CAPTURE, _SPACE)


def _tool(name: str, description: str, execute: Handler, attrs: tuple[Param, ...], *examples: str) -> ToolSpec:
    return ToolSpec(name, description, Effect.DESKTOP, execute, attrs=attrs, examples=examples)


COMPUTER = Family(
    Computer,
    (
        _tool(
            "computer_click",
            "Click. Say where by target (its visible name; surest), by ref, or by x and y of the newest capture.",
            Computer.click,
            (
                *_AT,
                _BUTTON,
                Param("count", Kind.INTEGER, "2 for a double click, 3 for a triple click", minimum=1, maximum=3),
                _MODIFIERS,
                *_SPACES,
            ),
            '<computer_click target="Save"/>',
            '<computer_click x="412" y="80" button="right"/>',
        ),
        ToolSpec(
            "computer_type",
            "Type text into whatever has the keyboard. Exact in any script; line breaks press Return, tabs Tab.",
            Effect.DESKTOP,
            Computer.type,
            body=Param("text", description="the text", required=True, short=False),
            examples=("<computer_type>Dear Ada,</computer_type>",),
        ),
        _tool(
            "computer_key",
            "Press keys: a chord such as ctrl+s, or several chords with blanks between them.",
            Computer.key,
            (
                Param("keys", description="such as Return, ctrl+shift+t, alt+F4, kp_7", required=True),
                Param("repeat", Kind.INTEGER, "how often", minimum=1, maximum=100),
                Param("hold_ms", Kind.INTEGER, "how long each is held, in milliseconds", minimum=0, maximum=60_000),
            ),
            '<computer_key keys="ctrl+s"/>',
        ),
        _tool(
            "computer_scroll",
            "Turn the wheel, at a point or where the pointer is.",
            Computer.scroll,
            (
                *_AT,
                Param("dx", Kind.INTEGER, "notches to the right; negative: left", minimum=-100, maximum=100),
                Param("dy", Kind.INTEGER, "notches down; negative: up", minimum=-100, maximum=100),
                _MODIFIERS,
                *_SPACES,
            ),
            '<computer_scroll x="640" y="400" dy="5"/>',
        ),
        _tool(
            "computer_drag",
            "Press at one place, move, and let go at another. Places are x,y pairs or visible names.",
            Computer.drag,
            (
                Param("path", description="two points or more, as in 600,500 750,560"),
                Param("from", description="where to press: x,y or a visible name"),
                Param("to", description="where to let go: x,y or a visible name"),
                _BUTTON,
                _MODIFIERS,
                Param("duration_ms", Kind.INTEGER, "how long it takes; 200", minimum=0, maximum=20_000),
                *_SPACES,
            ),
            '<computer_drag path="600,500 750,560"/>',
            '<computer_drag from="report.txt" to="Trash"/>',
        ),
        _tool(
            "computer_move",
            "Move the pointer without clicking, to see a tooltip or open a submenu.",
            Computer.move,
            (*_AT, *_SPACES),
            '<computer_move x="30" y="200"/>',
        ),
        _tool(
            "mouse_down",
            "Press a button and keep it pressed. Only for what computer_drag cannot do; follow it by mouse_up.",
            Computer.button_down,
            (*_AT, _BUTTON, *_SPACES),
            '<mouse_down x="100" y="100"/>',
        ),
        _tool(
            "mouse_up",
            "Let go of a button that mouse_down pressed.",
            Computer.button_up,
            (*_AT, _BUTTON, *_SPACES),
            '<mouse_up x="300" y="120"/>',
        ),
    ),
)
