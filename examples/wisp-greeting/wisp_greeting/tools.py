"""The tool: its handler, and what a model is told about it."""

from __future__ import annotations

import time

from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.base.facts import Brought
from app.protocol.call import ToolCall, ToolResult
from app.protocol.spec import Effect, Param, ToolSpec
from app.tools.registry import Family, TurnContext

_NOON = 12


class Greetings:
    """The handler. Its constructor names exactly the services that it may touch."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def greet(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        name = call.text("name")
        if name == "nobody":
            raise ToolFailed("There is nobody to greet.", "Name somebody.")
        is_morning = time.localtime(self._clock.wall()).tm_hour < _NOON
        greeting = f"Good {'morning' if is_morning else 'day'}, {name}!"
        return ToolResult(True, "greet", {"name": name}, greeting, facts=(Brought(greeting),))


GREETINGS = Family(
    Greetings,
    (
        ToolSpec(
            name="greet",
            description="Greets somebody by name.",
            effect=Effect.TALKS,  # what the gate judges by
            execute=Greetings.greet,
            attrs=(Param("name", description="who to greet", required=True),),
            examples=('<greet name="Ada"/>',),
        ),
    ),
)
