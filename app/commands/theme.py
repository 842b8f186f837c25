"""`wisp theme`: list the themes, choose one, or go back to the usual looks. `wisp undo` takes a change back."""

from __future__ import annotations

import argparse
import sys
import time

from app.base.errors import ToolMisuse
from app.desktop.wallpaper import DesktopWallpaper
from app.services.themes import Appearance, LookChange, look_problems, theme_named, titled
from app.settings import store, tokens
from app.settings.catalog import ATMOSPHERE, BACKDROP, FONTS, PALETTE, THEME

_BY_HAND = "by-hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="all themes; * marks the one in use (what `wisp theme` alone does)")
    chosen = what.add_parser("set", help="use a theme, without colours, fonts, background and mood of your own")
    chosen.add_argument("name", type=_theme, help="as `wisp theme list` names it, or a part of its name")
    what.add_parser("reset", help="back to the system's light or dark, and to the desktop's picture of before")


def run(options: argparse.Namespace) -> int:
    if options.what == "set":
        rest = dict.fromkeys((PALETTE, FONTS, BACKDROP, ATMOSPHERE), "")
        print(_told(Appearance().choose({THEME: options.name, **rest}, _BY_HAND)))
    elif options.what == "reset":
        at = time.time()  # of both, so that one undo takes both back
        told = DesktopWallpaper().reset(_BY_HAND, at)
        print(_told(Appearance().reset(_BY_HAND, at)), *([told] if told else []), sep="\n")
    else:
        _list()
    for problem in look_problems():
        print(f"wisp: {problem}", file=sys.stderr)
    return 0


def _theme(name: str) -> str:
    try:
        return theme_named(name)
    except ToolMisuse as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("name: ")) from error


_PLAIN = {tokens.SYSTEM: "light or dark as the system", **{scheme: f"always {scheme}" for scheme in tokens.SCHEMES}}


def _list() -> None:
    used = store.load()[THEME]
    for theme in THEME.choices:
        about = tokens.face(theme, tokens.SCHEMES[0]).about or f"the plain theme, {_PLAIN[theme]}"
        print(f"{'*' if theme == used else ' '} {theme:<18} {about}")


def _told(change: LookChange) -> str:
    title = titled(change.after[THEME.key])
    if change.before == change.after:
        return f"It looks so already: the theme is {title}."
    return f"The theme is {title}. `wisp undo` takes it back."
