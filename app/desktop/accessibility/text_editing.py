"""Read and select a part of an object's text, and put another text in its place, without keys."""

from __future__ import annotations

import asyncio

from app.desktop.accessibility import constants as spi
from app.desktop.accessibility.bus import Bus, CallRefused
from app.desktop.accessibility.nodes import Key
from app.desktop.elements import Editing, Element

_LIMIT_S = 1.0


async def selection(
    bus: Bus, key: Key, element: Element, wanted: tuple[int, int] | None = None
) -> tuple[int, str] | None:
    """Return the index of the first selected character and the selected text; None without one, or in a password.

    Before that, select the characters from the first index of `wanted` up to the second, if it is given.
    """
    if element.role == spi.SECRET:
        return None
    try:
        async with asyncio.timeout(_LIMIT_S):
            has_one = int((await bus.call(*key, spi.TEXT, "GetNSelections"))[0]) > 0
            if wanted and has_one:
                await bus.call(*key, spi.TEXT, "SetSelection", "iii", 0, *wanted)
            elif wanted:
                await bus.call(*key, spi.TEXT, "AddSelection", "ii", *wanted)
            elif not has_one:
                return None
            start, end = sorted(int(at) for at in await bus.call(*key, spi.TEXT, "GetSelection", "i", 0))
            text = str((await bus.call(*key, spi.TEXT, "GetText", "ii", start, end))[0])
    except (TimeoutError, CallRefused):  # because the object has no text, or its program hangs
        return None
    return (start, text) if text.strip() and spi.IN_PLACE_OF_AN_OBJECT not in text else None


async def caret(bus: Bus, key: Key) -> int | None:
    """The character before which the caret stands, counted from 0; None if the program does not tell."""
    try:
        async with asyncio.timeout(_LIMIT_S):
            at = int(await bus.get(*key, spi.TEXT, "CaretOffset"))
    except (TimeoutError, CallRefused, TypeError, ValueError):  # because the object has no text, or its program hangs
        return None
    return at if at >= 0 else None


async def editing(bus: Bus, key: Key) -> Editing:
    """Return how an object's text can be changed without losing anything of it."""
    try:
        async with asyncio.timeout(_LIMIT_S):
            offered = (await bus.call(*key, spi.ACCESSIBLE, "GetInterfaces"))[0]
    except (TimeoutError, CallRefused):  # because its program hangs
        return Editing.FORMATTED
    if spi.HYPERTEXT in offered:  # which Chromium says of what holds bold words or links, and not of plain fields
        return Editing.FORMATTED
    return Editing.DIRECT if spi.EDITABLE in offered else Editing.KEYS


async def replace_text(bus: Bus, key: Key, start: int, old: str, new: str) -> bool:
    """Put `new` in the place of `old`, which begins at index `start`. Return whether the text holds it there then.

    Nothing is changed if something else stands there. If the program takes out the old text and refuses the new one,
    the old one is put in again.
    """
    try:
        async with asyncio.timeout(_LIMIT_S):
            if not await _stands(bus, key, start, old):
                return False
            await bus.call(*key, spi.EDITABLE, "DeleteText", "ii", start, start + len(old))
            if not await _insert(bus, key, start, new):
                await _insert(bus, key, start, old)
            return await _stands(bus, key, start, new)
    except (TimeoutError, CallRefused):  # because the object is gone, or its program hangs
        return False


async def _stands(bus: Bus, key: Key, start: int, text: str) -> bool:
    return str((await bus.call(*key, spi.TEXT, "GetText", "ii", start, start + len(text)))[0]) == text


async def _insert(bus: Bus, key: Key, start: int, text: str) -> bool:
    """Insert the text. Returns False if the program refuses it."""
    # Toolkits read the length differently: Qt as UTF-16 units, GTK as bytes.
    kit = str(await bus.get(key[0], spi.ROOT, spi.APPLICATION, "ToolkitName")).lower()
    size = len(text.encode("utf-16-le")) // 2 if kit == "qt" else len(text.encode())
    try:
        return bool((await bus.call(*key, spi.EDITABLE, "InsertText", "isi", start, text, size))[0])
    except CallRefused:
        return False
