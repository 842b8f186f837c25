"""The one place that knows which library lets asyncio and Qt share a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from PySide6.QtWidgets import QApplication

from app.base.errors import NeedsPerson
from app.ui.windows.curtain import GONE


def run_until(application: QApplication, main: Coroutine[Any, Any, int]) -> int:
    """Run Qt and asyncio together until `main` returns; its answer is the exit code. NeedsPerson where Qt ends first,
    as it does when its display goes.

    qasync installs itself as the running loop only while it runs, so that the loop of a second run is a fresh one.
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
    """End what is still running, so that nothing is destroyed while pending."""
    mine = asyncio.current_task()
    left = [task for task in asyncio.all_tasks() if task is not mine]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
