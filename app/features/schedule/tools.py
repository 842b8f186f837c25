"""Schedule tasks. What a task may do is decided when it is created, because no person is present when it runs."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from app.base import resources
from app.base.clipping import clip_line, unquoted
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Planned
from app.base.ids import unique
from app.base.phrases import Phrase
from app.base.signs import plain
from app.base.translation import languages
from app.base.withheld import without_secrets
from app.features.schedule import timer
from app.features.schedule.agenda import Agenda, Job
from app.features.schedule.times import (
    clock_time,
    in_words,
    next_times,
    phrase_of,
    phrase_of_time,
    read,
    read_back,
    read_hour,
    zone_name,
)
from app.protocol.call import JsonValue, ToolCall, ToolResult, not_run
from app.protocol.spec import Close, Effect, Param, RareFamily, ToolSpec, ValueType
from app.services.notifications import URGENCIES, DesktopNotification, DesktopNotifier, DeviceNotifier
from app.tools.registry import Family, TurnContext

_TASK_CHARS = 2_000
_ALLOW_CHARS = 1_000
_TITLE_CHARS = 60
_BODY_CHARS = 500
_MOST_SENT = 5
_SHOWN_CHARS = 400
_MOST_LISTED = 5
_CANCELLING, _AWAY = "cancel_schedule", "send_notification"
Check = Callable[[Sequence[str]], None]
"""Raises ToolMisuse if one of the names allows nothing."""


class ScheduleTools:
    """The handlers of cron and push_notification. `workspace` is the folder in which the tasks will work."""

    def __init__(
        self,
        agenda: Agenda,
        workspace: Path,
        check: Check,
        notifier: DesktopNotifier | None = None,
        devices: DeviceNotifier | None = None,
    ) -> None:
        self._agenda = agenda
        self._devices = devices
        self._notifier = notifier or DesktopNotifier()
        self._sent: Counter[str] = Counter()
        self._workspace = workspace
        self._check = check

    async def cron(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        match call.text("action", "add"):
            case "list":
                return await self._list()
            case "remove" | "remove_reminders":
                return await self._remove(call, turn)
        return await self._add(call, turn)

    async def notify(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        title = clip_line(without_secrets(plain(call.text("title"))[0]), _TITLE_CHARS)
        body = without_secrets(plain(call.text("text"))[0].strip())[:_BODY_CHARS]
        if not title:
            raise ToolMisuse("title is empty: say in a few words what it is about.")
        self._sent[turn.turn_id] += 1
        if self._sent[turn.turn_id] > _MOST_SENT:
            raise ToolFailed(f"One turn sends {_MOST_SENT} notifications at most. Say the rest in the answer.")
        item = await asyncio.to_thread(self._agenda.post, "message", title, body)
        shown = DesktopNotification(title, body, call.text("urgency", "normal"), item.id)
        problem = await self._notifier.show(shown)
        await self._notifier.close()
        await turn.audit("notification_sent", {"item": item.id, "shown": not problem})
        payload: dict[str, JsonValue] = {"title": title, "text": body, "shown": not problem}
        told = f"It is in the inbox as {item.id}" + ("." if problem else ", and on the desktop.")
        away = await self._sent_away(shown, turn)
        return ToolResult(True, "push_notification", payload, " ".join(filter(None, (told, problem, away))))

    async def _sent_away(self, shown: DesktopNotification, turn: TurnContext) -> str:
        """Send a notification to the person's devices if they have set a topic and the policy allows it.

        Returns a sentence on what came of it; "" without a topic.
        """
        if self._devices is None or not self._devices.topic:
            return ""
        given: dict[str, JsonValue] = {"server": self._devices.topic, "title": shown.title, "text": shown.body}
        if refusal := await turn.admit(ToolCall(unique("away_"), _AWAY, given)):
            return f"It was not sent to ntfy: {refusal}"
        problem = await self._devices.send(shown)
        await turn.audit("notification_sent_away", {"server": self._devices.topic, "sent": not problem})
        return problem or "ntfy has it, too."

    async def _add(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        task = call.text("task").strip()
        if not task or len(task) > _TASK_CHARS or not call.text("schedule"):
            raise ToolMisuse(f"Give schedule, and as task what is to be done then (at most {_TASK_CHARS} characters).")
        when = read(call.text("schedule"), time.time(), zone_name())
        if any(plain(call.text(name))[1] for name in ("task", "title", "allow")):
            raise ToolMisuse("The schedule holds hidden characters, which nobody can agree to. Leave them out.")
        if len(call.text("allow")) > _ALLOW_CHARS:
            raise ToolMisuse(f"allow has at most {_ALLOW_CHARS} characters, so that the person can read all of it.")
        allowed = tuple(filter(None, (rule.strip() for rule in call.text("allow").split(";"))))
        self._check(allowed)
        title = clip_line(call.text("title") or reminded_of(task) or task, _TITLE_CHARS)
        made_by = "person" if turn.said is None else "model"
        until = read_hour(call.text("until")) if call.text("until") else ""
        job = Job(title, task, when, str(self._workspace), allowed, made_by, tainted_by=turn.tainted_by, until=until)
        job = await asyncio.to_thread(self._agenda.add, job)
        problem = await asyncio.to_thread(self._wind)
        await turn.audit("schedule_added", {"id": job.id, "schedule": when.text, "allowed": list(allowed)})
        back = read_back(when, job.made_at)
        payload: dict[str, JsonValue] = {"id": job.id, "title": job.title, "when": in_words(when), "task": job.task}
        echo = f"Schedule {job.id} is kept: {back}. {problem.strip()}".strip()
        return ToolResult(True, "cron", payload, echo, facts=(planned(job),))

    async def _list(self) -> ToolResult:
        jobs = await asyncio.to_thread(self._agenda.all)
        lines = [line_of(job) for job in jobs]
        listed: list[JsonValue] = list(lines)
        payload: dict[str, JsonValue] = {"count": len(jobs), "lines": listed}
        facts = tuple(map(planned, jobs))
        return ToolResult(True, "cron", payload, "\n".join(lines) or "Nothing is scheduled.", facts=facts)

    async def _remove(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        action = call.text("action")
        if action == "remove" and not (call.has("id") or call.text("task").strip()):
            raise ToolMisuse("Give the id of the schedule, or words of it as the task: action=list has both.")
        jobs = await asyncio.to_thread(self._meant, call)
        title = "; ".join(job.title for job in jobs)
        named: dict[str, JsonValue] = {"action": action, "id": jobs[0].id, "title": title}
        if refusal := await turn.admit(ToolCall(unique("cancel_"), _CANCELLING, named)):
            return not_run(call.name, refusal)
        for job in jobs:
            await asyncio.to_thread(self._agenda.remove, job.id)
            await turn.audit("schedule_removed", {"id": job.id})
        await asyncio.to_thread(self._wind)
        told = "; ".join(f"{job.id}. {job.title}" for job in jobs)
        gone = f"Schedule {told} is removed." if len(jobs) == 1 else f"{len(jobs)} schedules are removed: {told}."
        return ToolResult(True, "cron", {"id": jobs[0].id, "title": title}, gone)

    def _meant(self, call: ToolCall) -> list[Job]:
        """What to remove. Raises ToolFailed, which lists all, if nothing is meant, or several are."""
        if call.has("id") and call.text("action") == "remove":
            return [find_job(self._agenda, call.integer("id"))]
        words = call.text("task").casefold().split() if call.text("action") == "remove" else []
        planned = self._agenda.all()
        if not (planned or words):
            raise ToolFailed(Phrase("Nothing is planned."))
        jobs = [job for job in planned if all(word in f"{job.title} {job.task}".casefold() for word in words)]
        if not jobs:
            raise _none_of(planned, f"“{' '.join(words)}”")
        if words and len(jobs) > 1:
            raise ToolFailed(
                Phrase("Several planned tasks fit. Say one by its number: {jobs}.", {"jobs": _told_of(jobs)})
            )
        return jobs

    def _wind(self) -> str:
        return timer.set_for(self._agenda.next_due())


def find_job(agenda: Agenda, number: int) -> Job:
    """Return the schedule of this number that will still run. Raises ToolFailed, which lists all, if there is none."""
    jobs = agenda.all()
    if found := next((job for job in jobs if job.id == number), None):
        return found
    raise _none_of(jobs, str(number))


def _none_of(jobs: Sequence[Job], named: str) -> ToolFailed:
    rest = "There is: {jobs}." if jobs else "Nothing is planned."
    return ToolFailed(Phrase(f"There is no planned task {{number}}. {rest}", {"number": named, "jobs": _told_of(jobs)}))


def _told_of(jobs: Sequence[Job]) -> str:
    return "; ".join(clip_line(f"{job.id}. {job.title}", _TITLE_CHARS) for job in jobs[:_MOST_LISTED])


def planned(job: Job) -> Planned:
    when, waits = job.when, job.waits_for
    return Planned(job.id, job.title, phrase_of(when), when.zone, job.next_at, job.until, waits, tuple(job.allowed))


def line_of(job: Job) -> str:
    """Return a schedule in one line, for models and people."""
    at = clock_time(job.next_at, job.when.zone) if job.next_at is not None else "over"
    allowed = f" [may: {'; '.join(job.allowed)}]" if job.allowed else ""
    waits = f"; waits until {job.until} while {job.waits_for}" if job.waits_for else ""
    until = f"; begins by {job.until}" if job.until and not waits else ""
    return f"{job.id}. {job.title}: {in_words(job.when)} ({job.when.zone}); next: {at}{until}{waits}{allowed}"


def _effects_of_cron(call: ToolCall) -> frozenset[Effect]:
    """A reminder only notifies the person; a removal is asked about later."""
    action = call.text("action", "add")
    if action == "list" or (action != "add" and not call.has("title")):
        return frozenset({Effect.READS})
    is_reminder = action == "add" and reminded_of(call.text("task")) and not call.text("allow")
    return frozenset({Effect.TALKS, Effect.WRITES} if is_reminder else {Effect.SETTINGS})


def reminded_of(task: str) -> str:
    """Return the text for the person if a task is only a reminder; "" for any other task."""
    words = [resources.in_language("asking.toml", language)["words"] for language in languages()]
    known = [begin for one in words for begin in one["reminders"]]
    begins = next((one for one in known if task.strip().casefold().startswith(one)), "")
    return task.strip()[len(begins) :].strip() if begins else ""


def _told(call: ToolCall) -> Phrase:
    """The task, its next times, and what it may do."""
    if call.text("action", "add") != "add":
        named = {"id": str(call.arguments.get("id", "")), "title": unquoted(call.text("title"), _TITLE_CHARS)}
        if call.text("action") == "remove_reminders":
            return Phrase("remove all reminders: {title}", named)
        return Phrase("remove the schedule {id}, “{title}”" if call.has("title") else "remove the schedule {id}", named)
    names = [f"“{unquoted(name, _SHOWN_CHARS)}”" for name in call.text("allow").split(";") if name.strip()]
    reminded = reminded_of(call.text("task"))
    task = unquoted(reminded or call.text("task"), _TASK_CHARS)
    waits = {"hour": unquoted(call.text("until"), _TITLE_CHARS)}
    parts: dict[str, str | tuple[str | Phrase, ...] | Phrase] = {
        "when": _when_in_words(call.text("schedule")),
        "wait": Phrase(", waiting until {hour} while the screen is locked or in use", waits) if waits["hour"] else "",
        "may": Phrase("; without asking it may use {names}", {"names": _all_of(names)}) if names else "",
        "task": clip_line(task, _SHOWN_CHARS),
        # The whole call stands below the question, which would push its answers off the screen.
        "more": Phrase(" (the whole text is below)") if len(task) > _SHOWN_CHARS else "",
    }
    if reminded:
        return Phrase("remind you {when}{wait}{may}: “{task}”{more}", parts)
    return Phrase("do this {when}{wait}{may}: “{task}”{more}", parts)


def _when_in_words(schedule: str) -> Phrase | str:
    now = time.time()
    try:
        when = read(schedule, now, zone_name())
    except ToolMisuse:  # because the handler refuses such a schedule only afterwards
        return schedule
    if when.kind == "once":
        return Phrase("on {weekday}, {day} at {time}", phrase_of(when).values)
    times = tuple(phrase_of_time(at, when.zone) for at in next_times(when, now, now))
    return Phrase("{when} ({zone}); next: {times}", {"when": phrase_of(when), "zone": when.zone, "times": times})


def _all_of(phrases: Sequence[Phrase | str]) -> Phrase | str:
    first, *others = phrases
    return Phrase("{one} and {others}", {"one": first, "others": _all_of(others)}) if others else first


def _effects_of_notice(call: ToolCall) -> frozenset[Effect]:
    """Only the step that sends a notification away names a server."""
    return frozenset({Effect.NETWORK if call.has("server") else Effect.TALKS})


def _notice_told(call: ToolCall) -> Phrase:
    text = ": ".join(unquoted(call.text(name), _BODY_CHARS) for name in ("title", "text") if call.text(name))
    if not call.has("server"):
        return Phrase("send the notification “{text}”", {"text": text})
    server = unquoted(call.text("server"), _SHOWN_CHARS)
    return Phrase("send the notification “{text}” to {server}", {"text": text, "server": server})


_RARE = RareFamily("schedules", "do something later or regularly, notify the person")

SCHEDULES = Family(
    ScheduleTools,
    (
        ToolSpec(
            name="cron",
            asked_as="cron",
            description=(
                "Do a task later, once or again and again, with nobody there: the person is asked now, with the next "
                "three times. The task is a whole wish that needs nothing of this conversation. What would ask then is "
                "not done and waits in the inbox, but for what `allow` names."
            ),
            effect=Effect.SETTINGS,
            is_lasting=True,
            execute=ScheduleTools.cron,
            attrs=(
                Param(
                    "action",
                    description="add if left out",
                    choices=("add", "list", "remove", "remove_reminders"),
                    otherwise="add",
                ),
                Param(
                    "schedule",
                    description="2026-11-24T09:00, in 2 hours, tomorrow 9:00, every 2 hours, daily 9:00, or cron",
                    aliases=("when", "cron"),
                ),
                Param("title", description="a few words for the person", aliases=("name",)),
                Param("allow", description="what it may use without asking, by name: Text Editor; example.com; Send"),
                Param("until", description="18:00; for a task that uses the screen, which waits for it until then"),
                Param("id", ValueType.INTEGER, "which one to remove; or words of it as the task"),
            ),
            body=Param("task", description="what to do then", close=Close.LAST, aliases=("prompt", "text")),
            examples=('<cron schedule="weekdays 8:30">Search the web for the weather in Oslo</cron>',),
            rare=_RARE,
            effects_by_call=_effects_of_cron,
            read_back=_told,
            steps=(_CANCELLING,),
            leaves_traces=lambda call: call.text("action", "add") != "list",
        ),
        ToolSpec(
            name="push_notification",
            description="Notify the person on the desktop and in their inbox. Not for what the answer says.",
            effect=Effect.TALKS,
            execute=ScheduleTools.notify,
            attrs=(
                Param("title", description="a few words", required=True),
                Param("urgency", choices=URGENCIES, otherwise="normal"),
            ),
            body=Param("text", description="one or two sentences", close=Close.LAST, aliases=("message", "body")),
            examples=('<push_notification title="The report is ready">It is in report.md.</push_notification>',),
            rare=_RARE,
            effects_by_call=_effects_of_notice,
            read_back=_notice_told,
            steps=(_AWAY,),
            leaves_traces=lambda _: True,
        ),
    ),
)
