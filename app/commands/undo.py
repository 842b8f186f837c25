"""`wisp undo`: undo the newest change, the changes of one turn, or what a command deleted or left.

The newest change is one file that was written, all files that one command deleted, or a change of the theme, of the
name or of the picture behind all windows.
"""

from __future__ import annotations

import argparse
import datetime

from app import options as shared
from app.assembly import commands_of, undoables
from app.base.clipping import named_in_short
from app.base.clock import SystemClock
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.phrases import Phrase
from app.services.files.changes import Changes
from app.services.files.checkpoints import Change, standard_checkpoints
from app.services.files.places import Workspace
from app.services.files.workspace import workspace_of
from app.services.processes.commands import Processes, Run
from app.tools.edit import UndoableChange, newest_of

_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--turn", metavar="ID", help="take back all changes of this task; `wisp undo --list` shows its ID"
    )
    what.add_argument(
        "--command",
        metavar="RUN_ID",
        help="put back what this command deleted; `wisp undo --list` shows its ID",
    )
    what.add_argument("--list", action="store_true", help="list the newest changes that can be taken back")


def run(options: argparse.Namespace) -> int:
    kept, others = standard_checkpoints(), undoables(has_screen=True)
    if options.list:
        changes: list[Change | UndoableChange] = [*kept.changes()]
        changes += [change for one in others for change in one.listed()]
        listed = [_told(change) for change in sorted(changes, key=lambda one: one.at)[-_LISTED:]]
        listed += [
            f"set aside after {command.id} in {command.record.before.workspace}: {_names(command)}"
            for command in _processes(options).recent(_LISTED)
            if command.record.set_aside
        ]
        print(*listed, sep="\n", end="\n" if listed else "")
        if not listed:
            shared.say("There is nothing to take back.")
        return 0
    if options.command:
        return _put_back(options)
    files = Changes(Workspace(workspace_of(shared.settings_of(options))), kept)
    if not options.turn and (newest := newest_of(others, files.newest_at(None), None)):
        print(*(one.undo_newest(None) for one in newest), sep="\n")
        return 0
    undone, problems = files.restore(options.turn) if options.turn else files.undo_newest()
    told = [sentence for one in others for sentence in one.take_back(options.turn)] if options.turn else []
    for name in named_in_short([change.path for change in undone]):
        shared.say("Took back: {name}", name=name)
    for problem in problems:
        shared.say("Not taken back: {why}", why=problem)
    for sentence in told:
        print(sentence)
    is_done = bool(undone or told)
    if not is_done and not problems:
        shared.say("That task changed nothing that can be taken back. To see what can be: wisp undo --list")
    return int(bool(problems) or not is_done)


def _processes(options: argparse.Namespace) -> Processes:
    processes, _ = commands_of(shared.settings_of(options), SystemClock())
    return processes


def _put_back(options: argparse.Namespace) -> int:
    """Restore the files that a command deleted, and then those that it had set aside under another name. Print each."""
    processes = _processes(options)
    try:
        command = processes.find(options.command)
    except ToolMisuse:
        told = Phrase("No command has the id {id!r}. To list them: wisp undo --list", {"id": options.command})
        raise NeedsPerson(told) from None
    back: list[str] = []
    problems: list[str] = []
    if command.record.deleted:
        workspace = Workspace(workspace_of(shared.settings_of(options)))
        undone, problems = Changes(workspace, standard_checkpoints()).restore(command.id)
        back = [change.path for change in undone]
    if command.record.set_aside or not command.record.deleted:
        named, unnamed = processes.put_back(command)
        back, problems = [*back, *named], [*problems, *unnamed]
    for name in named_in_short(back):
        shared.say("Put back: {name}", name=name)
    for problem in problems:
        shared.say("Not put back: {why}", why=problem)
    if not back and not problems:
        shared.say("All that the command {id} deleted was put back before.", id=command.id)
    return int(bool(problems) or not back)


def _names(run: Run) -> str:
    return ", ".join(f"{now} (was {name})" for name, now in run.record.set_aside.items())


def _told(change: Change | UndoableChange) -> str:
    at = datetime.datetime.fromtimestamp(change.at).strftime("%Y-%m-%d %H:%M:%S")
    what = f"{change.tool}  {change.path}" if isinstance(change, Change) else change.what
    return f"{at}  {change.turn or '-'}  {what}"
