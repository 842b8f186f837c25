"""The `wisp` command. Other programs drive it: names, exit codes and output shapes are a contract.

Exit codes: 0 finished, 1 failed, 2 bad usage, 3 waiting for a person, 130 stopped.
Each command is a module of `app.commands` with `add_arguments(parser)` and `run(options)`; only the chosen one is
imported, so that `wisp --help` and `wisp parse` load neither Qt nor the desktop.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence

from app.base import logs
from app.base.errors import WispError

FAILED = 1
MISUSED = 2
STOPPED = 130

COMMANDS = {
    "presence": "the orb on the current display (what `wisp` alone does)",
    "welcome": "the first steps again: what works here, who answers, one thing done together",
    "do": "carry out one task without the window",
    "tool": "run protocol text: from the argument, or from standard input as it streams",
    "parse": "read model text and print its blocks as JSON lines",
    "tools": "the generated tool docs, exactly as a model gets them",
    "policy": "the rules of what may run, and `policy explain CALL`: which of them decides",
    "history": "past conversations: `list`, `show`, `export`, `delete`",
    "audit": "what was done and who allowed it: `show`, `verify`, `export`",
    "undo": "take back the newest change of a file, or all of one turn",
    "doctor": "check what this machine allows, each failure with its fix",
    "gallery": "all states and cards of the presence with sample data",
}
_log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raises SystemExit(2) for wrong usage, as argparse does."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen = next((word for word in words if not word.startswith("-")), None)
    if chosen is None and not {"-h", "--help", "--version"} & set(words):
        chosen = "presence"
        words.insert(0, chosen)
    options = _parser(chosen).parse_args(words)
    return _guarded(options)


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wisp", description="Say it, and it happens on the real desktop.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose)
        if name == chosen:
            module = importlib.import_module(f"app.commands.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"wisp {version('wisp-desktop')}"
    except PackageNotFoundError:
        return "wisp (from a checkout)"


def _guarded(options: argparse.Namespace) -> int:
    """The application's border: whatever rises to here becomes one sentence and an exit code."""
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        # The reader of our output has gone: nothing more to say, also not when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except WispError as error:
        print(f"wisp: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"wisp: {error.strerror or error}: {error.filename or 'standard input or output'}", file=sys.stderr)
        return FAILED
    except Exception:
        logs.to_file()
        _log.exception("The command %s failed.", options.command)
        print(f"wisp: something went wrong inside Wisp. The log says what: {logs.path()}", file=sys.stderr)
        return FAILED
    return code
