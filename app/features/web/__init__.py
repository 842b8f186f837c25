"""Searching the web, reading pages and looking at pictures, without a browser.

Questions come in by three tools, from the model and as wishes of small apps. They go out to the search engines that the
person set up, and to public addresses by `services/web`, behind its walls. What comes back is marked as others' words.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room
from app.features.web.settings import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from app.base.findings import Finding
    from app.tools.registry import Family


class WebFeature(Feature):
    name = "web"
    about = Phrase("Searching the web and reading pages")
    words = Path(__file__).parent / "words"
    settings = ALL

    def families(self) -> Sequence[Family]:
        from app.features.web.tools import WEB

        return (WEB,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.features.web.search import WebSearch
        from app.features.web.tools import Web
        from app.services.web.pages import Pages

        pages, search = Pages(own_ports=room.processes.open_ports), WebSearch(room.now, room.key_of)
        return OpenFeature(handlers=(Web(pages, search),))

    def unready(self) -> Collection[str]:
        from app.features.web.search import WebSearch
        from app.settings.store import key_of, load

        engines, _ = WebSearch(load, key_of).engines()
        return () if engines else ("web_search",)

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.web.search import check_search

        return (check_search,)


FEATURE = WebFeature()
