"""What `computer_use` needs of whoever can run a model: a goal in, what became of it out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.base.errors import ToolMisuse


@dataclass(frozen=True, slots=True)
class Limits:
    """The ceilings of one goal; `cost_usd` None leaves it to the turn's own."""

    passes: int
    seconds: float
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Pursued:
    """`text` is the last word on it; `deeds` are the lines that its calls answered with, in order."""

    is_reached: bool
    text: str
    passes: int
    seconds: float
    cost_usd: float | None
    deeds: tuple[str, ...] = ()


Pursue = Callable[[str, Limits], Awaitable[Pursued]]


async def nobody_pursues(_goal: str, _limits: Limits) -> Pursued:
    """Where no model is at work, or one that pursues a goal already."""
    raise ToolMisuse("Only a model at work can pursue a goal, and one at a time. Write the single steps instead.")
