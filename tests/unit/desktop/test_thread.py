"""The desktop's own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from app.base.errors import ToolFailed
from app.desktop.desktop import DesktopThread


@pytest.fixture
def thread() -> Iterator[DesktopThread]:
    made = DesktopThread()
    yield made
    made.close()


async def test_work_runs_on_the_same_other_thread_each_time(thread: DesktopThread) -> None:
    names = {await thread.call(threading.current_thread) for _ in range(3)}
    assert len(names) == 1
    assert threading.current_thread() not in names


async def test_errors_come_back_to_who_asked(thread: DesktopThread) -> None:
    async def fail() -> None:
        raise ToolFailed("no")

    with pytest.raises(ToolFailed, match="no"):
        await thread.run(fail)


async def test_cancelling_the_asker_cancels_the_work(thread: DesktopThread) -> None:
    ended = threading.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    asking = asyncio.create_task(thread.run(endless))
    await thread.call(int)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(ended.wait, 5)


async def test_closing_ends_what_runs_and_awaits_the_last_words() -> None:
    said: list[str] = []
    thread = DesktopThread()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            said.append("ended")

    async def last() -> None:
        said.append("last")

    asking = asyncio.create_task(thread.run(endless))
    await thread.call(int)
    await asyncio.to_thread(thread.close, last)
    assert said == ["ended", "last"]
    with pytest.raises(asyncio.CancelledError):
        await asking
