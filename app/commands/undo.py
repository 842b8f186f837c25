"""`wisp undo`: takes back the newest change, what one turn changed, or what was set aside after a command.

The newest change is one file that was written, or all files that one command deleted.
"""

from __future__ import annotations

import argparse
import datetime

from app.assembly import checkpoints, commands_of, workspace_of
from app.base.clock import SystemClock
from app.base.texts import named_in_short
from app.commands import options as shared
from app.services.files.changes import Changes
from app.services.files.checkpoints import Change
from app.services.files.places import Workspace
from app.services.processes.commands import Processes, Run

_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--turn", metavar="ID", help="take back all changes of this turn or command, newest first")
    what.add_argument(
        "--command",
        metavar="RUN_ID",
        help="put back what this command deleted, and give files back their names that were set aside after it",
    )
    what.add_argument("--list", action="store_true", help="the newest changes that can be taken back")


def run(options: argparse.Namespace) -> int:
    kept = checkpoints()
    if options.list:
        listed = [_told(change) for change in kept.changes()[-_LISTED:]]
        listed += [
            f"set aside after {command.id} in {command.record.before.workspace}: {_names(command)}"
            for command in _processes(options).recent(_LISTED)
            if command.record.set_aside
        ]
        print(*(listed or ["There is nothing to take back."]), sep="\n")
        return 0
    if options.command:
        return _put_back(options)
    changes = Changes(Workspace(workspace_of(shared.settings_of(options))), kept)
    undone, problems = changes.restore(options.turn) if options.turn else changes.undo_newest()
    for name in named_in_short([change.path for change in undone]):
        print(f"Took back: {name}")
    for problem in problems:
        print(f"Not taken back: {problem}")
    if not undone and not problems:
        print("That turn changed no file.")
    return int(bool(problems) or not undone)


def _processes(options: argparse.Namespace) -> Processes:
    processes, _ = commands_of(shared.settings_of(options), SystemClock())
    return processes


def _put_back(options: argparse.Namespace) -> int:
    """Put back what a command deleted, then the names of what was set aside after it."""
    processes = _processes(options)
    command = processes.find(options.command)
    back: list[str] = []
    problems: list[str] = []
    if command.record.deleted:
        workspace = Workspace(workspace_of(shared.settings_of(options)))
        undone, problems = Changes(workspace, checkpoints()).restore(command.id)
        back = [change.path for change in undone]
    if command.record.set_aside or not command.record.deleted:
        named, unnamed = processes.put_back(command)
        back, problems = [*back, *named], [*problems, *unnamed]
    for name in named_in_short(back):
        print(f"Put back: {name}")
    for problem in problems:
        print(f"Not put back: {problem}")
    if not back and not problems:
        print(f"All that run {command.id} deleted was put back before.")
    return int(bool(problems) or not back)


def _names(run: Run) -> str:
    return ", ".join(f"{now} (was {name})" for name, now in run.record.set_aside.items())


def _told(change: Change) -> str:
    at = datetime.datetime.fromtimestamp(change.at).strftime("%Y-%m-%d %H:%M:%S")
    return f"{at}  {change.turn or '-'}  {change.tool}  {change.path}"
