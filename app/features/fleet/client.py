"""One private desktop, as the program that started it sees it. The desktop itself is in `desk.py`.

It blocks; each desktop is used by one thread.
"""

# mypy: no-warn-unreachable

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from app.base.errors import WispError
from app.base.startup import own_command
from app.desktop.apart import those_in

_START_LIMIT_S = 60.0
_END_LIMIT_S = 10.0
_LOOK_S = 1.0
_MB = 1_000_000
_SAID_CHARS = 500


def _own_bytes(process: psutil.Process) -> int:
    if sys.platform == "linux":
        return process.memory_full_info().pss
    return process.memory_info().rss


class DeskNotStarted(WispError):
    """The private desktop did not start, so nothing was done on it."""


class DeskLost(WispError):
    """The desktop's process has ended, or answers no more."""


class DeskSilent(DeskLost):
    """The desktop did not answer in time. The answer may still come, so nothing more can be asked."""


class OverMemory(WispError):
    """The desktop's programs needed more memory than the task may use."""


class Desk:
    """A private desktop with a home folder that is deleted with it.

    `options` are those of `wisp desk`. `memory_limit_mb` bounds all its programs together. Raises DeskNotStarted.
    """

    def __init__(self, options: Sequence[str] = (), memory_limit_mb: int = 0) -> None:
        self._memory_limit_mb = memory_limit_mb
        self.peak_mb = 0.0
        """The most that its programs were seen to use."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the desktop
        command, folder = own_command()
        self._process = subprocess.Popen(
            [*command, "desk", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # so that ctrl+c in the terminal reaches the starter alone
        )
        self._lines: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            ready = self._next(time.monotonic() + _START_LIMIT_S)
            if ready is None or ready["event"] != "ready":
                raise DeskNotStarted(str(ready["why"]) if ready else "The desktop did not start in time.")
        except DeskLost as error:
            self.close()
            raise DeskNotStarted(str(error)) from None
        except BaseException:
            self.close()
            raise
        self.folder = Path(ready["folder"])
        self._sockets = Path(ready["sockets"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(
        self,
        what: str,
        within_s: float,
        hear: Callable[[str, Mapping[str, Any]], None] = lambda _event, _told: None,
        watch: Callable[[], None] = lambda: None,
        **given: Any,
    ) -> Mapping[str, Any]:
        """Return the answer to a request. `hear` gets each event until then by its name and with what it tells; `watch`
        is called now and then.

        Raises DeskSilent, DeskLost, OverMemory, and WispError if the request failed.
        """
        self._send({"ask": what, **given})
        limit, look = time.monotonic() + within_s, time.monotonic() + _LOOK_S
        while True:
            line = self._next(min(limit, look))
            if (now := time.monotonic()) >= look:  # also while one event follows the other
                watch()
                self._check_memory()
                look = time.monotonic() + _LOOK_S
            if line is None:
                if now >= limit:
                    raise DeskSilent(f"The desktop did not answer within {within_s:g} seconds, so it was ended.")
            elif line["event"] != "answer":
                hear(line["event"], {name: value for name, value in line.items() if name != "event"})
            elif "failed" in line:
                raise WispError(str(line["failed"]))
            else:
                return line

    def stop(self) -> None:
        """End what runs. Its answer still comes."""
        self._send({"ask": "stop"})

    def memory_mb(self) -> float:
        """The memory of all its processes; what several share is counted once."""
        total = 0
        for pid in {self._process.pid, *those_in(self._sockets)}:
            with suppress(psutil.Error):  # because it has ended
                total += _own_bytes(psutil.Process(pid))
        return total / _MB

    def close(self) -> None:
        """End the desktop with all its programs. Its home folder is deleted with it."""
        with suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:  # what it has started ends with it, see `apart.py`
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _send(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._lost() from None

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(json.loads(line))
        self._lines.put({"event": "lost"})

    def _next(self, until: float) -> Mapping[str, Any] | None:
        """Return the next line; None if none came in time. Raises DeskLost."""
        try:
            line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None
        if line and line["event"] == "lost":
            raise self._lost()
        return line

    def _lost(self) -> DeskLost:
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()[-_SAID_CHARS:]
        return DeskLost(f"The desktop ended by itself. {said}".strip())

    def _check_memory(self) -> None:
        used = self.memory_mb()
        self.peak_mb = max(self.peak_mb, used)
        if self._memory_limit_mb and used > self._memory_limit_mb:
            raise OverMemory(f"Its programs used {used:.0f} MB, and it may use {self._memory_limit_mb}.")
