"""The watchdog's own process: `python -m app.commands.watchdog PID`, started by the session, never by a person.

It reads a word a line from the program it watches, and writes a line for each thing it did. It imports nothing heavy
and needs nothing of the program but its process id.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from app.services.watchdog import Deed, Vigil, WatchdogWord

_LOOK_S = 0.25
_HUNG = "Wisp does not answer at the moment. Wait, or press the stop key: it still works."


def run(arguments: Sequence[str]) -> int:
    """Watch the process with the given id until it says goodbye or ends."""
    parent = int(arguments[0])
    words: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(words,), daemon=True).start()
    vigil = Vigil(time.monotonic())
    while not vigil.is_over:
        try:
            deed = vigil.heard(words.get(timeout=_LOOK_S), time.monotonic())
        except queue.Empty:
            deed = vigil.due(time.monotonic())
        if deed:
            _do(deed, parent)
    return 0


def _listen(words: queue.Queue[str]) -> None:
    for line in sys.stdin:
        words.put(line.strip())
    words.put(WatchdogWord.GONE)


def _do(deed: Deed, parent: int) -> None:
    if deed is Deed.TELL_HUNG:
        _notify(_HUNG)
        _tell("hung 0")
        return
    if deed is Deed.END_ALL:
        from app.services.watchdog import end_commands

        _tell(f"ended {end_commands(parent)}")
    if (display := os.environ.get("DISPLAY")) and sys.platform.startswith("linux"):
        _tell(f"let_go {let_go(display)}")


def _notify(sentence: str) -> None:
    """Show the sentence as a desktop notification, if the desktop can. Wisp's own windows may hang at this moment."""
    if program := shutil.which("notify-send"):
        subprocess.Popen(
            [program, "--app-name=Wisp", "Wisp", sentence],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _tell(line: str) -> None:
    try:
        print(line, flush=True)
    except OSError:  # because the parent closed the pipe: the work itself is done
        return


def let_go(display_name: str) -> int:
    """Release every key and button that X reports as pressed. Returns how many; 0 without access to the display."""
    # Imported here because other systems have no Xlib, and because most watchdogs end without a need for it.
    from Xlib import X
    from Xlib.display import Display
    from Xlib.error import ConnectionClosedError, DisplayError
    from Xlib.ext import xtest

    try:
        display = Display(display_name)
    except (DisplayError, OSError):  # because the X server may be gone too
        return 0
    try:
        keys = [
            octet * 8 + bit for octet, byte in enumerate(display.query_keymap()) for bit in range(8) if byte >> bit & 1
        ]
        mask = int(display.screen().root.query_pointer().mask)
        known = ((X.Button1Mask, 1), (X.Button2Mask, 2), (X.Button3Mask, 3))
        buttons = [number for button, number in known if mask & button]
        for number in buttons:
            xtest.fake_input(display, X.ButtonRelease, number)
        for keycode in keys:
            xtest.fake_input(display, X.KeyRelease, keycode)
        display.sync()
    except (ConnectionClosedError, OSError):  # because the X server may end meanwhile
        return 0
    display.close()
    return len(keys) + len(buttons)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
