"""The desktop as everybody else sees it: callable from any event loop, stoppable from any thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from app.base.clock import Clock, SystemClock
from app.desktop.api import Curtain
from app.desktop.backend import Backend, NoCurtain
from app.desktop.input_guard import Reserved, nothing_reserved
from app.desktop.keys import chord
from app.desktop.ocr.api import Ocr
from app.desktop.ocr.rapid import RapidOcr
from app.desktop.seat import Seat
from app.desktop.stop import StopFlag
from app.desktop.thread import DesktopThread

P = ParamSpec("P")
T = TypeVar("T")

STOP_KEY = "ctrl+alt+escape"


class Desktop:
    """Owns the desktop thread and everything on it. `make` builds the platform's backend, on that thread.

    Raises what `make` raises (NeedsPerson where there is no display).
    """

    def __init__(
        self,
        make: Callable[[StopFlag], Backend],
        curtain: Curtain | None = None,
        clock: Clock | None = None,
        stop_key: str = STOP_KEY,
        ocr: Ocr | None = None,
        reserved: Reserved = nothing_reserved,
    ) -> None:
        self._stop = StopFlag()
        self._thread = DesktopThread()
        try:
            self._seat = self._thread.wait_for(
                lambda: Seat(
                    make(self._stop),
                    curtain or NoCurtain(),
                    self._stop,
                    clock or SystemClock(),
                    ocr or RapidOcr(),
                    lambda: filter(None, (stop_key, *reserved())),
                )
            )
            self._unlisten = self._hear(stop_key)
        except BaseException:
            self._thread.close()
            raise
        self._stop.listen(lambda: self._thread.soon(self._seat.hands.release_all))

    def _hear(self, stop_key: str) -> Callable[[], None]:
        """Listen to the stop key and to the person's hands; returns how to end that."""
        listen = self._seat.backend.listen
        if listen is None or not stop_key:
            return _nothing
        return listen(chord(stop_key), self.stop, self._seat.reins.touched)

    async def run(
        self, work: Callable[Concatenate[Seat, P], Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Await `work(seat, …)` on the desktop thread; cancelling it cancels the work there."""
        if self._seat.backend.reach is not None:
            await self._thread.run(_reach, self._seat)
        return await self._thread.run(work, self._seat, *args, **kwargs)

    @property
    def name(self) -> str:
        """Which backend this is, and which desktop: x11:0, windows, macos, headless."""
        return self._seat.backend.name

    # --- stop

    def stop(self) -> None:
        """End all input at once and let go of what is held. From any thread; stays in force until `resume`."""
        self._stop.raise_()

    def resume(self) -> None:
        """Allow input again: the person asked for something new, or says that we may go on."""
        self._stop.lower()
        self._seat.reins.take_back()

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_up

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Be told when a stop is raised, on the raising thread; return at once."""
        self._stop.listen(listener)

    def on_driving(self, listener: Callable[[bool], None]) -> None:
        """Be told, on the desktop thread, when an action waits for the person's hands (True) and goes on (False)."""
        self._seat.reins.listen(listener)

    def close(self) -> None:
        """Let go of everything and end the thread. Programs that were opened go on."""
        self._unlisten()
        self._unlisten = _nothing
        self._thread.close(self._seat.close)


def _nothing() -> None:
    return None


async def _reach(seat: Seat) -> None:
    if seat.backend.reach is not None:
        seat.backend.reach()
