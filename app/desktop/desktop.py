"""The desktop as other layers use it: callable from any event loop, stoppable from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from app.base.clock import Clock, SystemClock
from app.base.phrases import Phrase
from app.desktop.backends import Backend, Curtain, NoCurtain
from app.desktop.controller import DesktopController
from app.desktop.keys import chord
from app.desktop.ocr.rapid import Ocr, RapidOcr
from app.desktop.stop_calls import StopCalls
from app.desktop.takeover import Reserved, StopFlag, nothing_reserved

_END_LIMIT_S = 3.0


class DesktopThread:
    """A thread with its own event loop. `run` and `call` may be awaited from any other event loop.

    Cancelling the task that awaits them also cancels the work on the thread.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # Keep the works apart from the tasks that they start, so that closing can end them first.
        # https://docs.python.org/3/library/asyncio-task.html#asyncio.create_task
        self._works: set[asyncio.Task[Any]] = set()
        # Daemon, so that a hung desktop call does not keep Wisp alive.
        self._thread = threading.Thread(target=self._live, name="desktop", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a coroutine function on the desktop's event loop."""
        if self._is_here():
            return await work(*args, **kwargs)

        async def counted() -> T:
            task = asyncio.current_task()
            assert task is not None
            self._works.add(task)
            try:
                return await work(*args, **kwargs)
            finally:
                self._works.discard(task)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(counted(), self._loop))

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a plain function on the desktop's thread."""

        async def once() -> T:
            return work(*args, **kwargs)

        return await self.run(once)

    def wait_for(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a plain function on the desktop's thread and block until it returns. Called there, it never returns."""

        async def once() -> T:
            return work(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(once(), self._loop).result()

    def soon(self, work: Callable[[], object]) -> None:
        """Schedule a plain function on the desktop's thread, from any thread. Does nothing once it is closed."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)

    def close(self, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """Cancel all running work, await `last` on the thread, and end it. Blocks for a few seconds at most."""
        if self._loop.is_closed():
            return
        ended = asyncio.run_coroutine_threadsafe(self._end(last), self._loop)
        self._thread.join(_END_LIMIT_S)  # with a limit, because a backend call that hangs must not keep Wisp open
        if ended.done():
            ended.result()

    def _is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _end(self, last: Callable[[], Awaitable[None]] | None) -> None:
        """Cancel all work, then await `last`, then cancel what is left. `last` ends its own helper tasks."""
        try:
            await _cancelled(self._works)
            if last:
                await last()
            await _cancelled(asyncio.all_tasks() - {asyncio.current_task()})
        finally:
            self._loop.stop()


async def _cancelled(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    ending = [task for task in tasks if task is not None]
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


P = ParamSpec("P")
T = TypeVar("T")

STOP_KEY = "ctrl+alt+escape"


class Desktop:
    """Owns the desktop thread and everything on it. `make` builds the platform's backend on that thread.

    Raises what `make` raises (NeedsPerson if there is no display).
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
            self._controller = self._thread.wait_for(
                lambda: DesktopController(
                    make(self._stop),
                    curtain or NoCurtain(),
                    self._stop,
                    clock or SystemClock(),
                    ocr or RapidOcr(),
                    lambda: filter(None, (stop_key, *reserved())),
                )
            )
            self._unlisten = self._hear(stop_key)
        except BaseException:  # so that a failed start leaves no thread behind
            self._thread.close()
            raise
        self._stop.listen(lambda: self._thread.soon(self._controller.input.release_all))

    def _hear(self, stop_key: str) -> Callable[[], None]:
        """Listen for `wisp stop`, the stop key and the person's input. Returns a function that stops listening."""
        listen = self._controller.backend.listen
        if listen is None:
            return _nothing
        unlisten = listen(chord(stop_key), self.stop, self._controller.takeover.touched) if stop_key else _nothing
        calls = StopCalls(self.stop)

        def end() -> None:
            calls.close()
            unlisten()

        return end

    async def run(
        self,
        work: Callable[Concatenate[DesktopController, P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Await `work(controller, …)` on the desktop thread. Cancelling the call cancels the work there."""

        async def opened(controller: DesktopController, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if controller.backend.access is not None:
                await controller.backend.access.open()
            return await work(controller, *args, **kwargs)

        return await self.glance(opened, *args, **kwargs)

    async def glance(
        self,
        work: Callable[Concatenate[DesktopController, P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Await `work(controller, …)` as `run` does, for what needs no pixels and no input: the person is not asked."""

        async def reached() -> T:
            # Cross to the thread once, so that work goes on and can be stopped even while the caller's loop hangs.
            if self._controller.backend.reach is not None:
                self._controller.backend.reach()
            return await work(self._controller, *args, **kwargs)

        return await self._thread.run(reached)

    @property
    def name(self) -> str:
        """The backend and its desktop: x11:0, windows, macos, headless."""
        return self._controller.backend.name

    # --- stop

    def stop(self) -> None:
        """Stop all input at once and release held keys and buttons. From any thread; lasts until `resume`."""
        self._stop.raise_()

    def resume(self) -> None:
        """Allow input again: the person asked for something new, or said that Wisp may go on."""
        self._stop.lower()
        self._controller.takeover.take_back()
        if access := self._controller.backend.access:
            self._thread.soon(access.asked_anew)

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_up

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Call the listener at each stop, on the thread that raises it. The listener must return at once."""
        self._stop.listen(listener)

    def on_driving(self, listener: Callable[[bool], None]) -> None:
        """Call the listener on the desktop thread: True when an action waits for the person, False when it goes on."""
        self._controller.takeover.listen(listener)

    def on_question(self, listener: Callable[[Phrase], None]) -> None:
        """Call the listener on the desktop thread, with a sentence, before the desktop itself asks the person."""
        if access := self._controller.backend.access:
            self._thread.soon(partial(access.on_question, listener))

    def close(self) -> None:
        """Release keys and buttons and end the desktop thread. Programs that were opened keep running."""
        self._unlisten()
        self._unlisten = _nothing
        self._thread.close(self._controller.close)


def _nothing() -> None:
    return None
