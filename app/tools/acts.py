"""What the computer tools do, on the desktop thread: each takes the seat and a call and answers with a receipt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.base.clipping import clip_line
from app.base.errors import ToolMisuse
from app.base.geometry import Rect
from app.desktop import evidence
from app.desktop.api import Button
from app.desktop.eyes import Spot
from app.desktop.frames import bounds_of
from app.desktop.hands import Press
from app.desktop.keys import Chord, chords, modifiers
from app.desktop.programs import is_terminal
from app.desktop.receipts import Receipt
from app.desktop.seat import Proving, Seat, Target
from app.desktop.settle import Patience
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.tools.context import Admit, admitted
from app.tools.steps import Move, Steps

_SHOWN_CHARS = 120
_DRAG_MS = 200
_PAIR = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[,;]\s*(-?\d+(?:\.\d+)?)\s*")
_COUNTED = {1: "Clicked", 2: "Double-clicked", 3: "Triple-clicked"}


async def click(seat: Seat, call: ToolCall) -> ToolResult:
    press = Press(_button_of(call), call.integer("count", 1), modifiers(call.text("modifiers")))
    aim = seat.apart(await seat.aim_to_press(target_of(call), call.id), press)
    proof = Proving(lambda: evidence.of_click(seat.backend, aim.element))
    seen = await seat.act(lambda: seat.press(aim, press), aim.place, proof=proof)
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


async def move(seat: Seat, call: ToolCall) -> ToolResult:
    aim = await seat.aim(target_of(call))
    seen = await seat.act(lambda: seat.hands.move(aim.point), aim.place, Patience())
    return _done(call, {"x": aim.point.x, "y": aim.point.y, "route": aim.route}, f"The pointer is on {aim.told}.", seen)


async def drag(seat: Seat, call: ToolCall) -> ToolResult:
    press = Press(_button_of(call), 1, modifiers(call.text("modifiers")))
    first, *others = path_of(call)
    aims = [await seat.aim_to_press(first, call.id), *[await seat.aim(target, call.id) for target in others]]
    points = [aim.point for aim in aims]
    seconds = call.integer("duration_ms", _DRAG_MS) / 1000
    places = bounds_of(aim.place for aim in aims)
    seen = await seat.act(lambda: seat.drag(aims, press, seconds), places)
    payload: dict[str, JsonValue] = {"path": [[p.x, p.y] for p in points], "button": press.button.value}
    return _done(call, payload, f"Dragged from {aims[0].told} to {aims[-1].told}.", seen)


async def scroll(seat: Seat, call: ToolCall) -> ToolResult:
    notches = (call.integer("dx"), call.integer("dy"))
    if notches == (0, 0):
        raise ToolMisuse("Nothing to scroll: give dy (notches, positive is down) or dx (positive is right).")
    held = modifiers(call.text("modifiers"))
    target = target_of(call)
    aim = await seat.aim(target) if target != Target() else None
    at = aim.point if aim else None
    seen = await seat.act(lambda: seat.hands.scroll(at, notches, held))
    payload: dict[str, JsonValue] = {"dx": notches[0], "dy": notches[1]}
    if aim:
        payload |= {"x": aim.point.x, "y": aim.point.y}
    return _done(call, payload, f"Scrolled {_notches(*notches)}{f' on {aim.told}' if aim else ''}.", seen)


async def type_text(seat: Seat, call: ToolCall, admit: Admit = admitted) -> ToolResult:
    text = call.text("text")
    if not text:
        raise ToolMisuse("There is no text to type. Write it between the tags.")
    routes: list[str] = []
    steps = Steps(seat, call, admit)

    async def before(left: str) -> bool:
        return await steps.before(ToolCall(call.id, "type", {"text": left}), Move.NOWHERE)

    async def do() -> None:
        routes.extend(route.value for route in await seat.hands.type_text(text, before))

    into = seat.active_window()
    proof = Proving(lambda: evidence.of_typing(seat.backend, text), by_changes=False)
    seen = await seat.act(do, proof=proof)
    if into and is_terminal(into.app) and seen.proof == "suspected no-op":
        seen = seen.with_doubt("A terminal takes a password, for one, without showing it.")
    payload: dict[str, JsonValue] = {"text": clip_line(text, _SHOWN_CHARS), "length": len(text), "routes": routes}
    return _done(call, payload, f"Typed {len(text)} characters.", seen)


async def press_keys(seat: Seat, call: ToolCall, admit: Admit = admitted) -> ToolResult:
    pressed = chords(call.text("keys"))
    repeat, hold_s = call.integer("repeat", 1), call.integer("hold_ms") / 1000
    steps = Steps(seat, call, admit)

    async def before(left: Sequence[Chord], last: Chord | None) -> None:
        rest = ToolCall(call.id, "key", {"keys": " ".join(map(str, left))})
        await steps.before(rest, Move.ANYWHERE if last and last.may_switch else Move.SAME_PROGRAM)

    seen = await seat.act(lambda: seat.hands.press(pressed, repeat, hold_s, before))
    times = f" {repeat} times" if repeat > 1 else ""
    payload: dict[str, JsonValue] = {"keys": call.text("keys"), "repeat": repeat}
    return _done(call, payload, f"Pressed {call.text('keys')}{times}.", seen)


async def button(seat: Seat, call: ToolCall, *, down: bool) -> ToolResult:
    button = _button_of(call)
    target = target_of(call)
    find = seat.aim_to_press if down else seat.aim
    aim = await find(target, call.id) if target != Target() else None
    at = aim.point if aim else seat.backend.pointer.position()

    async def do() -> None:
        if aim:
            await seat.hands.move(aim.point)
            await seat.marksman.hit_test(aim)
        await (seat.hands.button_down(button) if down else seat.hands.button_up(button))

    seen = await seat.act(do, Rect(at.x, at.y, 1, 1))
    word = "held down" if down else "let go"
    payload: dict[str, JsonValue] = {"x": at.x, "y": at.y, "button": button.value}
    return _done(call, payload, f"The {button} button is {word} at ({at.x}, {at.y}).", seen)


def _done(call: ToolCall, payload: dict[str, JsonValue], sentence: str, seen: Receipt) -> ToolResult:
    told: dict[str, JsonValue] = {"verdict": seen.verdict, "proof": seen.proof, "window": seen.focus}
    return ToolResult(True, call.name, payload | told, f"{sentence} {seen.sentence}")


def target_of(call: ToolCall) -> Target:
    """What a call points at. Raises ToolMisuse for half a point."""
    if call.has("x") != call.has("y"):
        raise ToolMisuse("A point needs both x and y.")
    spot = None
    if call.has("x"):
        spot = Spot(call.number("x"), call.number("y"), call.text("capture"), call.text("space"))
    return Target(spot, call.text("ref"), call.text("target"))


def _button_of(call: ToolCall) -> Button:
    return Button(call.text("button", Button.LEFT.value))


def path_of(call: ToolCall) -> list[Target]:
    """The points of a drag: `path`, or `from` and `to`."""
    if call.has("path"):
        found = [_place(part, call) for part in _pairs(call.text("path"))]
        if len(found) < 2 or any(target.spot is None for target in found):
            raise ToolMisuse('path needs two points or more, as in path="600,500 750,560".')
        return found
    if not (call.has("from") and call.has("to")):
        raise ToolMisuse('Drag from where to where? path="600,500 750,560", or from="report.txt" to="Trash".')
    return [_place(call.text("from"), call), _place(call.text("to"), call)]


def _pairs(text: str) -> list[str]:
    """The words with a comma in them; blanks around a comma belong to its word."""
    close = ",".join(part.strip() for part in text.split(","))
    return [word for word in close.split() if "," in word.strip(",")]


def _place(text: str, call: ToolCall) -> Target:
    """A position written as `x,y`, or else a visible name."""
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return Target(name=text)
    return Target(Spot(float(pair[1]), float(pair[2]), call.text("capture"), call.text("space")))


def _notches(dx: int, dy: int) -> str:
    ways = ((dy, "down", "up"), (dx, "right", "left"))
    return " and ".join(f"{abs(n)} {more if n > 0 else less}" for n, more, less in ways if n)
