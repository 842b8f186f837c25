"""`wisp schedule`: list, add, remove and run scheduled tasks, and show the inbox with their results."""

from __future__ import annotations

import argparse
import time

from app import options as shared
from app.agent.policy.unattended import check_names
from app.base.clipping import clip_line
from app.base.clock import SystemClock
from app.base.signs import plain
from app.features.schedule import timer
from app.features.schedule.agenda import Agenda, Job, standard_agenda
from app.features.schedule.run_due import carry_out, show
from app.features.schedule.times import clock_time, read, read_back, read_hour, zone_name
from app.features.schedule.tools import find_job, line_of
from app.services.files.workspace import workspace_of
from app.settings import store

_TITLE_CHARS = 60
_LINE_CHARS = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="the schedules, the next one first (what `wisp schedule` alone does)")
    add = what.add_parser("add", help="do a task later; it is kept after a yes")
    add.add_argument("schedule", help="2026-11-24T09:00, “every 2 hours”, “daily 9:00”, “mon,thu 7:30”, or cron")
    add.add_argument("task", help="what to do then, as `wisp do` takes it")
    add.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="a program, host, folder or button it may use without asking",
    )
    add.add_argument(
        "--until",
        default="",
        metavar="HH:MM",
        help="it uses the screen: wait while the screen is locked, missing or in use, at the latest until this hour",
    )
    shared.add_yes_option(add)
    shared.add_workspace_option(add)
    now = "run one now, in its own way; exits as `wisp do` does"
    for name, purpose in (("remove", "remove a schedule"), ("run", now)):
        what.add_parser(name, help=purpose).add_argument("id", type=shared.count, help="as the list numbers it")
    inbox = what.add_parser("inbox", help="what came of runs and what waits for you")
    inbox.add_argument("--all", action="store_true", help="also what you have read")


def run(options: argparse.Namespace) -> int:
    agenda = standard_agenda(SystemClock())
    try:
        return _done(agenda, options)
    finally:
        agenda.close()


def _done(agenda: Agenda, options: argparse.Namespace) -> int:
    if options.what == "add":
        return _add(agenda, options)
    if options.what == "remove":
        print(f"Removed: {plain(agenda.remove(find_job(agenda, options.id).id).title)[0]}")
        timer.set_for(agenda.next_due())
    elif options.what == "run":
        item, code = carry_out(agenda, agenda.run_now(options.id), options.assemble)
        show(item)
        return code
    elif options.what == "inbox":
        _inbox(agenda, everything=options.all)
    else:
        jobs = agenda.all()
        if not jobs:
            print("Nothing is scheduled.")
        for job in jobs:
            print(plain(line_of(job))[0])
    return 0


def _add(agenda: Agenda, options: argparse.Namespace) -> int:
    check_names(options.allow)
    now = time.time()
    when = read(options.schedule, now, zone_name())
    until = read_hour(options.until) if options.until else ""
    waiting = f"; it waits for the screen until {until}" if until else ""
    print(f"“{plain(options.task)[0]}” {read_back(when, now)}{waiting}")
    workspace = options.workspace or workspace_of(store.load())
    if not shared.is_agreed("Keep it?", options):
        print("Nothing was kept. With --yes it is kept without this question.")
        return 1
    title = clip_line(options.task, _TITLE_CHARS)
    job = agenda.add(Job(title, options.task, when, str(workspace), tuple(options.allow), until=until))
    problem = timer.set_for(agenda.next_due())
    print(f"Kept as {job.id}. {problem}".strip())
    return 0


def _inbox(agenda: Agenda, *, everything: bool) -> None:
    items = agenda.inbox(only_unread=not everything)
    if not items:
        print("The inbox is empty." if everything else "Nothing new is in the inbox.")
    for item in reversed(items):
        print(f"{clock_time(item.at, zone_name())}  {clip_line(plain(item.title)[0], _LINE_CHARS)}")
        if item.body:
            print("  " + plain(item.body)[0].replace("\n", "\n  "))
    agenda.mark_read(items)
