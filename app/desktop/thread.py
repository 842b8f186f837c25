"""One thread with an event loop of its own, on which everything that talks to the desktop lives and dies.

Capture handles and X connections must not be shared between threads, and no call on them may hold up the loop that
draws the presence: other loops (plain asyncio or Qt's) send work here and await it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_END_LIMIT_S = 3.0


class DesktopThread:
    """`run` and `call` may be awaited from any event loop; cancelling the awaiting task cancels the work."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._works: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._live, name="desktop", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await a coroutine function on the desktop's loop."""
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
        """As `call`, for callers without an event loop; blocks. Never called on the desktop's own thread."""

        async def once() -> T:
            return work(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(once(), self._loop).result()

    def soon(self, work: Callable[[], object]) -> None:
        """Run a plain function there, soon, and forget it; from any thread. Nothing happens once it is closed."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)

    def close(self, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """Cancel what runs, await `last` there, end the thread. Blocks at most a few seconds."""
        if self._loop.is_closed():
            return
        ended = asyncio.run_coroutine_threadsafe(self._end(last), self._loop)
        self._thread.join(_END_LIMIT_S)
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
        """Ends the works first: what `last` closes may have helper tasks of its own, which it ends itself."""
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
