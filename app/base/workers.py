"""Wisp's own processes beside the main one: the one place that knows how each is started.

In a checkout a worker is a script that Python runs; a frozen program has no Python to run it and starts itself instead:
`wisp worker NAME`. Each worker's module has `run(arguments) -> exit code`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

ENTRY = "worker"
"""The first argument of the program that makes it a worker. It is no command: nobody types it."""
_WORKERS = {
    "ocr": ("app.desktop.ocr.worker", ("-P",)),
    "documents": ("app.services.files.parsing_worker", ("-I", "-X", "utf8")),
    "watchdog": ("app.commands.watchdog", ("-m",)),
}
"""The module, and Python's options: -P and -I keep Python from importing what lies beside the script."""
NAMES = tuple(_WORKERS)


def worker_command(name: str, *arguments: str) -> list[str]:
    """What to start for the worker of that name, one of `NAMES`."""
    module, options = _WORKERS[name]
    if getattr(sys, "frozen", False):
        return [sys.executable, ENTRY, name, *arguments]
    if "-m" in options:
        return [sys.executable, *options, module, *arguments]
    from pathlib import Path  # here, because this module is imported before Wisp answers to Ctrl+C

    script = Path(__file__).resolve().parents[2].joinpath(*module.split(".")).with_suffix(".py")
    return [sys.executable, *options, str(script), *arguments]


def restore_library_path() -> None:
    """Undo for the programs that Wisp starts what a frozen program's loader did to find its own libraries.

    https://pyinstaller.org/en/stable/common-issues-and-pitfalls.html#launching-external-programs-from-the-frozen-application
    """
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before:
        os.environ["LD_LIBRARY_PATH"] = before
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


def run_worker(words: Sequence[str]) -> int:
    """Be the worker that the words name, with the arguments behind the name. Returns the exit code."""
    if not words or words[0] not in _WORKERS:
        print(f"wisp {ENTRY}: name one of {', '.join(NAMES)}", file=sys.stderr)  # noqa: T201 - what started it reads it
        return 2
    run = importlib.import_module(_WORKERS[words[0]][0]).run
    code: int = run(words[1:])
    return code
