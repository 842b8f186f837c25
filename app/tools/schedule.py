"""Schedule tasks. What a task may do is decided when it is created, because nobody is there when it runs."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence

from app.base.errors import ToolFailed, ToolMisuse
from app.base.texts import clip_line, unquoted, without_secrets
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import Close, Effect, Param, RareFamily, ToolSpec, ValueType
from app.services import timer
from app.services.notifications import URGENCIES, DesktopNotification, DesktopNotifier
from app.services.schedule import Agenda, Job, clock_time, in_words, read, read_back, zone_name
from app.tools.registry import Family, TurnContext

_TASK_CHARS = 2_000
_ALLOW_CHARS = 1_000
_TITLE_CHARS = 60
_BODY_CHARS = 500
_MOST_SENT = 5
_SHOWN_CHARS = 400
Check = Callable[[Sequence[str]], None]
"""Raises ToolMisuse if one of the rules in short form is invalid."""


class ScheduleTools:
    """The handlers of cron and push_notification. `workspace` is the folder in which the tasks will work."""

    def __init__(self, agenda: Agenda, workspace: str, check: Check, notifier: DesktopNotifier | None = None) -> None:
        self._agenda = agenda
        self._notifier = notifier or DesktopNotifier()
        self._sent: Counter[str] = Counter()
        self._workspace = workspace
        self._check = check

    async def cron(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        match call.text("action", "add"):
            case "list":
                return await self._list()
            case "remove":
                return await self._remove(call, turn)
        return await self._add(call, turn)

    async def notify(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        title = clip_line(without_secrets(call.text("title")), _TITLE_CHARS)
        body = without_secrets(call.text("text").strip())[:_BODY_CHARS]
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
        return ToolResult(True, "push_notification", payload, f"{told} {problem}".strip())

    async def _add(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        task = call.text("task").strip()
        if not task or len(task) > _TASK_CHARS or not call.text("schedule"):
            raise ToolMisuse(f"Give schedule, and as task what is to be done then (at most {_TASK_CHARS} characters).")
        when = read(call.text("schedule"), time.time(), zone_name())
        if len(call.text("allow")) > _ALLOW_CHARS:
            raise ToolMisuse(f"allow has at most {_ALLOW_CHARS} characters, so that the person can read all of it.")
        allowed = tuple(filter(None, (rule.strip() for rule in call.text("allow").split(";"))))
        self._check(allowed)
        title = clip_line(call.text("title") or task, _TITLE_CHARS)
        made_by = "person" if turn.said is None else "model"
        job = Job(title, task, when, self._workspace, allowed, made_by, tainted_by=turn.tainted_by)
        job = await asyncio.to_thread(self._agenda.add, job)
        problem = await asyncio.to_thread(self._wind)
        await turn.audit("schedule_added", {"id": job.id, "schedule": when.text, "allowed": list(allowed)})
        back = read_back(when, job.made_at)
        payload: dict[str, JsonValue] = {"id": job.id, "title": job.title, "when": in_words(when), "task": job.task}
        return ToolResult(True, "cron", payload, f"Schedule {job.id} is kept: {back}. {problem}".strip())

    async def _list(self) -> ToolResult:
        jobs = await asyncio.to_thread(self._agenda.all)
        lines = [line_of(job) for job in jobs]
        listed: list[JsonValue] = list(lines)
        payload: dict[str, JsonValue] = {"count": len(jobs), "lines": listed}
        return ToolResult(True, "cron", payload, "\n".join(lines) or "Nothing is scheduled.")

    async def _remove(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        if not call.has("id"):
            raise ToolMisuse("Give the id of the schedule: action=list has it.")
        job = await asyncio.to_thread(self._agenda.remove, call.integer("id"))
        await asyncio.to_thread(self._wind)
        await turn.audit("schedule_removed", {"id": job.id})
        return ToolResult(
            True, "cron", {"id": job.id, "title": job.title}, f"Schedule {job.id} is removed: {job.title}"
        )

    def _wind(self) -> str:
        return timer.set_for(self._agenda.next_due())


def line_of(job: Job) -> str:
    """Return a schedule as models and people read it."""
    at = clock_time(job.next_at, job.when.zone) if job.next_at is not None else "over"
    allowed = f" [may: {'; '.join(job.allowed)}]" if job.allowed else ""
    return f"{job.id}. {job.title}: {in_words(job.when)} ({job.when.zone}); next: {at}{allowed}"


def _effects_of_cron(call: ToolCall) -> frozenset[Effect]:
    return frozenset({Effect.READS if call.text("action", "add") == "list" else Effect.SETTINGS})


def _told(call: ToolCall) -> str:
    """Return the question for the person: the task, its schedule with the next times, and what it may do."""
    if call.text("action", "add") != "add":
        return f"remove the schedule {call.arguments.get('id', '')}"
    try:
        back = read_back(read(call.text("schedule"), time.time(), zone_name()), time.time())
    except ToolMisuse:  # because the handler refuses such a schedule only afterwards
        back = call.text("schedule")
    allowed = [_allowed_in_words(rule) for rule in call.text("allow").split(";") if rule.strip()]
    may = f"; without asking it may {' and '.join(allowed)}" if allowed else ""
    task = unquoted(call.text("task"), _TASK_CHARS)
    # The whole call stands below the question, which would push its answers off the screen.
    more = " (all of it stands below)" if len(task) > _SHOWN_CHARS else ""
    return f"do this {back}{may}: “{clip_line(task, _SHOWN_CHARS)}”{more}"


def _allowed_in_words(rule: str) -> str:
    """Return `tool=write_file path=*.md` as “write_file” where path is “*.md”."""
    try:
        told = [
            (name, unquoted(value, _SHOWN_CHARS))
            for name, _, value in (one.partition("=") for one in shlex.split(rule))
        ]
    except ValueError:  # because a quotation may be open; such a rule is refused afterwards
        return f"“{unquoted(rule, _SHOWN_CHARS)}”"
    tools = [value for name, value in told if name == "tool"]
    bounds = [f"{name} is “{value}”" for name, value in told if name != "tool"]
    return f"use {' or '.join(tools) or 'any tool'}" + (f" where {' and '.join(bounds)}" if bounds else "")


_RARE = RareFamily("schedules", "do something later or regularly, notify the person")

SCHEDULES = Family(
    ScheduleTools,
    (
        ToolSpec(
            name="cron",
            description=(
                "Do a task later, once or again and again, with nobody there: the person is asked now, with the next "
                "three times. The task is a whole wish that needs nothing of this conversation. What would ask then is "
                "not done and waits in the inbox, but for what `allow` names."
            ),
            effect=Effect.SETTINGS,
            execute=ScheduleTools.cron,
            attrs=(
                Param("action", description="add if left out", choices=("add", "list", "remove"), otherwise="add"),
                Param(
                    "schedule",
                    description="2026-11-24T09:00, in 2 hours, tomorrow 9:00, every 2 hours, daily 9:00, or cron",
                    aliases=("when", "cron"),
                ),
                Param("title", description="a few words for the person", aliases=("name",)),
                Param("allow", description="what it may do without asking: tool=web_search; tool=write_file path=*.md"),
                Param("id", ValueType.INTEGER, "which one to remove"),
            ),
            body=Param("task", description="what to do then", close=Close.LAST, aliases=("prompt", "text")),
            examples=('<cron schedule="weekdays 8:30">Search the web for the weather in Oslo</cron>',),
            rare=_RARE,
            effects_by_call=_effects_of_cron,
            read_back=_told,
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
        ),
    ),
)
