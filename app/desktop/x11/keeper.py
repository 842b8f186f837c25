"""A process that offers a selection's content when Wisp is gone: on X11, content goes with the program that offers it.

The process gets what each selection shall hold, and waits. When its input ends, because Wisp was closed or killed, it
takes over what nobody else has taken, and ends when others have taken it all, or with the display.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from Xlib.error import ConnectionClosedError

from app.base.errors import NeedsPerson
from app.base.startup import worker_command
from app.desktop.backends import Formats
from app.desktop.x11.connection import Connection
from app.desktop.x11.selection import Selection

_TAKING_OVER_S = 5.0
_PASSED_ON = ("DISPLAY", "XAUTHORITY", "HOME")

Kept = dict[str, tuple[int, Formats]]
"""The window that offers each selection for Wisp, and the content that the selection shall hold after Wisp."""


class SelectionKeeper:
    """Starts the process when there is something to keep. Its parts run on the desktop thread."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {name: environment[name] for name in _PASSED_ON if name in environment}
        self._kept: Kept = {}
        self._process: subprocess.Popen[bytes] | None = None

    def keep(self, selection: str, window: int, formats: Formats) -> None:
        """Set what this selection shall hold after Wisp. Nothing: whatever it holds then."""
        if self._kept.get(selection, (0, {}))[1] == formats:
            return
        self._kept[selection] = window, formats
        with suppress(OSError):  # because somebody may have killed the process; the next content starts another one
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
            assert self._process.stdin
            pickle.dump(self._kept, self._process.stdin)
            self._process.stdin.flush()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            worker_command("selections"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            cwd=os.sep,
            start_new_session=True,  # so that it outlives Wisp and its terminal
        )
        # Because a worker that nobody waits for stays a zombie.
        threading.Thread(target=process.wait, name="selections", daemon=True).start()
        return process

    async def close(self) -> None:
        """Let the process take over, and wait until it has, so that the content is there all the time."""
        if self._process is None:
            return
        assert self._process.stdin
        assert self._process.stdout
        taken = asyncio.Event()
        loop, answer = asyncio.get_running_loop(), self._process.stdout
        loop.add_reader(answer, taken.set)
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_TAKING_OVER_S):
                await taken.wait()
        loop.remove_reader(answer)
        answer.close()


def run(_arguments: Sequence[str]) -> int:
    """Read what to keep until the input ends, then offer it until others have taken it. Takes no arguments."""
    kept: Kept = {}
    with suppress(EOFError):
        while True:
            kept = pickle.load(sys.stdin.buffer)
    # Without a display there is nothing to offer it on.
    with suppress(NeedsPerson, ConnectionClosedError):
        asyncio.run(_offer({name: one for name, one in kept.items() if one[1]}))
    return 0


async def _offer(kept: Kept) -> None:
    """Offer the content of each selection that Wisp still has, or nobody, until all are lost."""
    if not kept:
        return
    connection = Connection(os.environ)
    display = connection.display
    selections = []
    display.grab_server()  # so that nobody takes a selection between the look and the taking
    for name, (window, formats) in kept.items():
        owner = display.get_selection_owner(connection.atom(name))
        if not owner or int(owner.id) == window:
            selection = Selection(connection, name)
            selection.own(formats)
            selections.append(selection)
    display.ungrab_server()
    display.sync()
    os.close(sys.stdout.fileno())  # tells Wisp that it may go
    while any(selection.is_ours for selection in selections):
        connection.handle(display.next_event())
