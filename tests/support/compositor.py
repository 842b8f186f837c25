"""A compositing manager, as most people's desktops have one: windows are drawn apart and put together by it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_LIMIT_S = 15.0
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
