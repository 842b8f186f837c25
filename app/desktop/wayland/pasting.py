"""Text that the person's layout has no keys for, through the clipboard: GNOME and KDE lend no program spare keys."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from typing import Protocol

from app.base.errors import ToolFailed
from app.base.phrases import Phrase
from app.desktop.backends import Formats, Keyboard, Windows
from app.desktop.keys import UNCHECKED, KeyChecks
from app.desktop.keys import chord as read_chord
from app.desktop.takeover import StopFlag
from app.desktop.wayland.clipboard import TEXTS

_TAKEN_S, _BUSY_S, _HANDLED_S = 1.0, 5.0, 1.0
_KEPT_S = 0.1
_SECRET = "x-kde-passwordManagerHint"
"""Offered beside a password. Such content is not read, and so could not be put back."""
_IN_A_TERMINAL = "ctrl+shift+v"


class Served(Protocol):
    """A clipboard that tells when a program has fetched from it."""

    served: asyncio.Event

    async def formats(self) -> Formats: ...

    def put(self, formats: Formats) -> None: ...


class PastedTyping:
    """Types any text by pasting it. The clipboard is restored after the program has handled its input."""

    def __init__(self, keyboard: Keyboard, windows: Windows, clipboard: Served, stop: StopFlag) -> None:
        self._keyboard = keyboard
        self._windows = windows
        self._clipboard = clipboard
        self._stop = stop

    def can_paste(self) -> bool:
        return True

    async def paste(self, text: str, chord: str, into: str = "", checks: KeyChecks = UNCHECKED) -> bool:
        # The selection that shift+insert pastes in a terminal is one that the portal has not.
        names = read_chord(_IN_A_TERMINAL if chord == "shift+Insert" else chord).keys
        before = await self._clipboard.formats()
        if _SECRET in before:
            return False
        self._clipboard.put(dict.fromkeys(TEXTS, text.encode("utf-8", "surrogatepass")))
        try:
            await self._kept()
            await checks.still()
            self._clipboard.served.clear()
            with self._keyboard.only_into(into) if into else nullcontext():
                self._press(names)
            return await self._fetched()
        finally:
            if active := self._windows.keyboard().window:
                await self._windows.answers(active, _HANDLED_S)
            self._clipboard.put(before)

    async def _kept(self) -> None:
        """Let the desktop's own keeper of the clipboard fetch the text first: what is fetched later is pasted."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_KEPT_S):
                await self._clipboard.served.wait()

    def _press(self, names: tuple[str, ...]) -> None:
        pressed: list[str] = []
        try:
            for name in names:
                self._stop.check()
                self._keyboard.key(name, down=True)
                pressed.append(name)
        finally:
            for name in reversed(pressed):
                self._keyboard.key(name, down=False)

    async def _fetched(self) -> bool:
        """A busy program gets more time; pasted late, the text would be typed twice."""
        for limit_s in (_TAKEN_S, _BUSY_S):
            try:
                async with asyncio.timeout(limit_s):
                    await self._clipboard.served.wait()
                    return True
            except TimeoutError:
                active = self._windows.keyboard().window
                if active and await self._windows.answers(active, _HANDLED_S):
                    return self._clipboard.served.is_set()
        return False

    async def remap(self, text: str, into: str = "") -> None:  # noqa: ARG002
        lacking = next((one for one in text if not self._keyboard.can_type(one)), text[:1])
        raise ToolFailed(
            Phrase(
                "The keyboard layout in use has no {sign!r}, and the program takes nothing from the clipboard.",
                {"sign": lacking},
            ),
            "Write the text to a file, or add a layout that has it.",
        )
