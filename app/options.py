"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import difflib
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from app.base import paths
from app.base.errors import NeedsPerson, ToolMisuse, WispError
from app.base.phrases import Phrase, PhraseValue, Translations
from app.base.resources import system_language
from app.base.translation import words_in
from app.base.values import dataclass
from app.settings import catalog, store

_TAG = re.compile(r"<([A-Za-z_][\w.-]*)")
_MISUSED = 2


class CommandParser(argparse.ArgumentParser):
    """Parses the words of a command. Its help and its errors are in the person's language."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"formatter_class": _HelpFormatter, **how, "add_help": False, "allow_abbrev": False})
        self._positionals.title, self._optionals.title = "After the command", "Options"
        self.add_argument("-h", "--help", action="help", help="show this help")

    def add_argument(self, *names: Any, **how: Any) -> argparse.Action:
        """Add an argument. What stands for one without a name of its own is written in capitals."""
        if not names[0].startswith("-") and "choices" not in how:
            how.setdefault("metavar", names[0].upper())
        return super().add_argument(*names, **how)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self._refuse(self._unknown(unknown[0], options))
        return options

    def _unknown(self, word: str, options: argparse.Namespace) -> Phrase:
        """Return what to say of a word that the command does not know, with the nearest option."""
        below = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        chosen = [action.choices.get(getattr(options, action.dest)) for action in below]
        known = [option for one in (self, *filter(None, chosen)) for option in one._option_string_actions]
        if not word.startswith("-"):
            return Phrase("“{word}” is one word too many. Put words that belong together in quotes.", {"word": word})
        if near := difflib.get_close_matches(word.partition("=")[0], known, n=1):
            return Phrase("There is no option {word}. Did you mean: {near}", {"word": word, "near": near[0]})
        return Phrase("There is no option {word}.", {"word": word})

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        shown = [str(choice) for choice in action.choices if choice != ""]
        values: dict[str, PhraseValue] = {"value": str(value), "choices": ", ".join(shown)}
        if near := difflib.get_close_matches(str(value), shown, n=1):
            values["near"] = near[0]
            told = Phrase("“{value}” is not possible here. Did you mean: {near}. Possible are: {choices}", values)
        else:
            told = Phrase("“{value}” is not possible here. Possible are: {choices}", values)
        raise argparse.ArgumentError(action, told.said(words_here()))

    def error(self, message: str) -> NoReturn:
        self._refuse(Phrase("{message}", {"message": message}))

    def _refuse(self, told: Phrase) -> NoReturn:
        words, name = words_here(), self.prog.removeprefix("wisp ")
        help_line = Phrase("All about it: wisp help {name}", {"name": name.split(" ")[0]})
        self.exit(_MISUSED, f"{self.prog}: {told.said(words)}\n{help_line.said(words)}\n")


class _HelpFormatter(argparse.HelpFormatter):
    """Writes help in the person's language. The texts stand in the code in English. Lines of a text stay lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_HELP_COLUMN)
        self._words = words_here()

    def start_section(self, heading: str | None) -> None:
        super().start_section(self._words(heading or ""))

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """Name what must be given. The options are listed below with what each does."""
        if prefix is None:
            given = [one for one in actions if not one.option_strings]
            command, prefix = self._prog, self._words("Usage: ")
            if usage is None and len(actions) - len(given) > 1:  # more than --help
                self._prog = f"{command} {self._words('[options]')}"
            usage = self._format_usage(usage, given, [], "").strip()
            actions, groups, self._prog = given, [], command
        super().add_usage(usage, actions, groups, prefix)

    def add_text(self, text: str | None) -> None:
        super().add_text(self._words(text) if text and text is not argparse.SUPPRESS else text)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self._words(action.help) if action.help else action.help

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "\n".join(indent + line for line in text.splitlines())
        return super()._fill_text(text, width, indent)


_HELP_COLUMN = 26
_SAID_PLAINLY = {
    "the following arguments are required: %s": "Something is missing: %s",
    "one of the arguments %s is required": "One of these is missing: %s",
    "not allowed with argument %s": "It cannot be given together with %s",
    "expected one argument": "Something must follow it.",
    "expected at least one argument": "Something must follow it.",
    "invalid %(type)s value: %(value)r": "%(value)r is not possible here.",
    "argument %(argument_name)s: %(message)s": "%(argument_name)s: %(message)s",
}
"""What the library says, and what people read."""


def _said_plainly(text: str) -> str:
    return words_here()(_SAID_PLAINLY.get(text, text))


# The library asks for the words of its own sentences here; it has no translations itself.
argparse._ = _said_plainly  # type: ignore[attr-defined]


def add_model_options(parser: argparse.ArgumentParser) -> None:
    add_provider_options(parser)
    add_mode_option(parser)
    add_workspace_option(parser)
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="for tests: take the answers from this file in place of a model",
    )


def add_provider_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--provider",
        choices=[name for name in catalog.PROVIDER.choices if name],
        help="let this one answer: Claude (anthropic), another model (openai), or none (offline)",
    )
    parser.add_argument("--model", help="ask this model, by the name that its maker gives it")
    parser.add_argument("--base-url", type=address, metavar="URL", help="ask the model server at this address")
    parser.add_argument(
        "--dialect",
        choices=[name for name in catalog.DIALECT.choices if name],
        help="let the model write its steps in this form; otherwise Wisp chooses the best one",
    )


LOOK = "use this theme, light or dark, or both, such as cyberpunk-dark"


def look(name: str) -> dict[catalog.Setting[str], str]:
    """Read the name of a theme, of a colour scheme, or of both."""
    from app.services.themes import look_named  # late, because few commands need it

    try:
        return look_named(name)
    except ToolMisuse as error:
        raise argparse.ArgumentTypeError(error.why.what.for_models) from error


def add_rehearsal_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="change nothing: Wisp only reads, and says what it would do",
    )
    parser.add_argument(
        "--no-screen",
        action="store_true",
        help=(
            "do nothing on your screen, and only note what would be done there; files are still changed, and "
            "commands still run"
        ),
    )


def add_mode_option(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    parser.add_argument(
        "--mode",
        choices=catalog.MODE.choices,
        default=default,
        help="ask: Wisp asks you before it changes things; auto: it asks less; plan: it only looks; yolo: it asks only "
        "about the most dangerous things",
    )


def add_workspace_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="FOLDER",
        type=workspace,
        help=(
            "work in this folder; otherwise in the current one. If the current one is your home folder, Wisp "
            "works in ~/Wisp"
        ),
    )


def workspace(text: str) -> Path:
    """Parse an existing folder, or Wisp's own one, which is made when it is needed."""
    from app.services.files.workspace import own_workspace

    path = Path(text).expanduser()
    return path if Path(os.path.realpath(path)) == own_workspace() else folder(text)


def folder(text: str) -> Path:
    """Parse an existing folder. For anything else argparse reports an error."""
    path = Path(text).expanduser()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return path.resolve()


def count(text: str) -> int:
    """Parse a whole number from 1. For anything else argparse reports an error."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; write 1 or more")
    return int(text)


def address(text: str) -> str:
    """Parse the address of a server. For anything else argparse reports an error."""
    from app.providers.wire_errors import EXAMPLE_ADDRESS, is_address

    if not is_address(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address of a server; write one like {EXAMPLE_ADDRESS}")
    return text


def name_no_call(text: str, names: Iterable[str], otherwise: str) -> str:
    """For a text that holds no call: the nearest tool names if it holds a tag, else `otherwise`."""
    tag = _TAG.search(text)
    if tag is None:
        return otherwise
    near = difflib.get_close_matches(tag[1], list(names), n=2)
    hint = f"Did you mean {' or '.join(near)}?" if near else "To list them all: wisp tools"
    return f"There is no tool {tag[1]!r}. {hint}"


def words_here() -> Translations:
    """Return the words of the person's language: that of their settings, else that of the system."""
    try:
        paths.settle_presence()
        chosen = store.load()[catalog.LANGUAGE]
    except WispError:  # because there is no such presence, or the folder of the settings is out of reach
        chosen = ""
    return words_in(chosen or system_language())


def say(text: str, *, many: str = "", **values: str | int) -> None:
    """Print a sentence in the person's language. `many` is the text for any other `count` among the values than 1."""
    print(Phrase(text, values, many).said(words_here()))


def warn(text: str, **values: str | int) -> None:
    """Print a sentence about the run itself, in the person's language, on standard error."""
    print(f"wisp: {Phrase(text, values).said(words_here())}", file=sys.stderr)


_YES = ("y", "yes", "j", "ja")


def add_yes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do it without asking you")


def is_agreed(question: str, options: argparse.Namespace, *, many: str = "", **values: str | int) -> bool:
    """A yes at the terminal, or `--yes`. Without a terminal, the answer is no."""
    if options.yes:
        return True
    words = words_here()
    asked = f"{Phrase(question, values, many).said(words)} {words('[y/N]')} "
    with contextlib.suppress(EOFError):  # because Ctrl+D is a no
        if sys.stdin.isatty() and input(asked).strip().lower() in _YES:
            return True
    print(words("Nothing was changed. Add --yes to do it without a question."))
    return False


def settings_of(options: argparse.Namespace) -> store.Settings:
    """Load the person's settings and apply the command line's on top. Print wrong values on standard error."""
    settings = store.load()
    for problem in settings.problems:
        print(f"wisp: {problem}", file=sys.stderr)
    names = {
        "provider": "model__provider",
        "model": "model__id",
        "base_url": "model__base_url",
        "dialect": "model__dialect",
        "mode": "trust__mode",
        "script": "model__script",
        "max_passes": "chat__max_passes",
        "workspace": "files__workspace",
    }
    given: dict[str, Any] = {
        key: str(value) for name, key in names.items() if (value := getattr(options, name, None)) is not None
    }
    if "model__script" in given:
        given.setdefault("model__provider", "scripted")
    return settings.with_values(**given)


_ANSWER_LIMIT_S = 2.0


@dataclass(frozen=True, slots=True)
class OwnDisplay:
    """The display of a run. `private` is the name of a private display, "" for the person's own.

    `is_wished`: the person has a display, and asked for another one.
    """

    private: str = ""
    is_wished: bool = False

    def announce(self) -> None:
        if self.private and self.is_wished:
            warn("Wisp works on a desktop of its own ({name}). Yours stays as it is.", name=self.private)
        elif self.private:
            warn("There is no screen here, so Wisp works on one of its own ({name}).", name=self.private)


def is_at_hand() -> bool:
    """True if a display of the person is available here."""
    return platform.system() != "Linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def dead_display() -> str:
    """Return the name of the display that is set but does not answer: Qt would abort the process there.

    "" if it answers, or if no window is needed.
    """
    named = os.environ.get("DISPLAY", "")
    if platform.system() == "Linux" and not named and os.environ.get("WAYLAND_DISPLAY"):
        return _dead_compositor()
    if platform.system() != "Linux" or not named or os.environ.get("QT_QPA_PLATFORM", "xcb") != "xcb":
        return ""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")  # which Qt is about to load
    except OSError:
        return ""
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    connection = ctypes.c_void_p(xcb.xcb_connect(os.fsencode(named), None))
    is_dead = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return named if is_dead else ""


def _dead_compositor() -> str:
    from app.desktop.wayland import kernel
    from app.desktop.wayland.wire import socket_of

    try:
        if path := socket_of(os.environ):
            kernel.connected(path, _ANSWER_LIMIT_S).close()
            return ""
    except OSError:  # because nobody listens there
        pass
    return os.environ["WAYLAND_DISPLAY"]


def say_that_a_display_is_missing() -> int:
    """Print that no window can open without a display. Returns the exit code."""
    if is_at_hand():
        warn(
            "The screen {name} does not answer, so Wisp can show no window. Start Wisp in a desktop session, or set "
            'DISPLAY to a screen that runs. Without a screen: unset DISPLAY, then wisp do "TASK"',
            name=dead_display(),
        )
        return _MISUSED
    warn(
        "There is no screen here, so Wisp can show no window. Start Wisp in a desktop session, or set DISPLAY. "
        'Without a screen: wisp do "TASK"'
    )
    return _MISUSED


@contextlib.contextmanager
def on_a_display(
    *, needed: bool = True, apart: bool = False, size: tuple[int, int] = (1280, 800), home: Path | None = None
) -> Iterator[OwnDisplay]:
    """Return a context manager inside which there is a display. Raises NeedsPerson if a private one fails.

    `apart`: a private one, although the person has a display. `size` is that of a private one, in pixels, and
    `home` a folder that is deleted with it.
    """
    if not needed or (is_at_hand() and not apart):
        yield OwnDisplay()
        return
    if platform.system() != "Linux":
        raise NeedsPerson("Only on Linux can Wisp work on a desktop of its own. Leave out --apart.")
    from app.desktop.choose import desktop_apart

    is_wished = is_at_hand()
    if is_wished:
        store.take_keys_along()  # because the keyring is on the person's session bus
    before = dict(os.environ)
    with desktop_apart(size, home) as desktop:
        os.environ.clear()
        os.environ.update(desktop.environment)
        try:
            yield OwnDisplay(os.environ.get("WAYLAND_DISPLAY") or os.environ["DISPLAY"], is_wished)
        finally:
            os.environ.clear()
            os.environ.update(before)
