"""`wisp run-due`: run the due scheduled tasks one after the other, without a person.

Each is an ordinary unattended turn in mode `ask`, with the rules that were agreed to when it was made. Its task is not
what the person says at that moment, so it permits nothing, and what had been read when it was made counts as read. What
would have asked stands in the inbox. A task that uses the screen waits while the screen is locked, missing or in use.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from app.agent.agent_events import AgentEvent, Outcome, ToolFinished, TurnEnded
from app.agent.policy.unattended import check_names, command_to_add
from app.base.clipping import clip_line
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.facts import Failed, NotAllowed, first
from app.base.signs import plain
from app.base.startup import STOPPED, stop_on_signals
from app.base.translation import words_in
from app.base.withheld import without_secrets
from app.desktop.choose import why_occupied
from app.features.feature import Assemble
from app.features.schedule import timer
from app.features.schedule.agenda import Agenda, DueRun, InboxItem, Job, standard_agenda
from app.features.schedule.times import spoken
from app.features.schedule.tools import reminded_of
from app.options import is_at_hand, on_a_display
from app.providers.offline.wording import language_of
from app.services.notifications import DesktopNotification, DesktopNotifier, DeviceNotifier
from app.settings import store

_OUTCOMES = {
    Outcome.FINISHED: "done",
    Outcome.ANSWERED: "answered only",
    Outcome.WAITING: "it waits for you",
    Outcome.STOPPED: "stopped",
}
_CODES = {"done": 0, "answered only": 4, "failed": 1, "stopped": STOPPED}
_WAITING = 3
_NOT_DONE = "Not done, because nobody was there to answer:"
_NEXT_TIME = "To have it done without a question, plan it again and say what it may do:"
_BODY_CHARS, _REMINDER_CHARS = 4_000, 80
_SHOWN_CHARS, _TITLE_CHARS = 200, 120


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """Do nothing: this command has no arguments."""


def run(options: argparse.Namespace) -> int:
    agenda = standard_agenda(SystemClock())
    try:
        while True:
            for item in agenda.give_up_waiting():
                _announce(item)
            due = agenda.claim(_why_occupied() if agenda.is_screen_wanted() else "")
            if due is None:
                break
            show(carry_out(agenda, due, options.assemble)[0])
        timer.set_for(agenda.next_due())
    finally:
        agenda.close()
    return 0


def _why_occupied() -> str:
    return asyncio.run(why_occupied(os.environ)) if is_at_hand() else "there was no display"


def _announce(item: InboxItem) -> None:
    show(item)
    asyncio.run(_notify(item))


def show(item: InboxItem) -> None:
    print(plain(f"{item.title}\n{item.body}")[0].rstrip())


def carry_out(agenda: Agenda, due: DueRun, assemble: Assemble) -> tuple[InboxItem, int]:
    """Run a claimed job to its end. Return the inbox message about it, and the code with which `wisp do` would exit.

    A reminder begins no turn: the person agreed to be told its words, whatever these ask for.
    """
    reminder, told = reminded_of(due.job.task), ""
    if reminder and not due.job.allowed:
        title, outcome = clip_line(reminder, _REMINDER_CHARS), "done"
        told = reminder if title != reminder else ""
    else:
        title = ""
        try:
            with on_a_display(needed=True):
                outcome, told = asyncio.run(_turn(due, assemble))
        except WispError as error:
            outcome, told = "failed", error.for_people(words_in(language_of(due.job.task)))
    item = agenda.finish(due, outcome, told[:_BODY_CHARS], title)
    asyncio.run(_notify(item))
    return item, _CODES.get(outcome, _WAITING)


async def _notify(item: InboxItem) -> None:
    """Show the message on the desktop and on the person's devices. The inbox holds it in any case.

    What a run says stays here, because nobody is there to be asked whether it may leave this machine.
    """
    notifier, devices = DesktopNotifier(), DeviceNotifier(store.load, store.key_of)
    await notifier.show(DesktopNotification(item.title, clip_line(item.body, _SHOWN_CHARS), item=item.id))
    await notifier.close()
    if devices.topic:
        title, body = (without_secrets(plain(text)[0]) for text in (item.title, item.body))
        body = clip_line(body, _SHOWN_CHARS) if item.kind == "reminder" else ""
        if problem := await devices.send(DesktopNotification(clip_line(title, _TITLE_CHARS), body)):
            print(problem, file=sys.stderr)


async def _turn(due: DueRun, assemble: Assemble) -> tuple[str, str]:
    """The outcome, and what came of the run."""
    refused: list[ToolFinished] = []

    def note(event: AgentEvent) -> None:
        if isinstance(event, ToolFinished) and first(NotAllowed, event.facts):
            refused.append(event)

    check_names(due.job.allowed)
    settings = store.load().with_values(trust__mode="ask", files__workspace=due.job.workspace)
    async with assemble(settings, allowed=due.job.allowed) as assistant:
        assistant.subscribe(note)
        stop_on_signals(assistant.stop)
        ended = await assistant.send(due.job.task, read_before=due.job.tainted_by)
    return _told(ended, refused, due.job)


def _told(ended: TurnEnded, refused: Sequence[ToolFinished], job: Job) -> tuple[str, str]:
    """The outcome, and a text: the result, what was not done, and how to allow that."""
    outcome = _OUTCOMES.get(ended.outcome, "failed")
    if not refused:
        return outcome, ended.text
    words = words_in(language_of(job.task))
    barriers = (barrier for event in refused if (barrier := first(NotAllowed, event.facts)))
    names = list(dict.fromkeys(name for barrier in barriers for name in barrier.rule.splitlines()))
    text = ended.text.strip()
    whys = (why.what.said(words).strip() for event in refused if (why := first(Failed, event.facts)))
    listed = [f"- {why}" for why in dict.fromkeys(whys) if why not in text]
    lines = [text, *([words(_NOT_DONE), *listed] if listed else [])]
    if names:
        allowed = [*job.allowed, *names]
        kept = 0 if job.when.kind == "once" else job.id  # because one that ran once is no longer there
        way_on = command_to_add(spoken(job.when), job.task, allowed, job.until, job.workspace, instead_of=kept)
        lines.append(f"{words(_NEXT_TIME)} {way_on}")
    return "it needs your answer", "\n".join(filter(None, lines))
