"""`wisp gallery`: all states and cards with sample data, in every theme; for theme authors and pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.options import dead_display, is_at_hand, on_a_display, say_that_a_display_is_missing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shot", type=Path, metavar="DIR", help="write a PNG of every piece into DIR and leave")
    parser.add_argument("--theme", type=Path, metavar="FILE", help="a theme file (TOML) whose tokens go on top")


def run(options: argparse.Namespace) -> int:
    """Return 1 after printing the errors of the theme file, else 0. Pictures need no display, windows do."""
    if (options.shot is None and not is_at_hand()) or dead_display():
        return say_that_a_display_is_missing()
    with on_a_display():
        from app.ui import application
        from app.ui.gallery import board

        process = application.make_application()
        made = board.boards(options.theme, shown=board.EVERY)
        problems = next(iter(made.values())).problems
        print(*problems, sep="\n", end="\n" if problems else "")
        if options.shot is None:
            return board.show(process, made) or int(bool(problems))
        for path in board.shoot(made, options.shot):
            print(path)
        return 1 if problems else 0
