"""Which calls of a batch may run side by side, and which must keep the order they were written in.

Calls that name files are told apart by them. Calls that reach out (network, commands) do not wait for each other.
Everything else looks at or acts on the one desktop, in order: a picture asked for after a click shows its effect.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from app.protocol.call import Block
from app.protocol.spec import Effect, ToolSpec

AT_ONCE = 8
"""Calls of one batch that run at the same time."""
_PATHS = ("path", "source", "destination")
_REACHING_OUT = (Effect.NETWORK, Effect.EXECUTES)
_IN_ORDER = ((Effect.WRITES, Effect.EXECUTES), (Effect.DESKTOP, Effect.EXECUTES))


@dataclass(frozen=True, slots=True)
class Reach:
    """What a call touches, as names that other calls may share."""

    effects: frozenset[Effect]
    touched: frozenset[str]


def reach_of(block: Block, spec: ToolSpec | None, toolset: str = "") -> Reach:
    """Of a call, its shape (None for a tool that does not exist) and the vendor's toolset it belongs to."""
    if spec is None:
        return Reach(frozenset({Effect.TALKS}), frozenset())
    files = {f"file {posixpath.normpath(path)}" for path in _paths(block)}
    is_desktop = spec.effect is Effect.DESKTOP or not (files or spec.effect in _REACHING_OUT)
    touched = {"desktop"} if is_desktop else files
    effects = {spec.effect}
    if spec.effects_by_call:
        # What it does depends on files that earlier calls may still write: it waits for them.
        effects.add(Effect.EXECUTES)
    return Reach(frozenset(effects), frozenset(touched | {f"toolset {toolset}"} if toolset else touched))


def keep_order(first: Reach, second: Reach) -> bool:
    """Whether the second call must wait for the first: they share something, or one may need what the other made."""
    if first.touched & second.touched:
        return True
    return any(
        (one in first.effects and other in second.effects) or (other in first.effects and one in second.effects)
        for one, other in _IN_ORDER
    )


async def side_by_side(reaches: Sequence[Reach], run: Callable[[int], Awaitable[None]]) -> None:
    """Run the calls of a batch by their index, each after those it must wait for, at most `AT_ONCE` at a time."""
    places = asyncio.Semaphore(AT_ONCE)
    running: list[asyncio.Task[None]] = []

    async def run_after(earlier: list[asyncio.Task[None]], index: int) -> None:
        if earlier:
            await asyncio.wait(earlier)
        async with places:
            await run(index)

    async with asyncio.TaskGroup() as group:
        for index, mine in enumerate(reaches):
            earlier = [task for task, other in zip(running, reaches, strict=False) if keep_order(other, mine)]
            running.append(group.create_task(run_after(earlier, index)))


def _paths(block: Block) -> Iterator[str]:
    given = [*block.attrs.items(), *((child.name, child.text) for child in block.children), *(block.args or {}).items()]
    for name, value in given:
        if name in _PATHS:
            yield from (
                one for one in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(one, str)
            )
