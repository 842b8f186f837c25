"""`wisp theme`: list the themes, choose one, light or dark, or go back to the usual looks. `wisp undo` undoes it."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from app import options as shared
from app.base.phrases import Phrase
from app.features.looks.wallpaper import DesktopWallpaper
from app.services.themes import Appearance, LookChange, look_problems, titled
from app.settings import store, tokens
from app.settings.catalog import SCHEME, THEME

_BY_HAND = "by-hand"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="list all themes; * marks the one in use (`wisp theme` alone does it, too)")
    chosen = what.add_parser(
        "set",
        help=(
            "use a theme, and delete your own colours, fonts and background from the settings; `wisp undo` "
            "brings them back"
        ),
    )
    chosen.add_argument(
        "look",
        metavar="NAME",
        nargs="+",
        action=_Look,
        help="use this theme, light or dark, or both, such as cyberpunk-dark; light or dark alone keeps the theme",
    )
    what.add_parser("reset", help="go back to the usual looks and to the wallpaper that you had")


class _Look(argparse.Action):
    """Reads all words as one name, so that it needs no quotes."""

    def __call__(self, _parser: object, options: argparse.Namespace, words: Any, _name: str | None = None) -> None:
        try:
            setattr(options, self.dest, shared.look(" ".join(words)))
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error


def run(options: argparse.Namespace) -> int:
    if options.what == "set":
        print(_told(Appearance().choose(options.look, _BY_HAND)))
    elif options.what == "reset":
        at = time.time()  # of both, so that one undo takes both back
        told = DesktopWallpaper().reset(_BY_HAND, at)
        print(_told(Appearance().reset(_BY_HAND, at)), *([told] if told else []), sep="\n")
    else:
        _list()
    for problem in look_problems():
        print(f"wisp: {problem}", file=sys.stderr)
    return 0


_SCHEMES = {tokens.SYSTEM: "light or dark as the system", **{scheme: f"always {scheme}" for scheme in tokens.SCHEMES}}


def _list() -> None:
    now = store.load()
    themes = {theme: tokens.face(theme, tokens.SCHEMES[0]).about for theme in THEME.choices}
    for setting, named in ((THEME, themes), (SCHEME, _SCHEMES)):
        for name, about in named.items():
            print(f"{'*' if name == now[setting] else ' '} {name:<18} {about}")


def _told(change: LookChange) -> str:
    title = titled(change.after)
    if change.before == change.after:
        return Phrase("The theme was {theme} already.", {"theme": title}).said(shared.words_here())
    return Phrase("The theme is {theme} now. To take it back: wisp undo", {"theme": title}).said(shared.words_here())
