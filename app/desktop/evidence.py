"""What programs themselves say about what an action did: better proof than pixels. Lives on the desktop thread."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from app.base.clipping import clip_line
from app.base.errors import ToolFailed
from app.desktop.backend import Backend
from app.desktop.elements import SECRET, Element
from app.desktop.ocr.written import is_written

_LIMIT_S = 0.5
_LONGEST_CHARS = 2000
_SHOWN_CHARS = 60
_TELLING = ("checked", "selected", "pressed", "expanded", "sensitive")
"""Having the focus is no effect of a click on a button: a dead one takes it, too. For a field it is what is meant."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a program says of an effect: `evidence` that it is there, or a `doubt`. Neither: it tells nothing."""

    evidence: tuple[str, ...] = ()
    doubt: str = ""


async def of_click(backend: Backend, before: Element | None) -> Proof:
    """How the element that was clicked differs now; nothing where it is gone or does not answer in time."""
    if before is None or is_written(before.ref):
        return Proof()
    try:
        async with asyncio.timeout(_LIMIT_S):
            after = await backend.accessibility.element(before.ref)
    except (ToolFailed, TimeoutError):
        return Proof()
    told = [
        f'"{after.name}" is {"now" if after.is_(state) else "no longer"} {state}.'
        for state in _TELLING
        if after.is_(state) != before.is_(state) and (state != "pressed" or after.role == "toggle button")
    ]
    if after.is_("editable") and after.is_("focused"):
        told.append(f'"{after.name}" has the keyboard.')
    if after.value != before.value:
        told.append(f'"{after.name}" holds {clip_line(after.value, _SHOWN_CHARS)!r} now.')
    return Proof(tuple(told))


async def of_typing(backend: Backend, text: str) -> Proof:
    """Whether the field with the keyboard holds the text."""
    if len(text) > _LONGEST_CHARS:
        return Proof()
    try:
        async with asyncio.timeout(_LIMIT_S):
            field = await backend.accessibility.focused()
            if field is None or not field.is_("editable") or field.role == SECRET:
                return Proof()
            held = await backend.accessibility.text_of(field.ref)
    except (ToolFailed, TimeoutError):
        return Proof()
    if _plain(text) in _plain(held):
        return Proof(("The field holds the text.",))
    return Proof((), f"The field does not hold it as typed; it ends in {_end(held)!r}.")


async def of_setting(backend: Backend, element: Element, text: str) -> tuple[Proof, str]:
    """Whether a field holds what was put into it, and what it holds; a password is not read back."""
    if element.role == SECRET:
        return Proof(), ""
    try:
        async with asyncio.timeout(_LIMIT_S):
            held = await backend.accessibility.text_of(element.ref)
    except (ToolFailed, TimeoutError):
        return Proof((), "It could not be read back."), ""
    if held == text or _is_one_number(held, text):
        return Proof(("It holds exactly that.",)), held
    return Proof((), f"It holds {clip_line(held, _SHOWN_CHARS)!r} now."), held


def _is_one_number(held: str, text: str) -> bool:
    try:
        return float(held) == float(text)
    except ValueError:
        return False


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def _end(text: str) -> str:
    return clip_line(text[-_SHOWN_CHARS:], _SHOWN_CHARS)
