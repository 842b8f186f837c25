"""Ctrl+C for the command line: exit code 130 without a traceback, and child processes that Ctrl+C can end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

STOPPED = 130
"""The exit code of a program that Ctrl+C has ended: 128 and the number of SIGINT."""

_INHERITED = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGCHLD", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGTSTP")
"""What Wisp's start may find ignored. Python gives SIGPIPE and SIGXFSZ back to children itself."""


def exit_on_ctrl_c() -> None:
    """End the process at once on Ctrl+C. A command that has something to finish installs its own handler on top."""
    reset_for_children()
    if signal.getsignal(signal.SIGINT) is not _ignore:
        signal.signal(signal.SIGINT, _exit)


def reset_for_children() -> None:
    """Let child processes have the default signals, also where a shell's `&`, `trap` or `nohup` ignores some here.

    An ignored signal stays ignored through exec, a handled one goes back to its default. A shell that starts with
    SIGINT ignored can never change that (POSIX, `trap`), so Ctrl+C would not end what runs in it. A blocked signal
    stays blocked as well.
    """
    for name in _INHERITED:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def stop_on_signals(stop: Callable[[], object]) -> None:
    """Call `stop` in the running event loop on Ctrl+C and on a polite kill."""
    if sys.platform != "win32":
        import asyncio

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)


def _exit(*_: object) -> None:
    os._exit(STOPPED)


def _ignore(*_: object) -> None:
    """Ignore the signal in this process only."""
