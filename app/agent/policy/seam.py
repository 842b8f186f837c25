"""What the gate asks of the desktop before a call runs. `wiring` implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.agent.policy.values import Control
from app.protocol.call import ToolCall
from app.protocol.result import Media


class Resolve(Protocol):
    """Both take a few milliseconds and never raise: what cannot be known is left out."""

    async def seen(self, call: ToolCall, aim: str) -> Sequence[Control]:
        """What the call would act on now. `aim` is the tool's entry in the table of aims."""
        ...

    async def picture(self, call: ToolCall, aim: str) -> tuple[Media, tuple[int, int] | None] | None:
        """The part of the screen it would act on, and where in it; None where there is nothing to show."""
        ...


class NoDesktop:
    """Nothing is known of the screen."""

    async def seen(self, call: ToolCall, aim: str) -> Sequence[Control]:  # noqa: ARG002
        return ()

    async def picture(self, call: ToolCall, aim: str) -> tuple[Media, tuple[int, int] | None] | None:  # noqa: ARG002
        return None
