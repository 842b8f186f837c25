"""What Wisp remembers about the person. Facts and rules come in through its tools and its page; the ones that fit go
into each pass of the model. They are kept in `memory.db`, and leave it only when the person forgets them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.base.findings import Finding
    from app.tools.registry import Family
    from app.ui.machine import Ask, Collection, ListPage


class Memory(Feature):
    name = "memory"
    about = Phrase("Remembering facts and rules about you")
    words = Path(__file__).parent / "words"
    commands = {"memory": "list, export or forget what Wisp remembers about you"}  # noqa: RUF012

    def families(self) -> Sequence[Family]:
        from app.features.memory.tools import MEMORY

        return (MEMORY,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.features.memory.store import standard_facts
        from app.features.memory.tools import MemoryTools, Reminders

        store = standard_facts(room.clock)

        async def close() -> None:
            store.close()

        return OpenFeature(
            handlers=(MemoryTools(store, room.past),),
            remind=Reminders(store),
            take_back=store.take_back,
            close=close,
        )

    def collections(self) -> Sequence[ListPage]:
        from app.ui.machine import ListPage

        def facts(_ask: Ask) -> Collection:
            from app.features.memory.page import RememberedFacts

            return RememberedFacts()

        page = ListPage(
            "memory",
            Phrase("Memory"),
            Phrase("Search the memory"),
            facts,
            nothing=Phrase("Nothing is remembered yet. Say “remember that …”."),
            change=Phrase("Change"),
            rank=30,
        )
        return (page,)

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.memory.store import check_memory

        return (check_memory,)


FEATURE = Memory()
