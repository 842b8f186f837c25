"""`wisp undo`: undo the newest change, the changes of one turn, or what a command deleted or left.

The newest change is one file that was written, all files that one command deleted, or a change of the theme, of the
name or of the picture behind all windows.
"""

from __future__ import annotations

import argparse
import datetime

from app.assembly import checkpoints, commands_of
from app.base.clock import SystemClock
from app.base.texts import named_in_short
from app.commands import options as shared
from app.features.looks.wallpaper import DesktopWallpaper, WallpaperChange
from app.services.files.changes import Changes
from app.services.files.checkpoints import Change
from app.services.files.places import Workspace
from app.services.files.workspace import workspace_of
from app.services.processes.commands import Processes, Run
from app.services.themes import Appearance, LookChange, titled
from app.settings.catalog import NAME
from app.tools.edit import newest_of

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
    kept, looks, wallpaper = checkpoints(), Appearance(), DesktopWallpaper()
    if options.list:
        changed: list[Change | LookChange | WallpaperChange] = [*kept.changes(), *looks.listed(), *wallpaper.listed()]
        listed = [_told(change) for change in sorted(changed, key=lambda one: one.at)[-_LISTED:]]
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
    if not options.turn and (newest := newest_of((looks, wallpaper), changes.newest_at(None), None)):
        print(*(one.undo_newest(None) for one in newest), sep="\n")
        return 0
    undone, problems = changes.restore(options.turn) if options.turn else changes.undo_newest()
    others = [*looks.take_back(options.turn), *wallpaper.take_back(options.turn)] if options.turn else []
    for name in named_in_short([change.path for change in undone]):
        print(f"Took back: {name}")
    for problem in problems:
        print(f"Not taken back: {problem}")
    for sentence in others:
        print(sentence)
    is_done = bool(undone or others)
    if not is_done and not problems:
        print("That turn changed nothing that can be taken back.")
    return int(bool(problems) or not is_done)


def _processes(options: argparse.Namespace) -> Processes:
    processes, _ = commands_of(shared.settings_of(options), SystemClock())
    return processes


def _put_back(options: argparse.Namespace) -> int:
    """Restore the files that a command deleted, and then those that it had set aside under another name. Print each."""
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


def _told(change: Change | LookChange | WallpaperChange) -> str:
    at = datetime.datetime.fromtimestamp(change.at).strftime("%Y-%m-%d %H:%M:%S")
    match change:
        case Change():
            what = f"{change.tool}  {change.path}"
        case LookChange() if change.changes(NAME):
            what = f"name  {change.after[NAME.key]}"
        case LookChange():
            what = f"theme  {titled(change.after)}"
        case WallpaperChange():
            what = "picture behind all windows"
    return f"{at}  {change.turn or '-'}  {what}"
