"""What manages the windows of a private desktop: a compositor as most people have one, and a manager that is late."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_LIMIT_S = 45.0
_PAUSE_S = 0.05


@contextmanager
def composited(environment: Mapping[str, str]) -> Iterator[None]:
    """While inside, picom composes the screen."""
    from Xlib.display import Display

    program = subprocess.Popen(
        ["picom", "--backend", "xrender", "--config", "/dev/null"],
        env=dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    display = Display(environment["DISPLAY"])
    try:
        announced = display.intern_atom("_NET_WM_CM_S0")
        limit = time.monotonic() + _LIMIT_S
        while not display.get_selection_owner(announced):
            assert program.poll() is None and time.monotonic() < limit, "picom did not start"
            time.sleep(_PAUSE_S)
        yield
    finally:
        display.close()
        program.terminate()
        program.wait(timeout=10)


@contextmanager
def manager_stopped(environment: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """While inside, or until what it gives is called, the window manager of that display does nothing."""
    manager = _manager_of(environment["DISPLAY"])
    os.kill(manager, signal.SIGSTOP)
    try:
        yield lambda: os.kill(manager, signal.SIGCONT)
    finally:
        os.kill(manager, signal.SIGCONT)


def _manager_of(display: str) -> int:
    for name in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # because processes end meanwhile
            environment = (name.parent / "environ").read_bytes().split(b"\0")
            if name.read_text() == "openbox\n" and f"DISPLAY={display}".encode() in environment:
                return int(name.parent.name)
    raise AssertionError(f"no window manager runs on {display}")
