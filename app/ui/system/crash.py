"""Crash reports: files in the state folder, without secrets, and never sent anywhere by themselves.

Two kinds are caught: an unhandled exception (in a slot, a thread or a task; the presence goes on), and a crash of the
process in native code, which `faulthandler` writes to a file that the next start finds.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import faulthandler
import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from app.base import ids, logs, paths
from app.base.texts import without_secrets

_log = logging.getLogger(__name__)
_FATAL = "fatal.txt"
_KEPT = 10
_LOG_CHARS = 20_000

Kind = type[BaseException]


class Reports:
    """Write one report for each different failure of a run, and call `told` with its file."""

    def __init__(self, told: Callable[[Path], None]) -> None:
        self._told = told
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._fatal: TextIO | None = None

    def open(self) -> None:
        """Catch what fails from now on. Raises OSError where the folder cannot be written."""
        self._fatal = (folder() / _FATAL).open("w", encoding="utf-8")
        faulthandler.enable(self._fatal)
        sys.excepthook = self._unhandled
        threading.excepthook = lambda args: self._in_thread(args.exc_type, args.exc_value, args.exc_traceback)

    def close(self) -> None:
        """A clean end: nothing is left to find."""
        sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
        if self._fatal is not None:
            faulthandler.disable()
            self._fatal.close()
            self._fatal = None
            (folder() / _FATAL).unlink(missing_ok=True)

    def of_loop(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Handle an exception of a task or callback that was not awaited: asyncio's exception handler."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._unhandled(type(error), error, error.__traceback__)
        else:
            loop.default_exception_handler(dict(context))

    def _in_thread(self, kind: Kind, error: BaseException | None, trace: TracebackType | None) -> None:
        self._unhandled(kind, error or kind(), trace)

    def _unhandled(self, kind: Kind, error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, Exception):
            sys.__excepthook__(kind, error, trace)  # because Ctrl+C and exits are no crashes
            return
        _log.error("Nobody handled this.", exc_info=(kind, error, trace))
        text = "".join(traceback.format_exception(kind, error, trace))
        where = traceback.extract_tb(trace)[-1:] if trace else []
        mark = f"{kind.__name__} {[(frame.filename, frame.lineno) for frame in where]}"
        with self._lock:
            is_new = mark not in self._seen
            self._seen.add(mark)
        if is_new:
            with contextlib.suppress(OSError):  # because a full disk must not raise inside the exception hook
                self._told(written(text))


def folder() -> Path:
    """Where the reports are."""
    made = paths.state_dir() / "crashes"
    made.mkdir(mode=0o700, exist_ok=True)
    return made


def written(failure: str) -> Path:
    """A new report about a failure, with what helps to understand it and without secrets. Raises OSError."""
    now = datetime.datetime.now().astimezone()
    path = folder() / f"crash-{now:%Y%m%d-%H%M%S}-{ids.unique()[:6]}.txt"
    parts = [*_facts(now), "", failure.strip(), "", "The end of the log:", _end_of_log()]
    path.write_text(without_secrets("\n".join(parts)), encoding="utf-8")
    for old in sorted(folder().glob("crash-*.txt"))[:-_KEPT]:
        old.unlink(missing_ok=True)
    return path


def unseen() -> list[Path]:
    """Return the reports that the person has not seen, the newest last. A native crash of the last process becomes a
    report too."""
    fatal = folder() / _FATAL
    if fatal.is_file():
        text = fatal.read_text(encoding="utf-8", errors="replace")
        fatal.unlink(missing_ok=True)
        if text.strip():
            written(text)
    marks = folder() / "seen"
    known = set(marks.read_text(encoding="utf-8").split()) if marks.is_file() else set()
    return [path for path in sorted(folder().glob("crash-*.txt")) if path.name not in known]


def dismiss() -> None:
    """The person knows of all there are."""
    names = [path.name for path in sorted(folder().glob("crash-*.txt"))]
    (folder() / "seen").write_text("\n".join(names), encoding="utf-8")


def _facts(now: datetime.datetime) -> Iterator[str]:
    from PySide6.QtCore import qVersion

    yield f"Wisp, {now.isoformat(timespec='seconds')}"
    yield f"Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}"


def _end_of_log() -> str:
    try:
        return logs.path().read_text(encoding="utf-8", errors="replace")[-_LOG_CHARS:]
    except OSError:
        return "(there is none)"
