"""The cards of pictures that Wisp made, with what the person can do with them. A drawing in SVG is seen while the model
writes it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from app.base.errors import WispError
from app.base.phrases import Phrase
from app.base.values import replace
from app.protocol.call import Media
from app.ui.cards.kinds import CardActions, CardContent, CardKind, Offered

_WALLPAPER = {"wallpaper": Phrase("Use as wallpaper")}
_TAKE_BACK = {"unhang": Phrase("Take back the wallpaper")}


class Drafts(Protocol):
    """Draws what there is of an SVG that the model still writes."""

    async def draw(self, text: str, /) -> Media | None:
        """None if nothing of the picture can be drawn yet."""
        ...


class PictureCard(CardKind):
    """Shows a picture by its file. `path` is the file as tools name it; `prompt` and `size` are what a picture was
    generated from.
    """

    def shown(self, payload: Mapping[str, object], /) -> CardContent | None:
        names = ("file", "path", "prompt", "size")
        about = {name: value for name in names if isinstance(value := payload.get(name), str)}
        if not about.get("file"):
            return None
        return CardContent(buttons=_buttons(about, is_hung=False), about=about)

    async def press(self, button: str, content: CardContent, does: CardActions, /) -> None:
        import asyncio  # late, because the kinds of cards are there before the first paint

        about = content.about
        file = Path(about["file"])
        match button:
            case "insert":
                await asyncio.to_thread(_content_of, file)
                does.attach(file)
            case "save":
                does.save_copy(file.name, await asyncio.to_thread(_content_of, file))
            case "copy":
                is_svg = file.suffix == ".svg"  # which the clipboard gets as it is drawn on the card
                await does.copy_picture(b"" if is_svg else await asyncio.to_thread(_content_of, file))
            case "again":
                asked = {"prompt": about["prompt"], "size": about.get("size") or "square"}
                await does.perform("generate_image", asked)
            case "wallpaper":
                # No second question: the button says what it does, and one press on the same place takes it back.
                is_hung = await does.perform("set_wallpaper", {"path": about.get("path") or about["file"]})
                does.show(replace(content, buttons=_buttons(about, is_hung=is_hung)))
            case "unhang":
                is_hung = not await does.perform("set_wallpaper", {"restore": True})
                does.show(replace(content, buttons=_buttons(about, is_hung=is_hung)))


class DrawingCard(PictureCard):
    """Shows a drawing in SVG, also while it is written."""

    is_drawn = True

    async def draft(self, text: str, offered: Offered, /) -> Media | None:
        drafts = offered(Drafts)
        return await drafts.draw(text) if drafts else None


def _buttons(about: Mapping[str, str], *, is_hung: bool) -> dict[str, Phrase]:
    return {
        "insert": Phrase("Insert"),
        "save": Phrase("Save…"),
        "copy": Phrase("Copy"),
        **(_TAKE_BACK if is_hung else _WALLPAPER),
        **({"again": Phrase("Draw again")} if about.get("prompt") else {}),
    }


def _content_of(file: Path) -> bytes:
    """Return the content of the made file. Blocks.

    Raises WispError if it cannot be read or is another one now: a command may have put a link to a secret in its place.
    """
    try:
        if file.resolve() != file or not stat.S_ISREG(os.lstat(file).st_mode):
            raise OSError
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
            return opened.read()
    except OSError:
        raise WispError("This picture is no longer where it was made.") from None
