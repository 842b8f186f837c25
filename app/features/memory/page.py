"""The list of what is remembered on its page, and changes to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from app.base import ids
from app.base.clock import SystemClock
from app.base.values import replace
from app.features.memory.store import Fact, standard_facts
from app.ui.machine import CollectionEntry, no_such_action

_MOST = 200


class RememberedFacts:
    """The facts and rules in the memory, the newest first, or those that match the words best."""

    def __init__(self) -> None:
        self._memory = standard_facts(SystemClock())

    async def entries(self, search: str) -> Sequence[CollectionEntry]:
        ask: Callable[[], list[Fact]] = (
            partial(self._memory.search, search, _MOST) if search else partial(self._memory.all, _MOST)
        )
        return [_remembered(fact) for fact in await asyncio.to_thread(ask)]

    async def act(self, action: str, key: str, words: str = "", /) -> str:
        turn = ids.unique("run-")
        match action:
            case "delete":
                await asyncio.to_thread(self._memory.forget, [int(key)], turn)
            case "change":
                (old,) = await asyncio.to_thread(self._memory.find, [int(key)])
                if words != " ".join(old.text.split()):  # because the line shows a fact of several lines as one
                    new = replace(old, id=0, text=words, said_by="person", quote="", at=0.0, turn=turn)
                    await asyncio.to_thread(self._memory.keep, new, [old.id])
            case _:
                raise no_such_action(action)
        return action


def _remembered(fact: Fact) -> CollectionEntry:
    source = [] if fact.said_by == "person" else [f"“{fact.quote}”"]
    return CollectionEntry(str(fact.id), " ".join(fact.text.split()), (fact.date, *source), (fact.text,))
