"""Which calls of a batch may run side by side, and which must keep the order they were written in.

Calls that name files are told apart by them. Calls that reach out (network, commands) do not wait for each other.
Everything else looks at or acts on the one desktop, in order: a picture asked for after a click shows its effect.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from app.protocol.call import Block
from app.protocol.spec import Effect, ToolSpec

_PATHS = ("path", "source", "destination")
_REACHING_OUT = (Effect.NETWORK, Effect.EXECUTES)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a call touches, as names that other calls may share."""

    effect: Effect
    touched: frozenset[str]


def reach_of(block: Block, spec: ToolSpec | None, toolset: str = "") -> Reach:
    """Of a call, its shape (None for a tool that does not exist) and the vendor's toolset it belongs to."""
    if spec is None:
        return Reach(Effect.TALKS, frozenset())
    touched = (
        {f"file {posixpath.normpath(path)}" for path in _paths(block)} if spec.effect is not Effect.DESKTOP else set()
    )
    if not touched and spec.effect not in _REACHING_OUT:
        touched.add("desktop")
    if toolset:
        touched.add(f"toolset {toolset}")
    return Reach(spec.effect, frozenset(touched))


def keep_order(first: Reach, second: Reach) -> bool:
    """Whether the second call must wait for the first: they share something, or one may need what the other made."""
    if first.touched & second.touched:
        return True
    effects = {first.effect, second.effect}
    return effects == {Effect.WRITES, Effect.EXECUTES} or (Effect.DESKTOP in effects and Effect.EXECUTES in effects)


def _paths(block: Block) -> Iterator[str]:
    given = [*block.attrs.items(), *((child.name, child.text) for child in block.children), *(block.args or {}).items()]
    for name, value in given:
        if name in _PATHS:
            yield from (
                one for one in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(one, str)
            )
