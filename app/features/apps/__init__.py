"""Small apps that the model writes: kept in a folder each, and shown by a worker in windows without any way out.

Pages come in as text through the tools, or from a tool server by `PageShower`; the person opens them from the list, the
menu of programs and `wisp apps`. What a page asks of Wisp goes out as a stranger's wish: the policy judges it, and the
tools of other features do it, where they are switched on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.apps.settings import ALL
from app.features.feature import AskPerson, Feature, OpenFeature, Room, Tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.base.findings import Finding
    from app.base.remains import Remains
    from app.tools.registry import Family
    from app.ui.cards.kinds import CardKind
    from app.ui.machine import Ask, Collection, ListPage


class AppsFeature(Feature):
    name = "apps"
    about = Phrase("Small apps that Wisp makes")
    words = Path(__file__).parent / "words"
    commands = {  # noqa: RUF012
        "apps": "list, open, rename, pin, export or delete the apps that Wisp made for you"
    }
    settings = ALL

    def families(self) -> Sequence[Family]:
        from app.features.apps.tools import SURFACES

        return (SURFACES,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.features.apps.conversation import opened

        return opened(room)

    def collections(self) -> Sequence[ListPage]:
        from app.ui.machine import ListPage

        def library(_ask: Ask) -> Collection:
            from app.features.apps.library import AppLibrary

            return AppLibrary()

        page = ListPage(
            "apps",
            Phrase("Apps"),
            Phrase("Search apps"),
            library,
            nothing=Phrase("There are no apps yet. Say “make a timer”."),
            change=Phrase("Rename"),
            delete=Phrase("Delete “{title}” with all that is saved in it? “wisp undo” in a terminal brings it back."),
            extra="surfaces",
            rank=10,
        )
        return (page,)

    def cards(self) -> Mapping[str, CardKind]:
        from app.features.apps.cards import AppCard

        return {"app": AppCard()}

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.apps.webengine import check_engines

        return (check_engines,)

    def named(self) -> Sequence[tuple[str, str]]:
        from app.features.apps.store import SurfaceStore, standard_folder
        from app.services.files.checkpoints import standard_checkpoints

        return [(one.id, one.name) for one in SurfaceStore(standard_folder(), standard_checkpoints()).all()]

    def remains(self) -> Sequence[Remains]:
        from app.features.apps.menu import remains

        return remains()

    async def accompany(self, tell: Tell, ask: AskPerson, /) -> None:
        import asyncio
        import importlib

        from app.base.errors import WispError
        from app.options import words_here

        library = await asyncio.to_thread(importlib.import_module, "app.features.apps.library")
        try:
            await library.AppLibrary().show_pinned()
        except WispError as error:
            tell("info", error.for_people(words_here()))


FEATURE = AppsFeature()
