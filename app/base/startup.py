"""How Wisp's processes start and end. Ctrl+C exits with code 130, without a traceback, and ends child processes.

A worker is a second process of Wisp. In a checkout it is a script that Python runs. A frozen program has no Python, so
it starts itself: `wisp worker NAME`. A worker's module has `run(arguments) -> exit code`.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

STOPPED = 130
"""The exit code of a program that Ctrl+C ended: 128 plus the number of SIGINT."""

_INHERITED = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGCHLD", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGTSTP")
"""Signals that may be ignored when Wisp starts. Python itself restores SIGPIPE and SIGXFSZ for children."""


def exit_on_ctrl_c() -> None:
    """End the process at once on Ctrl+C. A command that must finish something installs its own handler later.

    A finished command ignores Ctrl+C, so that its exit code stays: Python removes handlers before it ends.
    """
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    reset_for_children()
    if signal.getsignal(signal.SIGINT) is not _ignore:
        signal.signal(signal.SIGINT, _exit)


def reset_for_children() -> None:
    """Reset signals for child processes: those that a shell's `&`, `trap` or `nohup` ignored are no longer ignored.

    A child inherits ignored signals through exec, but not handlers. A shell that starts with SIGINT ignored can never
    change that (POSIX, `trap`), so Ctrl+C would not end what runs in it. A blocked signal stays blocked.
    """
    for name in _INHERITED:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def stop_on_signals(stop: Callable[[], object]) -> None:
    """Call `stop` in the running event loop on Ctrl+C (SIGINT) and on SIGTERM."""
    if sys.platform != "win32":
        import asyncio

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)


def _exit(*_: object) -> None:
    os._exit(STOPPED)


def _ignore(*_: object) -> None:
    """Ignore the signal in this process only."""


ENTRY = "worker"
"""The first argument that makes the program a worker. It is not a command for people."""
_WORKERS = {
    "ocr": ("app.desktop.ocr.worker", ("-P",)),
    "documents": ("app.services.files.parsing_worker", ("-I", "-X", "utf8")),
    "watchdog": ("app.commands.watchdog", ("-m",)),
    "recorder": ("app.services.processes.output_recorder", ("-I", "-S", "-c")),
    "mcp": ("app.features.mcp.worker", ("-I", "-c")),
    "selections": ("app.desktop.x11.keeper", ("-I", "-c")),
    "clipboard": ("app.desktop.wayland.keeper", ("-I", "-c")),
    "surfaces": ("app.features.apps.engine", ("-I", "-c")),
    "surface-windows": ("app.features.apps.windows", ("-I", "-c")),
    "drawing": ("app.ui.system.svg_worker", ("-I", "-c")),
    "apart": ("app.desktop.apart", ("-I", "-c")),
    "ender": ("app.services.processes.commands", ("-I", "-c")),
    "forwarder": ("app.services.processes.forwarding", ("-I", "-S", "-c")),
}
"""The module, and Python's options. -P and -I keep Python from importing files next to the script.

-S leaves out site-packages, which takes longer to load than such a worker itself.
"""
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from {} import run; sys.exit(run(sys.argv[2:]))"
NAMES = tuple(_WORKERS)


def worker_command(name: str, *arguments: str) -> list[str]:
    """`name` is one of `NAMES`."""
    module, options = _WORKERS[name]
    if getattr(sys, "frozen", False):
        return [sys.executable, ENTRY, name, *arguments]
    if "-m" in options:
        return [sys.executable, *options, module, *arguments]
    from pathlib import Path  # here, because this module is imported before Wisp answers to Ctrl+C

    root = Path(__file__).resolve().parents[2]
    if "-c" in options:
        return [sys.executable, *options, _CODE.format(module), str(root), *arguments]
    return [sys.executable, *options, str(root.joinpath(*module.split(".")).with_suffix(".py")), *arguments]


def own_command() -> tuple[list[str], str]:
    """Return the command that starts another Wisp, and the folder in which to start it."""
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "app"], str(root)


def start_wisp(*arguments: str) -> Popen[bytes]:
    """Start another Wisp process with these arguments. It continues after this process ends."""
    import subprocess  # here, because few processes start another one
    import threading

    command, folder = own_command()
    started = subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that it goes on when this Wisp or its terminal ends
    )
    # Somebody has to wait for it: otherwise it stays in the list of processes as a zombie.
    threading.Thread(target=started.wait, daemon=True).start()
    return started


def restore_library_path() -> None:
    """Restore LD_LIBRARY_PATH for started programs, which a frozen program's loader has changed.

    https://pyinstaller.org/en/stable/common-issues-and-pitfalls.html#launching-external-programs-from-the-frozen-application
    """
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before:
        os.environ["LD_LIBRARY_PATH"] = before
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


def run_worker(words: Sequence[str]) -> int:
    """Run the worker that the first word names, with the other words as arguments. Returns the exit code."""
    if not words or words[0] not in _WORKERS:
        print(f"wisp {ENTRY}: name one of {', '.join(NAMES)}", file=sys.stderr)  # noqa: T201 - what started it reads it
        return 2
    run = importlib.import_module(_WORKERS[words[0]][0]).run
    code: int = run(words[1:])
    return code
