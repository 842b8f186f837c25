"""Decide which calls of a batch may run in parallel, and which keep the order in which they were written.

A look waits for the acts before it: a picture, a file or a window read after a click or a command shows its effect. An
act waits for the looks before it, and for other acts. Calls on different files do not wait for each other; a folder
counts as all files in it. Everything else runs in parallel: looks, unrelated files, the network.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Iterator, Sequence

from app.base.values import dataclass
from app.protocol.call import Block
from app.protocol.spec import Effect, ToolSpec

AT_ONCE = 8
"""Calls of one batch that run at the same time."""
_PATHS = ("path", "source", "destination")
_ACTS = frozenset({Effect.DESKTOP, Effect.EXECUTES})
_BOUND = frozenset({Effect.READS, Effect.WRITES, Effect.DESKTOP})
"""Effects of calls that wait for an act before them."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a call does, the paths and the vendor's toolset it touches, and whether all others wait for it."""

    effects: frozenset[Effect]
    touched: frozenset[str]
    is_wait: bool = False


def reach_of(block: Block, spec: ToolSpec | None, toolset: str = "") -> Reach:
    """Of a call, its shape (None for a tool that does not exist) and the vendor's toolset it belongs to."""
    if spec is None:
        return Reach(frozenset({Effect.TALKS}), frozenset())
    is_place = spec.effect is not Effect.DESKTOP
    touched = {posixpath.normpath(path) for path in _paths(block, spec)} if is_place else set()
    effects = {spec.effect}
    if spec.effects_by_call:
        # It waits for earlier calls, because its effects depend on files that they may still write.
        effects.add(Effect.EXECUTES)
    return Reach(frozenset(effects), frozenset(touched | {f"toolset {toolset}"} if toolset else touched), spec.is_wait)


def keep_order(first: Reach, second: Reach) -> bool:
    """Whether the second call must wait for the first: it looks at what the first did, or changes what it looks at."""
    if first.is_wait or second.is_wait or _share(first, second):
        return True
    if first.effects & _ACTS and second.effects & _BOUND:
        return True
    is_look = Effect.READS in first.effects and not first.touched
    if Effect.DESKTOP in second.effects:
        return is_look or bool(first.effects & {Effect.WRITES, Effect.EXECUTES})
    return Effect.EXECUTES in second.effects and bool(first.effects & {Effect.WRITES, Effect.DESKTOP})


def _share(first: Reach, second: Reach) -> bool:
    """Whether they touch the same file, or one a folder that holds the other's, and one of them changes it."""
    if any(name.startswith("toolset ") for name in first.touched & second.touched):
        return True
    if first.effects | second.effects == {Effect.READS}:
        return False
    return any(_holds(one, other) or _holds(other, one) for one in first.touched for other in second.touched)


def _holds(folder: str, path: str) -> bool:
    return folder in (path, ".") or path.startswith(f"{folder}/")


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


def _paths(block: Block, spec: ToolSpec) -> Iterator[str]:
    given = [*block.attrs.items(), *((child.name, child.text) for child in block.children), *(block.args or {}).items()]
    for name, value in given:
        param = spec.param(name)
        if (param.name if param else name) in _PATHS:
            yield from (
                one for one in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(one, str)
            )
