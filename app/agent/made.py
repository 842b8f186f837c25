"""What shows things that are still being made, or that live: features offer it, and the presence asks for it."""

from __future__ import annotations

from typing import Protocol

from app.protocol.call import Media


class LivePictures(Protocol):
    """Takes pictures of the windows of small apps."""

    async def look(self, surface_id: str, /) -> tuple[bytes, int, int] | None:
        """Return a JPEG of the window, its width and its height in pixels; None while it is closed."""
        ...


class Drafts(Protocol):
    """Draws what there is of an SVG that the model still writes."""

    async def draw(self, text: str, /) -> Media | None:
        """Return the picture; None if nothing of it can be drawn yet."""
        ...
