"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import argparse
import ctypes
import difflib
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.base.errors import NeedsPerson, ToolMisuse
from app.base.values import dataclass
from app.settings import catalog, store

_TAG = re.compile(r"<([A-Za-z_][\w.-]*)")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--provider", choices=[name for name in catalog.PROVIDER.choices if name], help="who answers")
    parser.add_argument("--model", help="the model's id")
    parser.add_argument("--base-url", type=address, metavar="URL", help="address of a compatible server")
    parser.add_argument(
        "--dialect", choices=[name for name in catalog.DIALECT.choices if name], help="how calls are written"
    )
    add_mode_option(parser)
    add_workspace_option(parser)
    parser.add_argument(
        "--script", type=Path, help="replies for the scripted provider: TOML or JSON, as docs/command-line.md shows"
    )


LOOK = "a theme, light or dark, or both: `cyberpunk-dark`; a part of a theme's name is enough"


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
        help="change nothing: read what is to be read, and say of everything else what it would do",
    )
    parser.add_argument(
        "--no-screen",
        action="store_true",
        help="act on a desktop that only writes down what it is told; files and commands are real",
    )


def add_mode_option(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    parser.add_argument("--mode", choices=catalog.MODE.choices, default=default, help="what runs without asking")


def add_workspace_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        metavar="FOLDER",
        type=workspace,
        help="the folder to work in; the one it is started in if left out, or ~/Wisp where that is your home folder",
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
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return path.resolve()


def count(text: str) -> int:
    """Parse a whole number from 1. For anything else argparse reports an error."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def address(text: str) -> str:
    """Parse the address of a server. For anything else argparse reports an error."""
    from app.providers.wire_errors import EXAMPLE_ADDRESS, is_address

    if not is_address(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no address; write one like {EXAMPLE_ADDRESS}")
    return text


def name_no_call(text: str, names: Iterable[str], otherwise: str) -> str:
    """Return the sentence for a text that holds no call: the nearest tool names if it holds a tag, else `otherwise`."""
    tag = _TAG.search(text)
    if tag is None:
        return otherwise
    near = difflib.get_close_matches(tag[1], list(names), n=2)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`wisp tools` lists them."
    return f"there is no tool {tag[1]!r}. {hint}"


_YES = ("y", "yes", "j", "ja")


def add_yes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do it without a question")


def is_agreed(question: str, options: argparse.Namespace) -> bool:
    """Return whether the person says yes at the terminal, or gave `--yes`. Without a terminal, the answer is no."""
    return bool(options.yes) or (sys.stdin.isatty() and input(f"{question} [y/N] ").strip().lower() in _YES)


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
_MISUSED = 2


@dataclass(frozen=True, slots=True)
class OwnDisplay:
    """The display of a run. `private` is the name of a private display, "" for the person's own.

    `is_wished`: the person has a display, and asked for another one.
    """

    private: str = ""
    is_wished: bool = False

    def announce(self) -> None:
        if self.private and self.is_wished:
            print(f"wisp: working on a desktop apart from yours ({self.private}).", file=sys.stderr)
        elif self.private:
            print(f"wisp: there is no display here; working on a private one ({self.private}).", file=sys.stderr)


def is_at_hand() -> bool:
    """Return whether a display of the person is available here."""
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
        print(
            f"wisp: the display {dead_display()} does not answer, so no window can open. Start it in a desktop "
            'session, or set DISPLAY to one that runs. `wisp do "…"` works without a display where DISPLAY is unset.',
            file=sys.stderr,
        )
        return _MISUSED
    print(
        "wisp: there is no display here, so nobody would see a window. Start it in a desktop session, or set DISPLAY. "
        '`wisp do "…"` works without a display.',
        file=sys.stderr,
    )
    return _MISUSED


@contextmanager
def on_a_display(*, needed: bool = True, apart: bool = False) -> Iterator[OwnDisplay]:
    """Return a context manager inside which there is a display. Raises NeedsPerson if a private one fails.

    `apart`: a private one, although the person has a display.
    """
    if not needed or (is_at_hand() and not apart):
        yield OwnDisplay()
        return
    if platform.system() != "Linux":
        raise NeedsPerson("Only on Linux can a task have a desktop of its own.")
    from app.desktop.choose import desktop_apart

    is_wished = is_at_hand()
    if is_wished:
        store.take_keys_along()  # because the keyring is on the person's session bus
    before = dict(os.environ)
    with desktop_apart() as desktop:
        os.environ.clear()
        os.environ.update(desktop.environment)
        try:
            yield OwnDisplay(os.environ.get("WAYLAND_DISPLAY") or os.environ["DISPLAY"], is_wished)
        finally:
            os.environ.clear()
            os.environ.update(before)
