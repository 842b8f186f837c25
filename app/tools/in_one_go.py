"""Several actions in one call: in order, up to the first that fails, with one picture at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from app.base.errors import ToolFailed, ToolMisuse
from app.desktop.capture import Budget
from app.desktop.seat import Seat
from app.protocol.call import ToolCall
from app.protocol.result import JsonValue, ToolResult
from app.tools import acts
from app.tools.context import Admit
from app.tools.pictures import shown

_MOST = 40
_STEP_S = 0.05

Act = Callable[[Seat, ToolCall], Awaitable[ToolResult]]
_WITH_STEPS: Mapping[str, Callable[[Seat, ToolCall, Admit], Awaitable[ToolResult]]] = {
    "type": acts.type_text,
    "key": acts.press_keys,
}
"""Actions that hold steps of their own."""


async def _wait(seat: Seat, call: ToolCall) -> ToolResult:
    seconds = call.number("seconds")
    until = seat.clock.now() + seconds
    while (left := until - seat.clock.now()) > 0:
        seat.stop.check()
        await asyncio.sleep(min(left, _STEP_S))
    return ToolResult(True, call.name, {}, f"Waited {seconds:g} seconds.")


ACTIONS: Mapping[str, Act] = {
    "click": acts.click,
    "type": acts.type_text,
    "key": acts.press_keys,
    "scroll": acts.scroll,
    "drag": acts.drag,
    "move": acts.move,
    "mouse_down": partial(acts.button, down=True),
    "mouse_up": partial(acts.button, down=False),
    "wait": _wait,
}


async def in_one_go(seat: Seat, call: ToolCall, budget: Budget, admit: Admit) -> ToolResult:
    """Run the actions of a batch, each once it is let through.

    A failure is a result that is not ok, with what was done and what was not.
    """
    steps = _steps(call)
    told: list[str] = []
    failure = ""
    for number, step in enumerate(steps, 1):
        if refusal := await admit(step):
            failure = f"{number}. {step.name} was not run. {refusal}"
            break
        try:
            result = await _run(seat, step, admit)
        except (ToolMisuse, ToolFailed) as error:
            failure = f"{number}. {step.name} failed: {error}"
            break
        told.append(f"{number}. {result.llm_echo}")
    return await _answer(seat, call, budget, (told, failure, len(steps)))


async def _run(seat: Seat, step: ToolCall, admit: Admit) -> ToolResult:
    sequence = _WITH_STEPS.get(step.name)
    return await (sequence(seat, step, admit) if sequence else ACTIONS[step.name](seat, step))


def _steps(call: ToolCall) -> list[ToolCall]:
    given = call.arguments.get("action", ())
    if not isinstance(given, (list, tuple)) or not given:
        raise ToolMisuse('A batch needs actions, as in <action do="click" target="OK"/>.')
    if len(given) > _MOST:
        raise ToolMisuse(f"{len(given)} actions are too many for one call; at most {_MOST}.")
    return [_step(call, action) for action in given]


def _step(call: ToolCall, action: JsonValue) -> ToolCall:
    if not isinstance(action, Mapping) or action.get("do") not in ACTIONS:
        raise ToolMisuse(f"Each action says what to do: {', '.join(ACTIONS)}.")
    rest = {name: value for name, value in action.items() if name != "do"}
    return ToolCall(call.id, str(action["do"]), rest)


async def _answer(seat: Seat, call: ToolCall, budget: Budget, outcome: tuple[list[str], str, int]) -> ToolResult:
    told, failure, count = outcome
    capture = await seat.eyes.capture(seat.region_of(0, ""), "screen", budget)
    lines = [*told, *([failure] if failure else [])]
    if failure and len(lines) < count:
        lines.append(f"Actions {len(lines) + 1} to {count} were not run.")
    picture = shown(call, capture, "\n".join(lines))
    payload: dict[str, JsonValue] = {**picture.payload, "done": len(told), "of": count, "lines": lines}
    if failure:
        payload |= {"tag": call.name, "reason": failure}
        return ToolResult(False, "tool_error", payload, picture.llm_echo, picture.llm_media)
    return ToolResult(True, call.name, payload, picture.llm_echo, picture.llm_media)
