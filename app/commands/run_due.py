"""`wisp run-due`: run the schedules that are due, one after the other, with nobody there.

Each is an ordinary unattended turn in mode `ask`, with the rules that were agreed to when it was made. Its task is not
what the person says at that moment, so it permits nothing, and what had been read when it was made counts as read. What
would have asked stands in the inbox.
"""

from __future__ import annotations

import argparse
import asyncio

from app.agent.agent_events import AgentEvent, Outcome, ToolFinished, TurnEnded
from app.agent.policy.rules import BadRules, check_lasting
from app.assembly import agenda as open_agenda
from app.assembly import registry
from app.assistant import assembled
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.startup import stop_on_signals
from app.base.texts import clip_line, plain
from app.commands.options import on_a_display
from app.services import timer
from app.services.notifications import DesktopNotification, DesktopNotifier
from app.services.schedule import Agenda, DueRun, InboxItem
from app.settings import store

_OUTCOMES = {Outcome.FINISHED: "done", Outcome.WAITING: "it waits for you", Outcome.STOPPED: "stopped"}
_BODY_CHARS = 4_000
_SHOWN_CHARS = 200


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(_options: argparse.Namespace) -> int:
    agenda = open_agenda(SystemClock())
    try:
        while due := agenda.claim():
            show(carry_out(agenda, due))
        timer.set_for(agenda.next_due())
    finally:
        agenda.close()
    return 0


def show(item: InboxItem) -> None:
    print(plain(f"{item.title}\n{item.body}")[0].rstrip())


def carry_out(agenda: Agenda, due: DueRun) -> InboxItem:
    """Run a claimed job to its end; what came of it is in the inbox."""
    try:
        with on_a_display(needed=True):
            outcome, told = asyncio.run(_turn(due))
    except (WispError, BadRules) as error:
        outcome, told = "failed", str(error)
    item = agenda.finish(due, outcome, told[:_BODY_CHARS])
    asyncio.run(_notify(item))
    return item


async def _notify(item: InboxItem) -> None:
    """On the desktop, too; the inbox has it in any case."""
    notifier = DesktopNotifier()
    await notifier.show(DesktopNotification(item.title, clip_line(item.body, _SHOWN_CHARS), item=item.id))
    await notifier.close()


async def _turn(due: DueRun) -> tuple[str, str]:
    refused: list[str] = []

    def note(event: AgentEvent) -> None:
        if isinstance(event, ToolFinished) and event.payload.get("denied"):
            refused.append(event.echo)

    check_lasting(due.job.allowed, registry().specs)
    settings = store.load().with_values(trust__mode="ask", files__workspace=due.job.workspace)
    async with assembled(settings, allowed=due.job.allowed) as assistant:
        assistant.subscribe(note)
        stop_on_signals(assistant.stop)
        ended = await assistant.send(due.job.task, read_before=due.job.tainted_by)
    return _told(ended, refused)


def _told(ended: TurnEnded, refused: list[str]) -> tuple[str, str]:
    outcome = _OUTCOMES.get(ended.outcome, "failed")
    if not refused:
        return outcome, ended.text
    asked = "\n".join(f"- {one.replace('wisp do --allow', 'wisp schedule add … --allow')}" for one in refused)
    return "it needs your answer", f"{ended.text}\nNot done, because nobody was there to be asked:\n{asked}".strip()
