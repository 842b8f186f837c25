"""Keeps a watchdog beside the session: it hears that the loop lives and that a stop was asked for, from any thread."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from app.agent.agent_events import AgentEvent, Notice, TurnEnded, TurnStarted
from app.agent.prompt import ending
from app.agent.session import Listener, Session
from app.base.startup import worker_command
from app.desktop.desktop import Desktop
from app.services.watchdog import BEAT_S, WatchdogWord

_log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
_CLOSING_S = 2.0
_SENTENCES = {"ended": "watchdog_ended", "hung": "watchdog_hung"}

Report = Callable[[str, int], None]


class WatchdogProcess:
    """Started with the first turn. `report(word, count)` is called on a thread of its own with what was done.

    Where no second process can be had, that is logged, and all goes on without.
    """

    def __init__(self, report: Report, environment: Mapping[str, str] | None = None) -> None:
        self._report = report
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._beating: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """On the event loop whose life is watched; a second time does nothing."""
        if self._process is not None:
            return
        try:
            self._process = subprocess.Popen(
                worker_command("watchdog", str(os.getpid())),
                cwd=_ROOT,
                env={**(self._environment or os.environ), "PYTHONPATH": str(_ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that Ctrl+C in the terminal does not end the watchdog too
            )
        except OSError as error:
            _log.warning("There is no watchdog: %s", error)
            return
        # Looked up by name, because Windows lacks it before Python 3.12.
        set_blocking = getattr(os, "set_blocking", None)
        if set_blocking and self._process.stdin:
            set_blocking(self._process.stdin.fileno(), False)
        threading.Thread(target=self._listen, name="watchdog", daemon=True).start()
        self._beat()

    def tell(self, word: WatchdogWord) -> None:
        """Send a word to the watchdog, from any thread. Returns at once, also if the watchdog is gone."""
        process = self._process
        if process and process.stdin:
            with suppress(OSError, ValueError):  # because the watchdog may have ended, or its pipe may be full
                os.write(process.stdin.fileno(), f"{word}\n".encode())

    def close(self) -> None:
        """Say goodbye: nothing needs watching any more."""
        if self._beating:
            self._beating.cancel()
        process = self._process
        if process is None:
            return
        self.tell(WatchdogWord.BYE)
        if process.stdin:
            with suppress(OSError):  # because the watchdog may have closed the pipe first
                process.stdin.close()
        try:
            process.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _beat(self) -> None:
        self.tell(WatchdogWord.BEAT)
        self._beating = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _listen(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                word, _, count = line.decode().strip().partition(" ")
                if count.isdigit():
                    self._report(word, int(count))


class WatchdogClient:
    """The watchdog of one assistant: tells it what goes on, and the person what it had to do."""

    def __init__(self, session: Session, desktop: Desktop, guard: WatchdogProcess | None = None) -> None:
        self._session = session
        self._is_real = desktop.name != "headless"
        self._guard = guard or WatchdogProcess(self._report)
        self._listeners: list[Listener] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_running = False
        session.subscribe(self._follow)
        desktop.on_stop(self._stop_asked)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """The session's events, and what the watchdog reports."""
        unsubscribe = self._session.subscribe(listener)
        self._listeners.append(listener)

        def end() -> None:
            unsubscribe()
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def begin(self) -> None:
        """Before a turn, on the loop it runs on. A desktop on which nothing happens needs no watching."""
        self._loop = asyncio.get_running_loop()
        if self._is_real:
            self._guard.begin()

    def close(self) -> None:
        self._guard.close()

    def _follow(self, event: AgentEvent) -> None:
        if isinstance(event, TurnStarted):
            self._is_running = True
        elif isinstance(event, TurnEnded):
            self._is_running = False
            self._guard.tell(WatchdogWord.STOPPED)

    def _stop_asked(self) -> None:
        """On whatever thread the stop was raised."""
        self._guard.tell(WatchdogWord.STOP)
        self._soon(self._stop_heard)

    def _stop_heard(self) -> None:
        self._guard.tell(WatchdogWord.HEARD if self._is_running else WatchdogWord.STOPPED)

    def _report(self, word: str, count: int) -> None:
        """On the guard's thread; the person reads it as soon as the loop runs again."""
        if word in _SENTENCES:
            notice = Notice("warning", ending(_SENTENCES[word]).format(count=count))
            self._soon(lambda: self._tell(notice))

    def _tell(self, event: AgentEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def _soon(self, act: Callable[[], None]) -> None:
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)
