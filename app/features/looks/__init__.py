"""How Wisp looks, and the pictures that it makes. The model changes the theme, draws in SVG, has pictures generated and
sets the picture behind all windows; every change of a look can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.base.phrases import Phrase
from app.features.feature import Feature, OpenFeature, Room

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.tools.edit import Undoable
    from app.tools.registry import Family
    from app.ui.cards.kinds import CardKind


class LooksFeature(Feature):
    name = "looks"
    about = Phrase("Changing how Wisp looks, drawing, and changing the desktop's background")
    words = Path(__file__).parent / "words"
    commands = {"theme": "list the themes, choose how Wisp looks, or go back to the usual looks"}  # noqa: RUF012

    def families(self) -> Sequence[Family]:
        from app.features.looks.drawings import DRAWING
        from app.features.looks.tools import LOOKS

        return (LOOKS, DRAWING)

    def open(self, room: Room, /) -> OpenFeature:
        import asyncio

        from app.features.looks.cards import Drafts
        from app.features.looks.drawings import DraftDrawer, Drawings
        from app.features.looks.tools import Looks
        from app.features.looks.wallpaper import DesktopWallpaper
        from app.providers.images import PictureMaker
        from app.services.svg import SvgRenderer
        from app.services.themes import Appearance
        from app.services.web.pages import Pages

        wallpaper = DesktopWallpaper() if room.has_screen else None
        renderer, maker = SvgRenderer(), PictureMaker(room.now, room.key_of)

        async def close() -> None:
            await asyncio.to_thread(renderer.close)

        return OpenFeature(
            handlers=(
                Looks(Appearance(), maker, Pages(), wallpaper),
                Drawings(room.workspace, room.changes, renderer, maker, Pages(), wallpaper),
            ),
            offers={Drafts: DraftDrawer(renderer)},
            close=close,
        )

    def cards(self) -> Mapping[str, CardKind]:
        from app.features.looks.cards import DrawingCard, PictureCard

        return {"picture": PictureCard(), "drawing": DrawingCard()}

    def undoables(self, *, has_screen: bool) -> Sequence[Undoable]:
        from app.features.looks.wallpaper import DesktopWallpaper

        return (DesktopWallpaper(),) if has_screen else ()


FEATURE = LooksFeature()
