"""A process that offers the clipboard's content when Wisp is gone: on Wayland, content goes with who offers it."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from app.base.errors import WispError
from app.base.startup import worker_command
from app.desktop.backends import Formats
from app.desktop.wayland.clipboard import WaylandClipboard
from app.desktop.wayland.compositor import Compositor

_PASSED_ON = ("WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "HOME")
_TAKING_OVER_S = 5.0


async def hand_over(clipboard: WaylandClipboard, environment: Mapping[str, str]) -> None:
    """Let a process of its own offer what Wisp offers now, and wait until it does. Does nothing if that is nothing."""
    if not clipboard.held:
        return
    process = _start({name: environment[name] for name in _PASSED_ON if name in environment})
    assert process.stdin
    with suppress(OSError):  # because somebody may have killed it
        pickle.dump(dict(clipboard.held), process.stdin)
        process.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(_TAKING_OVER_S):
            await clipboard.lost.wait()


def _start(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        worker_command("clipboard"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=os.sep,
        start_new_session=True,  # so that it outlives Wisp and its terminal
    )
    # Because a worker that nobody waits for stays a zombie.
    threading.Thread(target=process.wait, name="clipboard", daemon=True).start()
    return process


def run(_arguments: Sequence[str]) -> int:
    """Read what to offer, and offer it until another program takes over or the display ends. Takes no arguments."""
    with suppress(WispError, EOFError):
        asyncio.run(_offer(pickle.load(sys.stdin.buffer)))
    return 0


async def _offer(formats: Formats) -> None:
    compositor = Compositor(os.environ)
    clipboard = WaylandClipboard(compositor)
    compositor.watch(asyncio.get_running_loop(), clipboard.lost.set)
    clipboard.put(formats)
    await clipboard.lost.wait()
