"""What programs themselves say about what an action did: better proof than pixels. Lives on the desktop thread."""

from __future__ import annotations

import asyncio

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.desktop.backend import Backend
from app.desktop.elements import SECRET, Element
from app.desktop.ocr.written import is_written

_LIMIT_S = 0.5
_LONGEST_CHARS = 2000
_SHOWN_CHARS = 60
_TELLING = ("checked", "selected", "pressed", "expanded", "focused")


async def of_click(backend: Backend, before: Element | None) -> tuple[str, ...]:
    """How the element that was clicked differs now; nothing where it is gone or does not answer in time."""
    if before is None or is_written(before.ref):
        return ()
    try:
        async with asyncio.timeout(_LIMIT_S):
            after = await backend.accessibility.element(before.ref)
    except (ToolFailed, TimeoutError):
        return ()
    told = [
        f'"{after.name}" is {"now" if after.is_(state) else "no longer"} {state}.'
        for state in _TELLING
        if after.is_(state) != before.is_(state)
    ]
    if after.value != before.value:
        told.append(f'"{after.name}" holds {clip_line(after.value, _SHOWN_CHARS)!r} now.')
    return tuple(told)


async def of_typing(backend: Backend, text: str) -> tuple[bool, str]:
    """Whether the field with the keyboard holds the text, and a sentence; ("" where that cannot be known)."""
    if len(text) > _LONGEST_CHARS:
        return False, ""
    try:
        async with asyncio.timeout(_LIMIT_S):
            field = await backend.accessibility.focused()
            if field is None or not field.is_("editable") or field.role == SECRET:
                return False, ""
            held = await backend.accessibility.text_of(field.ref)
    except (ToolFailed, TimeoutError):
        return False, ""
    if _plain(text) in _plain(held):
        return True, "The field holds the text."
    return False, f"The field does not hold it as typed; it ends in {_end(held)!r}."


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def _end(text: str) -> str:
    return clip_line(text[-_SHOWN_CHARS:], _SHOWN_CHARS)
