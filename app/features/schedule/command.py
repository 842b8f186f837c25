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
    what.add_parser("list", help="list the planned tasks, the next one first (`wisp schedule` alone does it, too)")
    add = what.add_parser("add", help="plan a task; Wisp asks you before it keeps it")
    add.add_argument(
        "schedule", help="when: 2026-11-24T09:00, “every 2 hours”, “daily 9:00”, “mon,thu 7:30”, or as cron writes it"
    )
    add.add_argument("task", help="what to do then, in plain words and in quotes")
    add.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME",
        help="let it use a program, website, folder or button without asking",
    )
    add.add_argument(
        "--until",
        default="",
        metavar="HH:MM",
        help="if the screen is locked or you are using it, wait, at most until this time",
    )
    shared.add_yes_option(add)
    shared.add_workspace_option(add)
    now = "do a planned task now; the exit codes are those of `wisp do`"
    for name, purpose in (("remove", "remove a planned task"), ("run", now)):
        what.add_parser(name, help=purpose).add_argument(
            "id", type=shared.count, help="its number, as `wisp schedule` lists it"
        )
    inbox = what.add_parser("inbox", help="read what came of planned tasks, and what waits for you")
    inbox.add_argument("--all", action="store_true", help="also what you have read before")


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
        shared.say("Removed: {title}", title=plain(agenda.remove(find_job(agenda, options.id).id).title)[0])
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
            shared.say("Nothing is planned.")
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
    if not shared.is_agreed("Plan it?", options):
        return 1
    title = clip_line(options.task, _TITLE_CHARS)
    job = agenda.add(Job(title, options.task, when, str(workspace), tuple(options.allow), until=until))
    problem = timer.set_for(agenda.next_due())
    shared.say("Planned. To remove it: wisp schedule remove {id}", id=job.id)
    if problem:
        shared.say(problem)
    return 0


def _inbox(agenda: Agenda, *, everything: bool) -> None:
    items = agenda.inbox(only_unread=not everything)
    if not items:
        shared.say("The inbox is empty." if everything else "There is nothing new in the inbox.")
    for item in reversed(items):
        print(f"{clock_time(item.at, zone_name())}  {clip_line(plain(item.title)[0], _LINE_CHARS)}")
        if item.body:
            print("  " + plain(item.body)[0].replace("\n", "\n  "))
    agenda.mark_read(items)
