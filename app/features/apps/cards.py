"""The card of a small app: a live picture of its window, and what the person can do with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from app.base.phrases import Phrase
from app.base.values import replace
from app.protocol.call import Media
from app.ui.cards.kinds import REVIVE, CardActions, CardContent, CardKind, Offered

_PIN = {"pin": Phrase("Pin to the desktop")}


class LivePictures(Protocol):
    """Takes pictures of the windows of small apps."""

    async def look(self, surface_id: str, /) -> tuple[bytes, int, int] | None:
        """Return a JPEG of the window, its width and its height in pixels; None while it is closed."""
        ...


class AppCard(CardKind):
    """Shows the window of the small app whose id the call's payload has."""

    is_live = True

    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        surface = payload.get("id")
        return _live(surface, Phrase("A live picture of its window")) if isinstance(surface, str) and surface else None

    async def press(self, button: str, content: CardContent, does: CardActions, /) -> None:
        surface = content.about["surface"]
        if button == "pin":
            does.tell(await does.carry_out("apps", "pin", surface))
            return
        tool = "launch_shortcut" if surface.startswith("widget-") else "launch_app"
        # Without a card, because the window that opens is enough for the person to see.
        await does.perform(tool, {"id": surface}, is_shown=False)

    async def renewed(self, content: CardContent, offered: Offered, /) -> CardContent:
        surface, windows = content.about["surface"], offered(LivePictures)
        taken = await windows.look(surface) if windows else None
        if taken is None:
            return _live(surface, Phrase("Its window is closed"))
        data, width, height = taken
        return replace(
            _live(surface, Phrase("A live picture of its window")),
            picture=Media(data, "image/jpeg", width, height, surface),
        )

    def rested(self, content: CardContent, /) -> CardContent:
        buttons = {REVIVE: Phrase("Open again"), **_PIN}
        return CardContent(Phrase("Tap to open it again"), buttons, on_picture=REVIVE, about=content.about)


def _live(surface: str, line: Phrase) -> CardContent:
    buttons = {"open": Phrase("Open"), **_PIN}
    return CardContent(line, buttons, on_picture="open", about={"surface": surface}, is_live=True)
