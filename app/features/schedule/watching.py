"""Run due tasks while the presence runs, and tell the person what came of them."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess

from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.startup import start_wisp
from app.features.feature import Tell
from app.features.schedule.agenda import Agenda, standard_agenda

_LOOK_AGAIN_S = 5.0
_TRY_AGAIN_S = 60.0


async def watch_schedules(tell: Tell) -> None:
    """Run due tasks while the presence runs. Report the result of each run, also of runs by other processes."""
    clock = SystemClock()
    agenda, starter, problem = standard_agenda(clock), _Starter(), ""
    try:
        while True:
            try:
                await _look_after(tell, agenda, clock.wall(), starter)
                problem = ""
            except (WispError, OSError, sqlite3.Error) as error:  # because the file may be locked or full for a while
                if str(error) != problem:
                    tell("warning", f"What is planned cannot run at the moment: {error}")
                problem = str(error)
            await asyncio.sleep(_TRY_AGAIN_S if problem else _LOOK_AGAIN_S)
    finally:
        agenda.close()


class _Starter:
    """Starts `wisp run-due`, one at a time and with a pause between, since it ends at once while another one works."""

    def __init__(self) -> None:
        self._run: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0

    def start(self, due: float | None, now: float) -> None:
        """Start a run in another process if a task is due. Blocks."""
        is_running = self._run is not None and self._run.poll() is None
        if not is_running and due is not None and max(due, self._not_before) <= now:
            self._run = start_wisp("run-due")
            self._not_before = now + _TRY_AGAIN_S


async def _look_after(tell: Tell, agenda: Agenda, now: float, starter: _Starter) -> None:
    from PySide6.QtCore import QCoreApplication

    due = await asyncio.to_thread(agenda.next_due)
    await asyncio.to_thread(starter.start, due, now)
    found = await asyncio.to_thread(agenda.inbox, only_unread=True)
    unread = [item for item in found if item.kind in ("run", "reminder")]
    for item in reversed(unread):
        words = QCoreApplication.translate("Presence", "Reminder: {text}") if item.kind == "reminder" else "{text}"
        tell("info", words.format(text=f"{item.title}\n{item.body}".strip()), beside=True)
    if unread:
        await asyncio.to_thread(agenda.mark_read, unread)
