"""The desktop that the table measures: galculator, mousepad and Chromium with a page of 300 elements, at 1920x1080."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from app.desktop.accessibility.atspi import AtSpi
from app.desktop.x11.virtual import VirtualDesktop

_READY_LIMIT_S = 60.0
_ROWS = "".join(
    f'<p><a href="#{n}">Link number {n}</a> <button>Button {n}</button> <label><input type=checkbox>Check {n}</label>'
    for n in range(100)
)
_CHROMIUM = ("chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--force-renderer-accessibility")


@contextmanager
def scene() -> Iterator[Mapping[str, str]]:
    """The desktop with its programs; gives its environment."""
    with ExitStack() as stack:
        desktop = stack.enter_context(VirtualDesktop(1920, 1080))
        home = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        page = Path(home) / "page.html"
        page.write_text(f"<!doctype html><title>Three hundred</title>{_ROWS}")
        environment = {**desktop.environment, "HOME": home, "ACCESSIBILITY_ENABLED": "1"}
        chromium = (*_CHROMIUM, "--window-size=1000,900", page.as_uri())
        for command in (chromium, ("mousepad", "--disable-server"), ("galculator",)):
            stack.enter_context(_running(command, environment))
        yield desktop.environment


@contextmanager
def _running(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    program = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


async def ready(eyes: AtSpi) -> None:
    """Return when all three show what they will show."""
    limit = time.monotonic() + _READY_LIMIT_S
    while not all([await eyes.find(name) for name in ("Link number 3", "7 key", "Search menu")]):
        if time.monotonic() > limit:
            raise SystemExit("The programs of the scene did not come up.")
        await asyncio.sleep(0.2)
