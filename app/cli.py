"""The `wisp` command. Other programs drive it: names, exit codes and output shapes are a contract.

Exit codes: 0 finished, 1 failed, 2 bad usage, 3 waiting for a person, 130 stopped; `do` has three more.
Each command is a module of `app.commands` with `add_arguments(parser)` and `run(options)`; only the chosen one is
imported, so that `wisp --help` and `wisp parse` load neither Qt nor the desktop.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from app.base import logs, output, paths
from app.base.errors import NeedsPerson, WispError
from app.base.startup import STOPPED

FAILED = 1
MISUSED = 2

COMMANDS = {
    "presence": "the orb on the current display (what `wisp` alone does)",
    "welcome": "the first steps again: what works here, who answers, one thing done together",
    "do": "carry out one task without the window",
    "stop": "stop every Wisp on this display at once, as the stop key does",
    "tool": "run protocol text: from the argument, or from standard input as it streams",
    "parse": "read model text and print its blocks as JSON lines",
    "tools": "the generated tool docs, exactly as a model gets them",
    "policy": "your rules of what may run, and `policy explain CALL`: what decides about it",
    "grants": "the programs and hosts that Wisp may always use: list, allow, revoke",
    "history": "past conversations: `list`, `show`, `export`, `delete`",
    "audit": "what was done and who allowed it: `show`, `verify`, `export`",
    "undo": "take back the newest change of a file, or all of one turn",
    "running": "commands that Wisp started and that still run: `list`, `stop ID`",
    "doctor": "check what this machine allows, each failure with its fix",
    "keys": "on Wayland: bind the stop key and the summon key in the compositor's configuration",
    "extension": "on GNOME: install the extension of the Shell that tells Wisp where windows lie",
    "help": "`help words`: the sentences that are understood without a model",
    "uninstall": "remove all that Wisp keeps on this computer: conversations, settings, keys, its entries elsewhere",
    "features": "abilities that can be left out: `list`, `on NAME`, `off NAME`, and `allow` those of other packages",
}
_FORMER = {"surface": "apps"}
"""What a command was called before. Entries in menus of programs still hold it."""
_TASKS = frozenset({"do", "tool"})
"""Commands whose exit code tells how a task ended, whether or not its words could be printed."""
_log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raises SystemExit(2) for wrong usage, as argparse does."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if bad := next((word for word in words if not _is_text(word)), None):
        print(f"wisp: the argument {os.fsencode(bad)!r} is not valid UTF-8. Write it again.", file=sys.stderr)
        return MISUSED
    if not words or (words[0].startswith("-") and words[0] not in {"-h", "--help", "--version"}):
        words.insert(0, "presence")
    words[0] = _FORMER.get(words[0], words[0])
    return _guarded(words)


def _run(words: Sequence[str]) -> int:
    paths.settle_presence()
    options = options_of(words)
    code: int = options.run(options)
    sys.stdout.flush()
    return code


def options_of(words: Sequence[str]) -> argparse.Namespace:
    """Return what the words of one command ask for. Raises SystemExit(2) for wrong usage."""
    known = _commands()
    if (pair := " ".join(words[:2])) in known or _owner(pair):
        words = [pair, *words[2:]]
    if not words[0].startswith("-") and words[0] not in known:
        _parser(None, known).error(_unknown(words, known))
    was_collecting = gc.isenabled()
    gc.disable()  # because collecting among what is only just being loaded takes a tenth of a start
    try:
        return _parser(words[0], known).parse_args(words)
    finally:
        if was_collecting:
            gc.enable()


def _is_text(word: str) -> bool:
    """Return False if the system's bytes were no UTF-8. Python keeps such bytes as lone surrogates, which cannot be
    stored.

    https://peps.python.org/pep-0383/
    """
    return not any("\ud800" <= character <= "\udfff" for character in word)


class _Command(NamedTuple):
    """A command: the line about it, and what loads it."""

    about: str
    load: Callable[[], Any]


def _commands() -> dict[str, _Command]:
    """Return all commands by name. Of two with one name, Wisp's own counts, then that of the first feature."""
    from app.features import loading

    known = {name: _Command(about, partial(_module, name)) for name, about in COMMANDS.items()}
    for feature, commands in loading.each(lambda feature: dict(feature.commands)):
        for name, about in commands.items():
            known.setdefault(name, _Command(about, partial(feature.command, name)))
    return known


def _assemble(settings: Any, **how: Any) -> Any:
    """Return an unattended assistant, for commands of features, which cannot import this layer."""
    return importlib.import_module("app.assistant").assembled(settings, **how)


def _loaded(name: str, command: _Command) -> Any:
    """Return the module of a command. Raises NeedsPerson if that of another package does not load."""
    try:
        return command.load()
    except ImportError as error:
        if name in COMMANDS:
            raise
        raise NeedsPerson(f"The command {name} does not load ({error}). wisp features tells whose it is.") from error


def _module(name: str) -> Any:
    return importlib.import_module(f"app.commands.{name.replace('-', '_')}")


def _owner(command: str) -> str:
    """Return the name of the feature with this command, switched on or off; "" if there is none."""
    from app.features import loading

    return next((feature.name for feature in loading.everything() if command in feature.commands), "")


def _unknown(words: Sequence[str], known: Mapping[str, _Command]) -> str:
    if off := _owner(words[0]):
        return f"{words[0]} is switched off. To have it again: wisp features on {off}"
    near = difflib.get_close_matches(words[0], known, n=1)
    task = " ".join(words) if len(words) > 1 else f"open {words[0]}"
    meant = f"wisp {near[0]}" if near else f'wisp do "{task}"'
    return f"there is no command {words[0]!r}. Did you mean: {meant}"


def _parser(chosen: str | None, known: Mapping[str, _Command]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wisp", description="Say it, and it happens on the real desktop.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, one in known.items():
        command = commands.add_parser(name, help=one.about.replace("%", "%%"), description=one.about)
        if name == chosen:
            module = _loaded(name, one)
            module.add_arguments(command)
            below = [f"wisp {other}" for other in known if other.startswith(f"{name} ")]
            command.epilog = command.epilog or (f"see also: {', '.join(below)}" if below else None)
            command.set_defaults(run=module.run, assemble=_assemble)
    return parser


class _Version(argparse.Action):
    """The `--version` action. Unlike argparse's, it finds out the version only if asked, because that takes long."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> None:
        from app.base.version import version

        print(f"wisp {version()}")
        parser.exit()


def _guarded(words: Sequence[str]) -> int:
    """Run the command that the words name. Any error becomes one printed sentence and an exit code."""
    try:
        code = _run(words)
    except KeyboardInterrupt:
        return STOPPED
    except WispError as error:
        print(f"wisp: {error.for_people()}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"wisp: {error.strerror or error}: {error.filename or 'standard input or output'}", file=sys.stderr)
        return FAILED
    except Exception:
        logs.to_file()
        _log.exception("The command %s failed.", words[0])
        print(f"wisp: something went wrong inside Wisp. The log says what: {logs.path()}", file=sys.stderr)
        return FAILED
    return _with_output(words[0], code)


def _with_output(command: str, code: int) -> int:
    """Return the exit code, and tell if output was lost. A command whose task was only to print has then failed."""
    lost = output.lost()
    if lost is None:
        return code
    if command in _TASKS or not isinstance(lost, BrokenPipeError):
        print(f"wisp: not everything could be printed: {lost.strerror}.", file=sys.stderr)
    return code if command in _TASKS else code or FAILED
