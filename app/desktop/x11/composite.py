"""A window's own pixels, also where others cover it, by the Composite extension.

The server keeps the whole window for as long as it is redirected. What was covered before is empty at first: the server
asks its program to draw that, and the program is given a moment for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from Xlib import X
from Xlib.error import XError
from Xlib.ext import composite

from app.base.geometry import Rect
from app.desktop.api import Frame
from app.desktop.frames import part_of
from app.desktop.x11.connection import Connection
from app.desktop.x11.stack import top_level

_LOOK_AGAIN_S = 0.035
_MOST_LOOKS = 12
_ALL_PLANES = 0xFFFFFFFF
_DEPTHS = (24, 32)


async def own_pixels(connection: Connection, number: int, has_drawn: Callable[[], Awaitable[None]]) -> Frame | None:
    """What the window shows, its frame included, once two looks are equal; None where the server gives none.

    `has_drawn` returns once its program has worked off what it was sent.
    """
    display: Any = connection.display  # extensions add their methods at run time
    if not display.has_extension(composite.extname):
        return None
    top: Any = connection.window(top_level(connection, number))
    try:
        top.composite_redirect_window(composite.RedirectAutomatic)
        try:
            await has_drawn()
            return await _at_rest(connection, top)
        finally:
            top.composite_unredirect_window(composite.RedirectAutomatic)
            display.flush()
    except XError:
        return None


async def _at_rest(connection: Connection, top: Any) -> Frame | None:
    last = _grabbed(connection, top)
    for _ in range(_MOST_LOOKS):
        await asyncio.sleep(_LOOK_AGAIN_S)
        frame = _grabbed(connection, top)
        if last is None or frame is None or frame.bgrx == last.bgrx:
            return frame
        last = frame
    return last


def _grabbed(connection: Connection, top: Any) -> Frame | None:
    shape = top.get_geometry()
    if shape.depth not in _DEPTHS:
        return None
    pixmap = top.composite_name_window_pixmap()
    border = 2 * shape.border_width
    area = Rect(shape.x, shape.y, shape.width + border, shape.height + border)
    try:
        image = pixmap.get_image(0, 0, area.width, area.height, X.ZPixmap, _ALL_PLANES)
    finally:
        pixmap.free()
    screen = connection.root.get_geometry()
    shown = area.overlap(Rect(0, 0, screen.width, screen.height))
    return part_of(Frame(area, image.data), shown) if shown else None
