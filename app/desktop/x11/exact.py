"""Typing what the keyboard layout does not have: by pasting it, or by lending it spare keys."""

from __future__ import annotations

import asyncio

from app.desktop.api import Formats
from app.desktop.keys import chord as read_chord
from app.desktop.stop import StopFlag
from app.desktop.x11.keyboard import X11Keyboard
from app.desktop.x11.keymap import symbols_of
from app.desktop.x11.pages import has_pages_apart
from app.desktop.x11.selection import Selection, as_formats
from app.desktop.x11.windows import X11Windows

_TAKEN_LIMIT_S = 1.0
_BUSY_LIMIT_S = 5.0
_WORKED_OFF_S = 1.0
_HELPERS_QUIET_S = 0.06
_HELPERS_LIMIT_S = 0.4
"""A browser fetches the text once for itself and once for the page; both come within 20 ms on an idle machine."""


class X11ExactTyping:
    """Both ways wait until the program has worked off what it got before anything is put back."""

    def __init__(
        self, keyboard: X11Keyboard, windows: X11Windows, selections: tuple[Selection, Selection], stop: StopFlag
    ) -> None:
        self._keyboard = keyboard
        self._windows = windows
        self._clipboard, self._primary = selections
        self._stop = stop

    async def paste(self, text: str, chord: str) -> bool:
        uses_primary = chord == "shift+Insert"
        used = (self._clipboard, self._primary) if uses_primary else (self._clipboard,)
        before = [await selection.formats() for selection in used]
        formats = as_formats(text)
        for selection in used:
            selection.own(formats)
        try:
            self._press(chord)
            return await self._taken(used) and await self._read(used)
        finally:
            await self._worked_off()
            for selection, held in zip(used, before, strict=True):
                _put_back(selection, held)
            self._keyboard.give_back()

    def _press(self, chord: str) -> None:
        names = read_chord(chord).keys
        pressed: list[str] = []
        try:
            for name in names:
                self._stop.check()
                self._keyboard.key(name, down=True)
                pressed.append(name)
        finally:
            for name in reversed(pressed):
                self._keyboard.key(name, down=False)

    async def _taken(self, used: tuple[Selection, ...]) -> bool:
        """Whether the text was fetched. A busy program gets its time: what comes late must not come twice."""
        if await _fetched(used, _TAKEN_LIMIT_S):
            return True
        await self._worked_off(_BUSY_LIMIT_S)
        return await _fetched(used, _TAKEN_LIMIT_S)

    async def _read(self, used: tuple[Selection, ...]) -> bool:
        """A page lives in a process of its own, for which its browser asks again, after it has answered everything."""
        if has_pages_apart(self._windows.pid(self._windows.active())):
            await used[0].read_to_the_end(_HELPERS_QUIET_S, _HELPERS_LIMIT_S)
        return True

    async def remap(self, text: str) -> None:
        rest = text
        try:
            while rest:
                self._stop.check()
                rest = await self._remap_some(rest)
        finally:
            await self._worked_off()
            self._keyboard.give_back()

    async def _remap_some(self, text: str) -> str:
        """Type the longest beginning for which there are spare keys; returns what is left."""
        symbols: dict[str, int] = {}
        room = len(self._keyboard.keymap().spare())
        count = 0
        for character in text:
            if character not in symbols:
                if len(symbols) == room:
                    break
                symbols[character] = symbols_of(character)[-1]
            count += 1
        lent = self._keyboard.lend(list(symbols.values()))
        self._keyboard.tap([lent[symbols[character]] for character in text[:count]])
        await self._worked_off()
        self._keyboard.give_back()
        return text[count:]

    async def _worked_off(self, limit_s: float = _WORKED_OFF_S) -> None:
        active = self._windows.active()
        if active:
            await self._windows.answers(f"w{active:x}", limit_s)


async def _fetched(used: tuple[Selection, ...], limit_s: float) -> bool:
    tasks = [asyncio.create_task(selection.served(limit_s)) for selection in used]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    return any(task.result() for task in done)


def _put_back(selection: Selection, held: Formats) -> None:
    if held:
        selection.own(held)
    else:
        selection.leave()
