"""Starting a program and waiting until what is typed next lands in its window. Lives on the desktop thread."""

from __future__ import annotations

from dataclasses import dataclass

from app.base.clock import Clock
from app.base.errors import ToolFailed
from app.desktop.api import Launched, Window
from app.desktop.backend import Backend
from app.desktop.programs import choose
from app.desktop.stop import StopFlag

_WINDOW_LIMIT_S = 10.0
_HANDED_OVER_S = 3.0
"""A program that runs already shows what it was handed in this time, or shows it where nobody can tell."""
_OWN_FOCUS_S = 1.0
_READY_LIMIT_S = 3.0
_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Opened:
    """`is_new` is false where a program that ran already shows it. `window` is None where an address was handed over
    and no window tells that it arrived.
    """

    name: str
    window: Window | None
    is_new: bool


class Opener:
    """Waits for windows, never for a time that somebody guessed."""

    def __init__(self, backend: Backend, stop: StopFlag, clock: Clock) -> None:
        self._backend = backend
        self._stop = stop
        self._clock = clock

    async def open(self, name: str) -> Opened:
        """The program's window, mapped and with the keyboard. ToolFailed: no such program, or no window of it."""
        app = choose(name, self._backend.apps.installed(), self._backend.apps.command)
        self._stop.check()
        before = self._backend.windows.all()
        launched = self._backend.apps.launch(app)
        found = await self._window_of(launched, before)
        if found is None:
            raise ToolFailed(
                f"{launched.name} was started, but no window of it appeared within {_WINDOW_LIMIT_S:g} seconds."
            )
        return await self._ready(launched, *found)

    async def open_address(self, address: str) -> Opened:
        """A file or URL in the program that handles it: in a new window, or in one that runs and now says so."""
        self._stop.check()
        before = self._backend.windows.all()
        launched = self._backend.apps.open(address)
        found = await self._window_of(launched, before, is_address=True)
        return await self._ready(launched, *found) if found else Opened(launched.name, None, is_new=False)

    async def _ready(self, launched: Launched, window: Window, is_new: bool) -> Opened:  # noqa: FBT001 - a found pair
        ready = await self._with_keyboard(window)
        await self._backend.windows.answers(ready.ref, _READY_LIMIT_S)
        return Opened(launched.name, ready, is_new)

    async def _window_of(
        self, launched: Launched, before: tuple[Window, ...], *, is_address: bool = False
    ) -> tuple[Window, bool] | None:
        """The window, and whether it is new; None where none appeared. ToolFailed where the program ended in error."""
        titles = {window.ref: window.title for window in before}
        was_active = next((window.ref for window in before if window.is_active), "")
        limit = self._clock.now() + _WINDOW_LIMIT_S
        while True:
            self._stop.check()
            windows = self._backend.windows.all()
            if new := [window for window in windows if window.ref not in titles]:
                return _most_likely(new, launched), True
            ended = self._backend.apps.how_it_ended(launched)
            raised = next((w for w in windows if w.is_active and w.ref != was_active), None)
            if ended == "" and raised is not None:
                return raised, False
            renamed = next((w for w in windows if w.title != titles[w.ref]), None) if is_address else None
            if ended == "" and renamed is not None:
                return renamed, False
            if ended == "" and is_address:
                limit = min(limit, self._clock.now() + _HANDED_OVER_S)
            if ended:
                raise ToolFailed(f"{launched.name} ended at once ({ended}).")
            if self._clock.now() >= limit:
                return None
            await self._backend.windows.changed(_LOOK_AGAIN_S)

    async def _with_keyboard(self, window: Window) -> Window:
        """Programs are given the keyboard by the window manager; where that does not happen, take it for them."""
        limit = self._clock.now() + _OWN_FOCUS_S
        while self._clock.now() < limit:
            self._stop.check()
            now = next((w for w in self._backend.windows.all() if w.ref == window.ref), None)
            if now is not None and now.is_active:
                return now
            await self._backend.windows.changed(_LOOK_AGAIN_S)
        return await self._backend.windows.focus(window.ref)


def _most_likely(new: list[Window], launched: Launched) -> Window:
    """Of several new windows the program's own; among those the topmost."""
    own = [window for window in new if launched.pid and window.pid == launched.pid]
    return (own or new)[0]
