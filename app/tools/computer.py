"""Mouse and keyboard tools. Each result says in one line what Wisp saw happen, and claims no more than that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

from app.base.clipping import clip_end, clip_line
from app.base.errors import ToolFailed, ToolMisuse, WispError
from app.base.facts import Fact, said
from app.base.values import replace
from app.desktop.backends import Button
from app.desktop.capture import Capture, PictureBudget, bounds_of
from app.desktop.controller import DesktopController
from app.desktop.desktop import Desktop
from app.desktop.staleness import TargetChanged
from app.desktop.targets import NotFound
from app.protocol.call import CHANGED_PART, JsonValue, ToolCall, ToolResult, barred
from app.protocol.spec import Effect, Gesture, Param, RareFamily, ScreenAim, ToolSpec, ValueType
from app.tools import acts, windows
from app.tools.acts import ELEMENT, Act, ActInSteps
from app.tools.pictures import (
    CAPTURE,
    SPACE,
    ModelSight,
    shown,
    to_look_anew,
    to_point_in,
    window_changes_since,
    with_changed_part,
)
from app.tools.registry import Admit, Family, TurnContext, from_elsewhere

_MOST = 40
_ECHO_CHARS, _LEAST_CHARS = 1200, 30
_STEP_S = 0.05
_TITLE_CHARS = 80
_SCREEN = "screen"
_OPEN, _OPENED = "open", "opened"
_PROOF, _CONFIRMED = "proof", "confirmed"


async def _wait(controller: DesktopController, call: ToolCall) -> ToolResult:
    seconds, before = call.number("seconds"), controller.backend.windows.all()
    until = controller.clock.now() + seconds
    while (left := until - controller.clock.now()) > 0:
        controller.stop.check()
        await asyncio.sleep(min(left, _STEP_S))
    windows = window_changes_since(controller, before)
    return ToolResult(True, call.name, {}, f"Waited {seconds:g} seconds. {said(windows)}".rstrip(), facts=windows)


def _at_once(act: Act) -> ActInSteps:
    async def do(controller: DesktopController, call: ToolCall, _admit: Admit) -> ToolResult:
        return await act(controller, call)

    return do


ACTIONS: Mapping[str, ActInSteps] = {
    "click": _at_once(acts.click),
    "type": acts.type_text,
    "key": acts.press_keys,
    "scroll": _at_once(acts.scroll),
    "drag": _at_once(acts.drag),
    "move": _at_once(acts.move),
    "mouse_down": _at_once(partial(acts.button, down=True)),
    "mouse_up": _at_once(partial(acts.button, down=False)),
    "press": _at_once(acts.press),
    "set_value": acts.set_value,
    _OPEN: _at_once(windows.open_app),
    "menu": windows.choose_menu,
    "wait": _at_once(_wait),
}
_WRITTEN_AS = {("set_value", "text"): "value", (_OPEN, "target"): "name"}
"""What an argument of a batch action is called in the tool that does the action."""
_PLACES = ("target", "ref", "x", "y")
_BLIND = ("key", "type")


async def in_one_go(controller: DesktopController, call: ToolCall, sight: ModelSight, admit: Admit) -> ToolResult:
    """Run the actions of a batch, one after the other. The policy must allow each before it runs.

    Each target is looked for when its turn comes. Only the last action is told in full, because what came up before may
    be gone. If one fails, the result is not ok and says which were done, which were not, and what came up meanwhile. A
    picture of the end comes only if the call asks for it, or if words do not tell what came of an action.
    """
    actions = _actions(call)
    before = {window.ref for window in controller.backend.windows.all()}
    done, stopped = await _carry_out(controller, actions, before, admit)
    is_shown = call.has("picture") or (sight.shows_unasked and not (stopped is None and all(map(_is_told, done))))
    if done and not is_shown:
        done[-1] = await with_changed_part(controller, done[-1], sight)
    share = max(_ECHO_CHARS // len(actions), _LEAST_CHARS)
    lines = [f"{number}. {clip_end(one.llm_brief or one.llm_echo, share)}" for number, one in enumerate(done, 1)]
    facts = [fact for result in done for fact in result.facts]
    if stopped:
        name, failure = stopped
        lines.append(f"{name} {failure}")
        left = len(actions) - len(lines)
        lines += [f"The {left} after it were not run." if left > 1 else "The one after it was not run."] if left else []
        lines += [fact.said for fact in await _came_up(controller, before)]
        facts += (*failure.facts, failure.why)
    else:
        lines[-1] = f"{len(done)}. {done[-1].llm_echo}"
    answer = ToolResult(True, call.name, {}, "\n".join(lines))
    if is_shown and sight.takes_pictures():
        answer = shown(call, await _seen(controller, call.text("picture"), sight.budget), answer.llm_echo)
    payload: dict[str, JsonValue] = {**answer.payload, "done": len(done), "of": len(actions), "lines": list(lines)}
    payload[_OPENED] = [result.payload["name"] for result in done if result.event == _OPEN]
    if stopped:
        payload |= {"tag": call.name, "reason": lines[len(done)]}
        return replace(answer, ok=False, event="tool_error", payload=payload, facts=tuple(facts))
    return replace(answer, payload=payload | _proof(done[-1]), facts=tuple(facts))


async def _carry_out(
    controller: DesktopController, actions: Sequence[tuple[ToolCall, ...]], before: Collection[str], admit: Admit
) -> tuple[list[ToolResult], tuple[str, WispError] | None]:
    """The results up to the first action that fails, and what is said of that one, with its error."""
    done: list[ToolResult] = []
    for number, steps in enumerate(actions, 1):
        try:
            for step in steps:
                name = f"{number}. {step.name} was not run."
                await _check_asked(controller, step, before)
                if refusal := await admit(step):
                    raise barred(refusal)
                name = f"{number}. {step.name} failed:"
                result = await ACTIONS[step.name](controller, step, admit)
        except (ToolMisuse, ToolFailed) as error:  # because the model must also read what was done before the failure
            return done, (name, error)
        done.append(result)
    return done, None


async def _check_asked(controller: DesktopController, step: ToolCall, before: Collection[str]) -> None:
    """Raise ToolFailed if a question has come up since the batch began, and this step has no place of its own.

    A key or a text that was meant for another window would answer the question.
    """
    front = controller.active_window() if step.name in _BLIND else None
    if front is None or not front.is_dialog or front.ref in before:
        return
    asked = await controller.asked_in(front)
    if asked.text:
        raise ToolFailed(f"{asked.said} Answer it by one of its buttons.")


def _is_told(result: ToolResult) -> bool:
    return _proof(result).get(_PROOF, _CONFIRMED) == _CONFIRMED and CHANGED_PART not in result.payload


def _proof(result: ToolResult) -> dict[str, JsonValue]:
    return {_PROOF: result.payload[_PROOF]} if _PROOF in result.payload else {}


async def _came_up(controller: DesktopController, before: Collection[str]) -> tuple[Fact, ...]:
    """What the active window shows, if it came up since; () for any other."""
    window = controller.active_window()
    return () if window is None or window.ref in before else await controller.shows(window)


def _actions(call: ToolCall) -> list[tuple[ToolCall, ...]]:
    given = call.arguments.get("action", ())
    if not isinstance(given, (list, tuple)) or not given:
        raise ToolMisuse('A batch needs actions, such as one with do="click" target="OK".')
    if len(given) > _MOST:
        raise ToolMisuse(f"{len(given)} actions are too many for one call; at most {_MOST}.")
    return [steps_of(call, action) for action in given]


def steps_of(call: ToolCall, action: JsonValue) -> tuple[ToolCall, ...]:
    """Return the calls that a batch action stands for. Raises ToolMisuse for an unknown action.

    Typing at a place is a click into the field there first, because what is typed goes to whatever has the keyboard.
    """
    if not isinstance(action, Mapping) or action.get("do") not in ACTIONS:
        raise ToolMisuse(f"Each action says what to do: {', '.join(ACTIONS)}.")
    do = str(action["do"])
    given = {_WRITTEN_AS.get((do, name), name): value for name, value in action.items() if name != "do"}
    step = ToolCall(call.id, do, given)
    if do != "type" or not any(step.has(place) for place in _PLACES):
        return (step,)
    text = {"text": given.pop("text", "")}
    return (ToolCall(call.id, "click", given | {acts.VALUE: ""}), ToolCall(call.id, do, text))


async def _seen(controller: DesktopController, picture: str, budget: PictureBudget) -> Capture:
    """Capture the active window with its menus; the whole screen if `picture` asks for it or none is active."""
    await controller.screen_capture.rest()
    window = controller.active_window()
    if picture == _SCREEN or window is None:
        return await controller.screen_capture.capture(controller.region_of(0, ""), "screen", budget)
    popups = [shown.area for shown in controller.backend.windows.shown() if shown.is_popup and shown.ref == window.ref]
    label = f'window "{clip_line(window.title, _TITLE_CHARS)}"'
    whole = bounds_of([window.area, *popups])
    area = whole and whole.overlap(controller.region_of(0, ""))
    if area is None or whole == window.area:
        return await controller.screen_capture.capture_window(window, label, budget)
    return await controller.screen_capture.capture(area, f"{label} and its menu", budget)


class Computer:
    """The handlers of the tools for mouse and keyboard. Each runs on the desktop thread.

    `sight` says which pictures the model in use can see.
    """

    def __init__(self, desktop: Desktop, sight: ModelSight | None = None) -> None:
        self._desktop = desktop
        self._sight = sight or ModelSight()

    async def click(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_at_a_place, acts.click, call, self._sight)

    async def move(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_at_a_place, acts.move, call, self._sight)

    async def drag(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_at_a_place, acts.drag, call, self._sight)

    async def scroll(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_at_a_place, acts.scroll, call, self._sight)

    async def type(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_stepwise, acts.type_text, call, from_elsewhere(turn.admit), self._sight)

    async def key(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_stepwise, acts.press_keys, call, from_elsewhere(turn.admit), self._sight)

    async def button_down(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_at_a_place, partial(acts.button, down=True), call, self._sight)

    async def button_up(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        return await self._desktop.run(_at_a_place, partial(acts.button, down=False), call, self._sight)

    async def batch(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        result = await self._desktop.run(in_one_go, call, self._sight, from_elsewhere(turn.admit))
        opened = result.payload.get(_OPENED, ())
        for name in opened if isinstance(opened, (list, tuple)) else ():
            await turn.audit("open_app", {"name": name})
        return result


async def _at_a_place(controller: DesktopController, act: Act, call: ToolCall, sight: ModelSight) -> ToolResult:
    """Carry out an act. If nothing fits its target, return a picture in which the model can point at the target."""
    try:
        return await with_changed_part(controller, await act(controller, call), sight)
    except NotFound as missing:
        return await to_point_in(controller, call, missing, sight)
    except TargetChanged as changed:
        return await to_look_anew(controller, call, changed, sight)


async def _stepwise(
    controller: DesktopController,
    act: ActInSteps,
    call: ToolCall,
    admit: Admit,
    sight: ModelSight,
) -> ToolResult:
    return await with_changed_part(controller, await act(controller, call, admit), sight)


Handler = Callable[[Computer, ToolCall, TurnContext], Awaitable[ToolResult]]

_BUTTON = Param("button", description="which button; left if left out", choices=tuple(b.value for b in Button))
_MODIFIERS = Param("modifiers", description="keys held meanwhile, such as ctrl+shift")
_X = Param("x", ValueType.NUMBER, "from the left, in pixels of the capture")
_Y = Param("y", ValueType.NUMBER, "from the top")
_PAIRS = (("coordinate", ("x", "y")), ("coordinates", ("x", "y")), ("position", ("x", "y")))
"""Names under which many models write a place as one list of two numbers."""
_AT = (_X, _Y, *ELEMENT)
_SPACES = (CAPTURE, SPACE)
_POINTER = RareFamily("pointer", "hover, as for a tooltip; press a button and let it go elsewhere")


def _tool(
    name: str,
    description: str,
    execute: Handler,
    attrs: tuple[Param, ...],
    *examples: str,
    aim: ScreenAim,
    steps: tuple[str, ...],
    gesture: Gesture | None = None,
    pressed: str = "",
    rare: RareFamily | None = None,
) -> ToolSpec:
    splits = _PAIRS if _X in attrs else ()
    spec = ToolSpec(name, description, Effect.DESKTOP, execute, attrs=attrs, examples=examples, splits=splits)
    return replace(spec, aim=aim, gesture=gesture, steps=steps, pressed=pressed, rare=rare)


COMPUTER = Family(
    Computer,
    (
        _tool(
            "computer_click",
            "Click at a target (its visible name; surest), at a ref, or at x and y.",
            Computer.click,
            (
                *_AT,
                _BUTTON,
                Param("count", ValueType.INTEGER, "2: a double click", minimum=1, maximum=3),
                _MODIFIERS,
                Param("receipt", description="answer at once, without looking at what it did", choices=("none",)),
                *_SPACES,
            ),
            '<computer_click target="Save"/>',
            '<computer_click x="412" y="80" button="right"/>',
            aim=ScreenAim.POINT,
            gesture=Gesture.CLICK,
            steps=("click",),
        ),
        ToolSpec(
            "computer_type",
            "Type text into whatever has the keyboard, in any script; line breaks press Return, tabs Tab.",
            Effect.DESKTOP,
            Computer.type,
            body=Param("text", required=True, short=False, aliases=("value", "content"), is_typed=True),
            examples=("<computer_type>Dear Ada,</computer_type>",),
            aim=ScreenAim.FOCUS,
            typed="text",
            steps=("type", "page_type"),
        ),
        _tool(
            "computer_key",
            "Press keys: a chord such as ctrl+s, or several chords with blanks between them.",
            Computer.key,
            (
                Param(
                    "keys",
                    description="such as Return, ctrl+shift+t, alt+F4, kp_7",
                    required=True,
                    aliases=("key", "combo", "text"),
                ),
                Param("repeat", ValueType.INTEGER, "how often", minimum=1, maximum=100),
                Param("hold_ms", ValueType.INTEGER, "how long each is held", minimum=0, maximum=60_000),
            ),
            '<computer_key keys="ctrl+s"/>',
            aim=ScreenAim.FOCUS,
            pressed="keys",
            steps=("key", "page_key"),
        ),
        _tool(
            "computer_scroll",
            "Turn the wheel by dx and dy notches (positive: right, down), at a place or where the pointer is.",
            Computer.scroll,
            (
                *_AT,
                Param("dx", ValueType.INTEGER, "notches to the right; negative: left", minimum=-100, maximum=100),
                Param("dy", ValueType.INTEGER, "notches down; negative: up", minimum=-100, maximum=100),
                _MODIFIERS,
                *_SPACES,
            ),
            '<computer_scroll x="640" y="400" dy="5"/>',
            aim=ScreenAim.POINT,
            gesture=Gesture.SCROLL,
            steps=("scroll",),
        ),
        _tool(
            "computer_drag",
            "Drag from one place to another, each an x,y pair or a visible name, or along a path of pairs.",
            Computer.drag,
            (
                Param("path", description="two points or more, as in 600,500 750,560"),
                Param("from", description="where to press: x,y or a visible name"),
                Param("to", description="where to let go: x,y or a visible name"),
                _BUTTON,
                _MODIFIERS,
                Param("duration_ms", ValueType.INTEGER, "how long it takes; 200", minimum=0, maximum=20_000),
                *_SPACES,
            ),
            '<computer_drag path="600,500 750,560"/>',
            '<computer_drag from="report.txt" to="Trash"/>',
            aim=ScreenAim.ENDS,
            gesture=Gesture.DRAG,
            steps=("drag",),
        ),
        _tool(
            "computer_move",
            "Move the pointer without clicking, to see a tooltip or open a submenu.",
            Computer.move,
            (*_AT, *_SPACES),
            '<computer_move x="30" y="200"/>',
            aim=ScreenAim.POINT,
            gesture=Gesture.HOVER,
            steps=("move", "page_hover"),
            rare=_POINTER,
        ),
        _tool(
            "mouse_down",
            "Press a button and keep it pressed. Only for what computer_drag cannot do; follow it by mouse_up.",
            Computer.button_down,
            (*_AT, _BUTTON, *_SPACES),
            '<mouse_down x="100" y="100"/>',
            aim=ScreenAim.POINT,
            gesture=Gesture.HOLD,
            steps=("mouse_down",),
            rare=_POINTER,
        ),
        _tool(
            "mouse_up",
            "Let go of a button that mouse_down pressed.",
            Computer.button_up,
            (*_AT, _BUTTON, *_SPACES),
            '<mouse_up x="300" y="120"/>',
            aim=ScreenAim.POINT,
            gesture=Gesture.RELEASE,
            steps=("mouse_up",),
            rare=_POINTER,
        ),
        ToolSpec(
            "computer_batch",
            "Do several actions in order, up to the first that fails. Each place is looked for when its turn comes, so "
            "an action may use what the one before opens; type with a target goes into that field.",
            Effect.DESKTOP,
            Computer.batch,
            attrs=(Param("picture", description="see this at the end, too", choices=("window", _SCREEN)),),
            children=(
                Param(
                    "action",
                    description="one action; its text is what is typed or set",
                    attrs=(
                        Param("do", required=True, choices=tuple(ACTIONS), aliases=("action",)),
                        *_AT,
                        Param("keys", aliases=("key",)),
                        Param("dx", ValueType.INTEGER, minimum=-100, maximum=100),
                        Param("dy", ValueType.INTEGER, minimum=-100, maximum=100),
                        Param("path"),
                        Param("from"),
                        Param("to"),
                        Param("count", ValueType.INTEGER, minimum=1, maximum=3),
                        Param("repeat", ValueType.INTEGER, minimum=1, maximum=100),
                        Param("button", choices=tuple(b.value for b in Button)),
                        Param("modifiers"),
                        Param("seconds", ValueType.NUMBER, minimum=0, maximum=60),
                        *_SPACES,
                    ),
                    many=True,
                    required=True,
                    short=False,
                ),
            ),
            examples=(
                '<computer_batch><action do="open" target="text editor"/><action do="menu" path="File > Save As"/>'
                '<action do="set_value" target="Name">report.txt</action><action do="press" target="Save"/>'
                "</computer_batch>",
            ),
            aim=ScreenAim.NONE,
        ),
    ),
)
