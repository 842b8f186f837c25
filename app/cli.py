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
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from app.base import logs, output, paths
from app.base.errors import NeedsPerson, WispError
from app.base.phrases import Translations
from app.base.startup import STOPPED
from app.options import CommandParser, warn, words_here

FAILED = 1
MISUSED = 2

COMMANDS = {
    "presence": "show Wisp on your desktop, and make, list or delete further Wisps",
    "welcome": "choose who answers, see what works here, and try a first task",
    "do": "do one task from this terminal, without Wisp's window",
    "stop": "stop all that Wisp does on this display, as the stop key does",
    "undo": "take back the newest change, or all changes of one task",
    "doctor": "check what works here, and say how to repair the rest",
    "help": "explain Wisp, a command, or the sentences that Wisp understands without a model",
    "grants": "list what Wisp may always use, allow more, or take permissions back",
    "policy": "show your rules, and explain whether a step would run, ask you or be refused",
    "running": "list the commands that Wisp started and that still run, or end one",
    "history": "list, show, export or delete past conversations",
    "audit": "show what Wisp did and who allowed it, and check that record",
    "features": "list Wisp's abilities, and switch them on or off",
    "keys": "on Wayland: set up your desktop so that the stop key works, and the key that opens Wisp",
    "extension": "on GNOME: install the extension that tells Wisp where windows are",
    "uninstall": (
        "remove all that Wisp keeps on this computer: conversations, settings, keys, and what it added to "
        "your desktop and to other programs"
    ),
    "tool": "run tool calls and print their results as JSON",
    "parse": "read a model's answer and print its parts as JSON",
    "tools": "print the description of the tools that a model gets",
    "export-trace": "print what happened in a past task as a trace that OpenTelemetry's tools read",
}
_FIRST = {
    "wisp": "show Wisp: an orb that you click, and then say what to do",
    'wisp do "TASK"': 'do one task from this terminal: wisp do "open the calculator"',
    "wisp welcome": COMMANDS["welcome"],
    "wisp stop": COMMANDS["stop"],
    "wisp undo": COMMANDS["undo"],
    "wisp doctor": COMMANDS["doctor"],
}
"""What somebody needs first."""
_GROUPS = {
    "What Wisp may do, and did": ("grants", "policy", "running", "history", "audit"),
    "How Wisp is set up": ("presence", "features", "keys", "extension", "uninstall"),
    "For programs": ("tool", "parse", "tools", "export-trace"),
}
_ABILITIES = "What Wisp can do besides"
_MORE = {
    "wisp help COMMAND": "explain a command and its options",
    "wisp help commands": "say in one line what each command does",
    "wisp help words": "list sentences that Wisp understands without a model",
    "wisp --version": "print Wisp's version",
}
_FORMER = {"surface": "apps"}
"""What a command was called before. Entries in menus of programs still hold it."""
_COLUMNS = 80
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
    match words:
        case ["--version", *_]:
            return argparse.Namespace(run=_print_version)
        case ["-h" | "--help", *_] | ["help"]:
            return argparse.Namespace(run=partial(_print_help, _overview, known))
        case ["help", "commands"]:
            return argparse.Namespace(run=partial(_print_help, _all, known))
        case ["help", *named] if named[0] != "words" and not named[0].startswith("-"):
            words = [*named, "--help"]
    if (pair := " ".join(words[:2])) in known or _owner(pair):
        words = [pair, *words[2:]]
    if words[0] not in known:
        sentence, values = _unknown(words, known)
        warn(sentence, **values)
        raise SystemExit(MISUSED)
    was_collecting = gc.isenabled()
    gc.disable()  # because collecting among what is only just being loaded takes a tenth of a start
    try:
        return _parser(words[0], known).parse_args(words[1:])
    finally:
        if was_collecting:
            gc.enable()


def _print_version(_options: argparse.Namespace) -> int:
    from app.base.version import version  # here, because finding it out takes long

    print(f"wisp {version()}")
    return 0


def _print_help(
    lines: Callable[[Mapping[str, _Command], Translations], Iterator[str]],
    known: Mapping[str, _Command],
    _options: argparse.Namespace,
) -> int:
    print("\n".join(lines(known, words_here())))
    return 0


def _overview(known: Mapping[str, _Command], words: Translations) -> Iterator[str]:
    """Yield the lines of `wisp help`: what somebody needs first, and the names of all other commands."""
    yield words("Wisp does on your desktop what you tell it.")
    yield ""
    yield from _rows({name: words(about) for name, about in _FIRST.items()})
    yield f"\n{words('All other commands:')}"
    groups = {title: [name for name in names if " " not in name] for title, names in _grouped(known).items()}
    yield from _rows({words(title): ", ".join(names) for title, names in groups.items()})
    yield ""
    yield from _rows({name: words(about) for name, about in _MORE.items()})


def _all(known: Mapping[str, _Command], words: Translations) -> Iterator[str]:
    """Yield the lines of `wisp help commands`: a line for each command."""
    named = [name for names in _grouped(known).values() for name in names]
    for title, names in {"Start here": [name for name in COMMANDS if name not in named], **_grouped(known)}.items():
        yield f"{words(title)}:"
        yield from _rows({name: words(known[name].about) for name in names})


def _grouped(known: Mapping[str, _Command]) -> dict[str, Sequence[str]]:
    may, *rest = _GROUPS.items()
    return dict([may, (_ABILITIES, [name for name in known if name not in COMMANDS]), *rest])


def _rows(told: Mapping[str, str]) -> Iterator[str]:
    """Yield two columns, the second one wrapped."""
    width = max(map(len, told), default=0) + 4
    for name, about in told.items():
        yield textwrap.fill(about, _COLUMNS, initial_indent=f"  {name}".ljust(width), subsequent_indent=" " * width)


def _is_text(word: str) -> bool:
    """False if the system's bytes were no UTF-8.

    Python keeps such bytes as lone surrogates, which cannot be stored.

    https://peps.python.org/pep-0383/
    """
    return not any("\ud800" <= character <= "\udfff" for character in word)


class _Command(NamedTuple):
    """A command: the line about it, and what loads it."""

    about: str
    load: Callable[[], Any]


def _commands() -> dict[str, _Command]:
    """Of two commands with one name, Wisp's own counts, then that of the first feature."""
    from app.features import loading

    known = {name: _Command(about, partial(_module, name)) for name, about in COMMANDS.items()}
    for feature, commands in loading.each(lambda feature: dict(feature.commands)):
        for name, about in commands.items():
            known.setdefault(name, _Command(about, partial(feature.command, name)))
    return known


def _assemble(settings: Any, **how: Any) -> Any:
    """For commands of features, which cannot import this layer: an unattended assistant."""
    return importlib.import_module("app.assistant").assembled(settings, **how)


def _loaded(name: str, command: _Command) -> Any:
    """Raises NeedsPerson if the module of another package's command does not load."""
    try:
        return command.load()
    except ImportError as error:
        if name in COMMANDS:
            raise
        raise NeedsPerson(
            f"The command {name} does not load ({error}). To see which package it belongs to: wisp features"
        ) from error


def _module(name: str) -> Any:
    return importlib.import_module(f"app.commands.{name.replace('-', '_')}")


def _owner(command: str) -> str:
    """The name of the feature with this command, switched on or off; "" if there is none."""
    from app.features import loading

    return next((feature.name for feature in loading.everything() if command in feature.commands), "")


def _unknown(words: Sequence[str], known: Mapping[str, _Command]) -> tuple[str, dict[str, str]]:
    """Return what to tell about a command that does not exist, and its values."""
    name = words[0]
    if off := _owner(name):
        return "The command {name} is switched off. To switch it on: wisp features on {off}", {"name": name, "off": off}
    near = difflib.get_close_matches(name, known, n=1)
    task = " ".join(word for word in words if word != "--help") if len(words) > 1 else f"open {name}"
    meant = f"wisp {near[0]}" if near else f'wisp do "{task}"'
    return "There is no command {name!r}. Did you mean: {meant}", {"name": name, "meant": meant}


def _parser(name: str, known: Mapping[str, _Command]) -> argparse.ArgumentParser:
    command = known[name]
    module = _loaded(name, command)
    parser = CommandParser(prog=f"wisp {name}", description=command.about)
    module.add_arguments(parser)
    below = [f"wisp {other}" for other in known if other.startswith(f"{name} ")]
    parser.epilog = parser.epilog or (f"→ {', '.join(below)}" if below else None)
    parser.set_defaults(run=module.run, assemble=_assemble)
    return parser


def _guarded(words: Sequence[str]) -> int:
    """Run the command that the words name. Any error becomes one printed sentence and an exit code."""
    try:
        code = _run(words)
    except KeyboardInterrupt:
        return STOPPED
    except WispError as error:
        print(f"wisp: {error.for_people(words_here())}", file=sys.stderr)
        return FAILED
    except OSError as error:
        where = error.filename or "standard input or output"
        warn("{where} cannot be used: {why}.", where=str(where), why=error.strerror or str(error))
        return FAILED
    except Exception:
        logs.to_file()
        _log.exception("The command %s failed.", words[0])
        warn("Wisp made a mistake of its own and ended. The details are in {log}", log=str(logs.path()))
        return FAILED
    return _with_output(words[0], code)


def _with_output(command: str, code: int) -> int:
    """Return the exit code, and tell if output was lost. A command whose task was only to print has then failed."""
    lost = output.lost()
    if lost is None:
        return code
    if command in _TASKS or not isinstance(lost, BrokenPipeError):
        warn("Not everything could be printed: {why}.", why=lost.strerror or str(lost))
    return code if command in _TASKS else code or FAILED
