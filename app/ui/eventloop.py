"""Run asyncio on Qt's thread. No other module knows that qasync does it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from PySide6.QtWidgets import QApplication

from app.base.errors import NeedsPerson
from app.ui.windows.x_connection import GONE


def run_until(application: QApplication, main: Coroutine[Any, Any, int]) -> int:
    """Run Qt and asyncio together until `main` returns, and return the exit code that it returns.

    Raises NeedsPerson if Qt ends first, for example because the display is gone. The event loop is unset at the end, so
    that a second run makes a new one.
    """
    import qasync

    loop = qasync.QEventLoop(application, set_running_loop=False)
    try:
        with loop:
            running = loop.create_task(main)
            try:
                code: int = loop.run_until_complete(running)
            except RuntimeError:
                if running.done():
                    raise
                raise NeedsPerson(GONE) from None
            loop.run_until_complete(_wind_down())
        return code
    finally:
        asyncio.set_event_loop(None)


async def _wind_down() -> None:
    """Cancel all other tasks and wait for their end, so that no pending task is destroyed."""
    mine = asyncio.current_task()
    left = [task for task in asyncio.all_tasks() if task is not mine]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
