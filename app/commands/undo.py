"""`wisp undo`: takes back the newest change of a file, or everything one turn changed."""

from __future__ import annotations

import argparse
import datetime

from app import wiring
from app.commands import options as shared
from app.services.checkpoints.store import Change
from app.services.workspace.changes import Changes
from app.services.workspace.places import Workspace

_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--turn", metavar="ID", help="take back all changes of this turn, newest first")
    what.add_argument("--list", action="store_true", help="the newest changes that can be taken back")


def run(options: argparse.Namespace) -> int:
    kept = wiring.checkpoints()
    if options.list:
        for change in kept.changes()[-_LISTED:]:
            print(_told(change))
        return 0
    changes = Changes(Workspace(wiring.workspace_of(shared.settings_of(options))), kept)
    if options.turn:
        undone, problems = changes.restore(options.turn)
    else:
        undone, problems = [changes.undo_last()], []
    for change in undone:
        print(f"Took back: {_told(change)}")
    for problem in problems:
        print(f"Not taken back: {problem}")
    if not undone and not problems:
        print("That turn changed no file.")
    return int(bool(problems) or not undone)


def _told(change: Change) -> str:
    at = datetime.datetime.fromtimestamp(change.at).strftime("%Y-%m-%d %H:%M:%S")
    return f"{at}  {change.turn or '-'}  {change.tool}  {change.path}"
