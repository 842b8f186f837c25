"""What harnesses write as an action, read as calls of Wisp's tools.

An action is a call of a tool (`{"tool": …, "arguments": …}`), a step of OSWorld's action space "computer_13", or a
string of its action space "pyautogui". Such a string is only parsed, never run: its calls become such steps, and
anything else in it is refused before anything is done.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.base.errors import ToolMisuse
from app.base.values import dataclass, field
from app.desktop import keys

CALL, WAIT, DONE, FAIL = "CALL", "WAIT", "DONE", "FAIL"
_WAIT_S = 1.0
_MOST_NOTCHES = 100
"""What the tool takes in one call."""
_PLACE = ("x", "y")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of "computer_13" with its parameters, or a call of a tool (`CALL`)."""

    kind: str
    given: Mapping[str, Any] = field(default_factory=dict)


ToolUse = tuple[str, Mapping[str, Any]]
"""A tool's name, and the arguments of a call."""

_PARAMETERS: Mapping[str, Sequence[str]] = {
    "MOVE_TO": (*_PLACE, "dx", "dy"),
    "CLICK": (*_PLACE, "button", "num_clicks"),
    "MOUSE_DOWN": (*_PLACE, "button"),
    "MOUSE_UP": (*_PLACE, "button"),
    "DRAG_TO": (*_PLACE, "dx", "dy", "button"),
    "SCROLL": (*_PLACE, "dx", "dy"),
    "TYPING": ("text",),
    "PRESS": ("key", "presses"),
    "KEY_DOWN": ("key",),
    "KEY_UP": ("key",),
    "HOTKEY": ("keys",),
    WAIT: ("seconds",),
    DONE: (),
    FAIL: (),
}
"""Steps with their parameters. Those that "computer_13" does not have are for pyautogui's calls."""
_CLICKS: Mapping[str, Mapping[str, Any]] = {"RIGHT_CLICK": {"button": "right"}, "DOUBLE_CLICK": {"num_clicks": 2}}
_NEEDED = {"TYPING": "text", "PRESS": "key", "KEY_DOWN": "key", "KEY_UP": "key", "HOTKEY": "keys"}
_NUMBERS = frozenset({"x", "y", "dx", "dy", "num_clicks", "presses", "seconds"})
_LISTS = frozenset({"key", "keys"})

_AT = {"x": "x", "y": "y"}
_BY = {"xOffset": "dx", "yOffset": "dy", "duration": "", "tween": "", "button": "button"}
_BUTTON_AT = {**_AT, "button": "button", "duration": ""}
_TEXT = {"message": "text", "interval": ""}
_PYAUTOGUI: Mapping[str, tuple[str, Mapping[str, str], Mapping[str, Any]]] = {
    "moveTo": ("MOVE_TO", {**_AT, "duration": "", "tween": ""}, {}),
    "move": ("MOVE_TO", _BY, {}),
    "moveRel": ("MOVE_TO", _BY, {}),
    "dragTo": ("DRAG_TO", {**_AT, "duration": "", "tween": "", "button": "button"}, {}),
    "drag": ("DRAG_TO", _BY, {}),
    "dragRel": ("DRAG_TO", _BY, {}),
    "click": ("CLICK", {**_AT, "clicks": "num_clicks", "interval": "", "button": "button", "duration": ""}, {}),
    "leftClick": ("CLICK", {**_AT, "interval": "", "duration": ""}, {}),
    "rightClick": ("CLICK", {**_AT, "interval": "", "duration": ""}, {"button": "right"}),
    "middleClick": ("CLICK", {**_AT, "interval": "", "duration": ""}, {"button": "middle"}),
    "doubleClick": ("CLICK", {**_AT, "interval": "", "button": "button", "duration": ""}, {"num_clicks": 2}),
    "tripleClick": ("CLICK", {**_AT, "interval": "", "button": "button", "duration": ""}, {"num_clicks": 3}),
    "mouseDown": ("MOUSE_DOWN", _BUTTON_AT, {}),
    "mouseUp": ("MOUSE_UP", _BUTTON_AT, {}),
    "scroll": ("SCROLL", {"clicks": "dy", **_AT}, {}),
    "vscroll": ("SCROLL", {"clicks": "dy", **_AT}, {}),
    "hscroll": ("SCROLL", {"clicks": "dx", **_AT}, {}),
    "write": ("TYPING", _TEXT, {}),
    "typewrite": ("TYPING", _TEXT, {}),
    "press": ("PRESS", {"keys": "key", "presses": "presses", "interval": ""}, {}),
    "keyDown": ("KEY_DOWN", {"key": "key"}, {}),
    "keyUp": ("KEY_UP", {"key": "key"}, {}),
    "sleep": (WAIT, {"seconds": "seconds"}, {}),
}
"""The step for each call, pyautogui's parameters in their order with those of the step, and what is fixed.

"" is a parameter without effect here: Wisp paces its input itself.
"""
_HOTKEY = "hotkey"
_POSSIBLE = ", ".join(("time.sleep", _HOTKEY, *_PYAUTOGUI))


def read(action: str | Mapping[str, Any]) -> list[Step]:
    """Return the steps of an action. Raises ToolMisuse for anything that is none, with what is possible."""
    if isinstance(action, str):
        word = action.strip()
        return [Step(word)] if word in (WAIT, DONE, FAIL) else _of_python(action)
    match action:
        case {"tool": str() as tool, "arguments": Mapping() as arguments}:
            return [Step(CALL, {"tool": tool, "arguments": dict(arguments)})]
        case {"tool": str() as tool} if not action.get("arguments"):
            return [Step(CALL, {"tool": tool, "arguments": {}})]
        case {"action_type": str() as kind, "parameters": Mapping() as given}:
            return [_checked(kind, given)]
        case {"action_type": str() as kind}:
            return [_checked(kind, {name: value for name, value in action.items() if name != "action_type"})]
    raise ToolMisuse(
        'An action is a string of pyautogui, {"action_type": …, "parameters": …}, {"tool": …, "arguments": …}, or '
        f"{WAIT}, {DONE} or {FAIL}."
    )


def _checked(kind: str, parameters: Mapping[str, Any]) -> Step:
    given = {name: value for name, value in parameters.items() if value is not None}
    if kind in _CLICKS:
        kind, given = "CLICK", {**given, **_CLICKS[kind]}
    if kind not in _PARAMETERS:
        raise ToolMisuse(f"There is no action {kind!r}. There are {', '.join((*_PARAMETERS, *_CLICKS))}.")
    for name, value in given.items():
        if name not in _PARAMETERS[kind]:
            raise ToolMisuse(f"{kind} has no {name!r}. It takes {', '.join(_PARAMETERS[kind]) or 'nothing'}.")
        if not _is_fitting(name, value):
            raise ToolMisuse(f"{kind}: {name} cannot be {value!r}.")
    if kind in _NEEDED and not given.get(_NEEDED[kind], kind == "TYPING"):
        raise ToolMisuse(f"{kind} needs {_NEEDED[kind]!r}.")
    return Step(kind, given)


def _is_fitting(name: str, value: Any) -> bool:
    if name in _NUMBERS:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return isinstance(value, str) or (name in _LISTS and all(isinstance(one, str) for one in _listed(value)))


# --- pyautogui


def _of_python(text: str) -> list[Step]:
    try:
        statements = ast.parse(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # as its documentation names them
        raise _refused(text) from None
    return [step for statement in statements for step in _of_statement(statement)]


def _of_statement(statement: ast.stmt) -> list[Step]:
    match statement:
        case ast.Import(names=names) if all(one.name in ("pyautogui", "time") and not one.asname for one in names):
            return []
        case ast.Assign(targets=[ast.Attribute(value=ast.Name("pyautogui"), attr="PAUSE" | "FAILSAFE")]):
            return []
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("time"), "sleep"), args, keywords)):
            return _of_call("sleep", args, keywords)
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("pyautogui"), name), args, keywords)):
            return _of_call(name, args, keywords)
    raise _refused(ast.unparse(statement))


def _of_call(name: str, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> list[Step]:
    try:
        values = [ast.literal_eval(one) for one in args]
        named = {str(one.arg): ast.literal_eval(one.value) for one in keywords}
    except (ValueError, TypeError):
        raise ToolMisuse(f"{name} takes only plain values, such as 640 or 'text'. Nothing was done.") from None
    if name == _HOTKEY:
        return [_checked("HOTKEY", {"keys": [key for one in values for key in _listed(one)]})]
    if name not in _PYAUTOGUI:
        raise _refused(f"pyautogui.{name}")
    kind, parameters, fixed = _PYAUTOGUI[name]
    if values and isinstance(values[0], (list, tuple)) and "x" in parameters:
        values[:1] = values[0]  # a place as one value
    if len(values) > len(parameters) or not named.keys() <= parameters.keys() | {"logScreenshot", "_pause"}:
        raise ToolMisuse(f"{name} takes {', '.join(parameters)}. Nothing was done.")
    bound = {**dict(zip(parameters, values, strict=False)), **named}
    given = {ours: bound[theirs] for theirs, ours in parameters.items() if ours and theirs in bound}
    if kind == "TYPING" and isinstance(given.get("text"), list):
        kind, given = "PRESS", {"key": given["text"]}
    return [_checked(kind, {**given, **fixed})]


def _refused(what: str) -> ToolMisuse:
    return ToolMisuse(
        f"{what.strip()[:80]!r} is not possible, so nothing was done. A string may only call pyautogui and time.sleep, "
        f"with plain values: {_POSSIBLE}."
    )


# --- calls


class Hands:
    """Turns steps into calls. `pointer` tells where the pointer is.

    A modifier that KEY_DOWN holds is named in each call until KEY_UP, because no key stays pressed between the calls of
    Wisp's tools. Any other key is pressed once at KEY_DOWN.
    """

    def __init__(self, pointer: Callable[[], tuple[float, float]]) -> None:
        self._pointer = pointer
        self._held: list[str] = []

    def calls(self, step: Step) -> Iterator[ToolUse]:
        """Yield the calls of a step, each when those before it are done. Raises ToolMisuse for an unknown key."""
        yield from _CALLS[step.kind](self, step.given)

    def called(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield (given["tool"], given["arguments"])

    def move(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield ("computer_move", self._at(given))

    def click(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        count = {"count": given["num_clicks"]} if "num_clicks" in given else {}
        yield ("computer_click", {**self._at(given), **_button(given), **count, **self._modifiers()})

    def press_button(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield ("mouse_down", {**self._placed(given), **_button(given)})

    def release_button(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield ("mouse_up", {**self._placed(given), **_button(given)})

    def drag(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        start, end = self._pointer(), self._at(given)
        path = f"{start[0]},{start[1]} {end['x']},{end['y']}"
        yield ("computer_drag", {"path": path, "space": end["space"], **_button(given), **self._modifiers()})

    def scroll(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        """Up is positive for harnesses, and down is for Wisp."""
        place = self._placed({name: given[name] for name in _PLACE if name in given})
        for name, sign in (("dx", 1), ("dy", -1)):
            left = sign * int(given.get(name, 0))
            while left:
                now = max(-_MOST_NOTCHES, min(_MOST_NOTCHES, left))
                yield ("computer_scroll", {name: now, **place, **self._modifiers()})
                left -= now

    def type(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        text = given.get("text", "")
        if self._held:
            yield from (self._pressed([sign]) for sign in text)
        elif text:
            yield ("computer_type", {"text": text})

    def press(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield from (self._pressed([key], given.get("presses", 1)) for key in _listed(given["key"]))

    def press_together(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield self._pressed(_listed(given["keys"]))

    def hold(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        for key in _listed(given["key"]):
            if keys.is_modifier(keys.key(key)):
                self._held.append(key)
            else:
                yield self._pressed([key])

    def let_go(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        free = [keys.key(key) for key in _listed(given["key"])]
        self._held = [key for key in self._held if keys.key(key) not in free]
        yield from ()

    def wait(self, given: Mapping[str, Any]) -> Iterator[ToolUse]:
        yield ("wait", {"seconds": given.get("seconds", _WAIT_S)})

    def _pressed(self, pressed: Sequence[str], times: int = 1) -> ToolUse:
        chord = "+".join(_SIGNS.get(key, key) for key in (*self._held, *pressed))
        return ("computer_key", {"keys": chord, "repeat": times})

    def _placed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The place of a step that needs none."""
        return self._at(given) if any(name in given for name in _PLACE) else {}

    def _at(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The place of a step, or where the pointer is, in pixels of the screen."""
        x, y = given.get("x"), given.get("y")
        if x is None or y is None:
            here = self._pointer()
            x = here[0] + given.get("dx", 0) if x is None else x
            y = here[1] + given.get("dy", 0) if y is None else y
        return {"x": x, "y": y, "space": "screen"}

    def _modifiers(self) -> dict[str, str]:
        return {"modifiers": "+".join(self._held)} if self._held else {}


_SIGNS = {"\n": "Return", "\r": "Return", "\t": "Tab", " ": "space"}
_CALLS: Mapping[str, Callable[[Hands, Mapping[str, Any]], Iterator[ToolUse]]] = {
    CALL: Hands.called,
    "MOVE_TO": Hands.move,
    "CLICK": Hands.click,
    "MOUSE_DOWN": Hands.press_button,
    "MOUSE_UP": Hands.release_button,
    "DRAG_TO": Hands.drag,
    "SCROLL": Hands.scroll,
    "TYPING": Hands.type,
    "PRESS": Hands.press,
    "KEY_DOWN": Hands.hold,
    "KEY_UP": Hands.let_go,
    "HOTKEY": Hands.press_together,
    WAIT: Hands.wait,
}


def _button(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"button": given["button"]} if "button" in given else {}


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]
