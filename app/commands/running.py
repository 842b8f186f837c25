"""`wisp running`: list the commands that Wisp started and that still run, and end one."""

from __future__ import annotations

import argparse
import asyncio

from app import options as shared
from app.assembly import commands_of
from app.base.clipping import clip_line
from app.base.clock import SystemClock
from app.base.errors import NeedsPerson, ToolMisuse
from app.base.phrases import Phrase

_LINE_CHARS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="list them (`wisp running` alone does it, too)")
    stop = what.add_parser("stop", help="end one, with everything that it has started")
    stop.add_argument("id", help="its id, as `wisp running` lists it")


def run(options: argparse.Namespace) -> int:
    clock = SystemClock()
    processes, _ = commands_of(shared.settings_of(options), clock)
    if options.what == "stop":
        try:
            run = processes.find(options.id)
        except ToolMisuse:
            told = Phrase("No command has the id {id!r}. To list them: wisp running", {"id": options.id})
            raise NeedsPerson(told) from None
        asyncio.run(processes.stop(run))
        shared.say("The command {id} and all that it started has ended.", id=options.id)
        return 0
    found = processes.left_over()
    for one in found:
        age_s = clock.wall() - one.record.started_at
        goes_on = "goes on when Wisp ends" if one.record.keep else "ends with its Wisp"
        command = clip_line(one.record.command, _LINE_CHARS)
        print(f"{one.id}  {command}\n{'':<4}in {one.record.cwd}, for {age_s / 60:.0f} minutes; {goes_on}")
    if not found:
        shared.say("No command that Wisp started is running.")
    return 0
