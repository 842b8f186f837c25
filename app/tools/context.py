"""What a handler gets beside its call: the running turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from app.protocol.call import ToolCall
from app.protocol.result import JsonValue
from app.tools.pursuit import Pursue, nobody_pursues

Emit = Callable[[str, Mapping[str, JsonValue]], None]
Admit = Callable[[ToolCall], Awaitable[str]]
Audit = Callable[[str, Mapping[str, JsonValue]], Awaitable[None]]


def _unheard(_event: str, _payload: Mapping[str, JsonValue]) -> None:
    return None


async def _unkept(_kind: str, _details: Mapping[str, JsonValue]) -> None:
    return None


async def admitted(_step: ToolCall) -> str:
    """Nobody judges: for tools without a gate."""
    return ""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """`emit(event, payload)` feeds the call's card while it runs; `audit(kind, details)` records a state change;
    `admit(step)` must be asked before each action of a call that holds several: empty, or why it may not happen.
    `cancelled` is set when the person stops the turn (handlers that wait must watch it). `turn_id` groups what one
    turn changed, so that all of it can be taken back together. `pursue(goal, limits)` has the model reach a goal.
    """

    call_id: str = ""
    emit: Emit = _unheard
    audit: Audit = _unkept
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    turn_id: str = ""
    admit: Admit = admitted
    pursue: Pursue = nobody_pursues


def from_elsewhere(admit: Admit) -> Admit:
    """The question asked from the desktop's thread, answered on this one."""
    loop = asyncio.get_running_loop()

    async def ask(step: ToolCall) -> str:
        answer = asyncio.run_coroutine_threadsafe(_answered(admit, step), loop)
        return await asyncio.wrap_future(answer)

    return ask


async def _answered(admit: Admit, step: ToolCall) -> str:
    return await admit(step)
