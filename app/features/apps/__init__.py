"""Small apps that the model writes: kept in a folder each, and shown by a worker in windows without any way out.

Pages come in as text through the tools, or from a tool server by `PageShower`; the person opens them from the list, the
menu of programs and `wisp apps`. What a page asks of Wisp goes out as a stranger's wish: the policy judges it, and the
tools of other features do it, where they are switched on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.features.apps.settings import ALL
from app.features.feature import Ask, Feature, OpenFeature, Room, Tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.base.findings import Finding
    from app.tools.registry import Family
    from app.ui.machine import Collection


class AppsFeature(Feature):
    name = "apps"
    about = "small apps that it writes"
    commands = {  # noqa: RUF012
        "apps": "the apps that Wisp has made: `list`, `open NAME`, `rename NAME NEW`, `pin NAME`, `delete NAME` …"
    }
    settings = ALL

    def families(self) -> Sequence[Family]:
        from app.features.apps.tools import SURFACES

        return (SURFACES,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.features.apps.conversation import opened

        return opened(room)

    def collections(self) -> Mapping[str, Callable[[Ask], Collection]]:
        from app.features.apps.library import AppLibrary

        return {"apps": lambda _ask: AppLibrary()}

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.apps.check import small_apps

        return (small_apps,)

    def named(self) -> Sequence[tuple[str, str]]:
        from app.features.apps.store import SurfaceStore, standard_folder
        from app.services.files.checkpoints import standard_checkpoints

        return [(one.id, one.name) for one in SurfaceStore(standard_folder(), standard_checkpoints()).all()]

    async def accompany(self, tell: Tell, /) -> None:
        import asyncio
        import importlib

        from app.base.errors import WispError

        library = await asyncio.to_thread(importlib.import_module, "app.features.apps.library")
        try:
            await library.AppLibrary().show_pinned()
        except WispError as error:
            tell("info", error.for_people())


FEATURE = AppsFeature()
