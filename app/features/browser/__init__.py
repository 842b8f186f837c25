"""A browser of Wisp's own, without a window unless the person wants one. The model opens pages and acts on their
elements by one tool; a proxy of Wisp's own judges every address, and downloads land in the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base import paths
from app.base.phrases import Phrase
from app.features.browser.settings import ALL
from app.features.feature import Feature, OpenFeature, Room

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.base.findings import Finding
    from app.tools.registry import Family


class BrowserFeature(Feature):
    name = "browser"
    about = Phrase("Opening web pages in a browser of its own")
    words = Path(__file__).parent / "words"
    settings = ALL

    def families(self) -> Sequence[Family]:
        from app.features.browser.tools import BROWSER

        return (BROWSER,)

    def open(self, room: Room, /) -> OpenFeature:
        from app.agent.inspection import PageInspector
        from app.features.browser.session import BrowserSession
        from app.features.browser.starting import BrowserWishes
        from app.features.browser.tools import Browsing, JudgedElements, leave_after_turn
        from app.features.browser.transfers import PageFiles

        session = BrowserSession(
            paths.data_dir() / "browser",
            room.processes.open_ports,
            wishes=lambda: BrowserWishes.of(room.now()),
            is_dry=not room.has_screen,
        )
        return OpenFeature(
            handlers=(Browsing(session, PageFiles(room.workspace, room.changes)),),
            offers={PageInspector: JudgedElements(session)},
            hear=leave_after_turn(session),
            close=session.close,
        )

    def checks(self) -> Sequence[Callable[[], Finding]]:
        from app.features.browser.starting import check_browser

        return (check_browser,)


FEATURE = BrowserFeature()
