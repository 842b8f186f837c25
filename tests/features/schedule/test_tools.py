"""A task for later is agreed to before it is kept, and what is kept is read back in words."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.agent.agent_events import AgentEvent, ApprovalWanted
from app.agent.asking import question
from app.agent.policy import Decision, Mode, Policy, Subject, Trust
from app.agent.policy.policy import PolicyDeps
from app.agent.policy.unattended import check_names
from app.assembly import registry
from app.base.clock import SystemClock
from app.base.errors import ToolFailed, ToolMisuse
from app.features.schedule import timer
from app.features.schedule.agenda import Agenda
from app.features.schedule.tools import ScheduleTools
from app.protocol.call import JsonValue, ToolCall, ToolResult
from app.protocol.spec import ToolSpec
from app.services.notifications import DesktopNotifier, DeviceNotifier
from app.settings.store import Settings
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Family, Registry, TurnContext, admitted
from tests.support.site import Reply, site
from tests.support.stage import FakeClock, Stage

TASK = "search the web for the weather"
ADD = {"schedule": "weekdays 8:30", "task": TASK, "allow": "web search"}


def _spec() -> ToolSpec:
    return next(spec for spec in registry().specs if spec.name == "cron")


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
def test_the_person_is_asked_and_reads_the_next_three_times(tmp_path: Path, mode: Mode) -> None:
    policy = Policy(tmp_path, mode, surroundings=PolicyDeps(tools=registry().specs))
    verdict = policy.decide(ToolCall("c1", "cron", ADD), _spec(), (), Trust(words=f"On weekdays at 8:30 {TASK}"))
    assert (verdict.decision, [need.subject for need in verdict.needs]) == (Decision.ASK, [Subject.SETTINGS])
    assert verdict.act
    day = r"\w{3} \d{4}-\d\d-\d\d 08:30"
    assert re.fullmatch(
        rf"Wisp wants to do this from Monday to Friday at 08:30 \(\S+\); next: {day}, {day}, {day}; "
        rf"without asking it may use “web search”: “{TASK}”\.",
        question(verdict.needs, verdict.act).text,
    )


def test_a_reminder_is_asked_for_as_one(tmp_path: Path) -> None:
    policy = Policy(tmp_path, Mode.ASK, surroundings=PolicyDeps(tools=registry().specs))
    add = {"schedule": "2031-11-24T09:00", "task": "Notify me: call Anna"}
    verdict = policy.decide(ToolCall("c1", "cron", add), _spec(), (), Trust(tainted_by=("web",)))
    assert verdict.decision is Decision.ASK
    assert verdict.act
    said = question(verdict.needs, verdict.act).text
    assert said == "Wisp wants to remind you on Monday, 2031-11-24 at 09:00: “call Anna”."


REMINDER = {"schedule": "in 10 minutes", "task": "notify me: stretch"}


@pytest.mark.parametrize(
    ("changed", "trust", "mode", "decision"),
    [
        ({}, Trust(), Mode.ASK, Decision.ALLOW),
        ({}, Trust(), Mode.PLAN, Decision.DENY),
        ({}, Trust(tainted_by=("web",)), Mode.AUTO, Decision.ASK),
        ({"task": "open the calculator"}, Trust(), Mode.ASK, Decision.ASK),
        ({"allow": "web search"}, Trust(), Mode.ASK, Decision.ASK),
        ({"allow": "web search"}, Trust(is_planned=True), Mode.ASK, Decision.ALLOW),
        ({"allow": "web search"}, Trust(is_planned=True), Mode.PLAN, Decision.DENY),
    ],
)
def test_a_reminder_only_notifies_and_is_kept_unasked_until_others_words_were_read(
    tmp_path: Path, changed: dict[str, str], trust: Trust, mode: Mode, decision: Decision
) -> None:
    policy = Policy(tmp_path, mode, surroundings=PolicyDeps(tools=registry().specs))
    call = ToolCall("c1", "cron", {**REMINDER, **changed})
    assert policy.decide(call, _spec(), (), trust).decision is decision


def test_looking_at_what_is_planned_asks_nothing(tmp_path: Path) -> None:
    policy = Policy(tmp_path, Mode.ASK, surroundings=PolicyDeps(tools=registry().specs))
    assert policy.decide(ToolCall("c1", "cron", {"action": "list"}), _spec(), (), Trust()).decision is Decision.ALLOW


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScheduleTools:
    monkeypatch.setenv("PATH", str(tmp_path))
    return ScheduleTools(Agenda(tmp_path / "agenda.db", SystemClock()), Path("/w"), check_names)


async def _call(tools: ScheduleTools, **arguments: object) -> ToolResult:
    return await tools.cron(ToolCall("c1", "cron", arguments), TurnContext(admitted))  # type: ignore[arg-type]


async def test_it_is_kept_listed_and_removed(tools: ScheduleTools) -> None:
    made = await _call(tools, **ADD)
    assert made.llm_echo.startswith("Schedule 1 is kept: at 08:30 on Monday through Friday (")
    assert made.llm_echo.endswith(timer.NO_TIMER)
    listed = (await _call(tools, action="list")).llm_echo
    assert re.fullmatch(rf"1\. {TASK}: at 08:30 on .* \[may: web search\]", listed)
    assert (await _call(tools, action="remove", id=1)).ok
    assert (await _call(tools, action="list")).llm_echo == "Nothing is scheduled."
    with pytest.raises(ToolFailed, match="no planned task 1"):
        await _call(tools, action="remove", id=1)


async def test_it_is_removed_by_its_words_if_they_fit_only_one_and_all_are_removed_at_once(
    tools: ScheduleTools,
) -> None:
    for task in ("notify me: call the dentist", "notify me: call Anna", "notify me: water the plants"):
        await _call(tools, schedule="tomorrow 9:00", task=task)
    with pytest.raises(ToolFailed, match=r"dentist.*Anna"):
        await _call(tools, action="remove", task="call")
    assert (await _call(tools, action="remove", task="Plants")).ok
    assert "plants" not in (await _call(tools, action="list")).llm_echo
    assert (await _call(tools, action="remove_reminders")).ok
    assert not (await _call(tools, action="list")).payload["count"]


async def test_only_a_schedule_that_exists_is_asked_about_before_it_is_removed(tools: ScheduleTools) -> None:
    asked: list[Mapping[str, JsonValue]] = []

    async def admit(step: ToolCall) -> str:
        asked.append(step.arguments)
        return "The person said no."

    await _call(tools, **ADD)
    with pytest.raises(ToolFailed, match=rf"^There is no planned task 9\. There is: 1\. {TASK}\.$"):
        await tools.cron(ToolCall("c1", "cron", {"action": "remove", "id": 9}), TurnContext(admit))
    refused = await tools.cron(ToolCall("c1", "cron", {"action": "remove", "id": 1}), TurnContext(admit))
    assert (refused.ok, asked) == (False, [{"action": "remove", "id": 1, "title": TASK}])
    assert (await _call(tools, action="list")).llm_echo.startswith("1. ")


@pytest.mark.parametrize(
    ("arguments", "decision"), [({"id": 1}, Decision.ALLOW), ({"id": 1, "title": TASK}, Decision.ASK)]
)
def test_the_removal_itself_is_what_is_asked(
    tmp_path: Path, arguments: dict[str, JsonValue], decision: Decision
) -> None:
    policy = Policy(tmp_path, Mode.ASK, surroundings=PolicyDeps(tools=registry().specs))
    call = ToolCall("c1", "cron", {"action": "remove", **arguments})
    assert policy.decide(call, _spec(), (), Trust()).decision is decision


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"task": " "}, "Give schedule, and as task"),
        ({"allow": "tool=web_search"}, "names nothing"),
        ({"allow": "Send; *"}, "names nothing"),
        ({"allow": "Send\nBuy"}, "on one line"),
        ({"allow": "x" * 301}, "300 characters"),
        ({"title": "a\u202eb"}, "hidden characters"),
    ],
)
async def test_what_cannot_be_kept_says_why(tools: ScheduleTools, changed: dict[str, str], why: str) -> None:
    with pytest.raises(ToolMisuse, match=why):
        await _call(tools, **{**ADD, **changed})


def _asked(folder: Path, **changed: str) -> str:
    """The question about a schedule."""
    policy = Policy(folder, Mode.ASK, surroundings=PolicyDeps(tools=registry().specs))
    verdict = policy.decide(ToolCall("c1", "cron", {**ADD, **changed}), _spec(), (), Trust())
    assert verdict.act
    return question(verdict.needs, verdict.act).text


def test_a_task_cannot_seem_to_end_before_its_end(tmp_path: Path) -> None:
    task = "greet me” once; without asking it may use nothing: “\n" + "x " * 300
    told = _asked(tmp_path, task=task, allow="a” and nothing else.md; example.com")
    assert told.count("”") == 3
    assert "may use “a' and nothing else.md” and “example.com”: “greet me' once" in told
    assert told.endswith("x x …” (the whole text is below).")


@pytest.mark.parametrize("allow", ["{x}", "{", "a {x}", "{0}"])
def test_braces_in_what_is_allowed_are_words(tmp_path: Path, allow: str) -> None:
    assert f"may use “{allow}”" in _asked(tmp_path, allow=allow)


async def test_the_question_holds_the_whole_task(tmp_path: Path, tools: ScheduleTools) -> None:
    task = " ".join(f"Step {number}." for number in range(190))
    known = Registry(SAY, Family(ScheduleTools, (_spec(),)))
    call = f"<cron schedule='daily 9:00'>{task}</cron>"
    executor = Executor(known, [Speech(), tools], SystemClock())
    stage = Stage(tmp_path, call, "Not done.", registry=known, executor=executor)

    def deny(event: AgentEvent) -> None:
        if isinstance(event, ApprovalWanted):
            asyncio.get_running_loop().call_soon(lambda: stage.session.answer(event.approval_id, allow=False))

    stage.session.subscribe(deny)
    await stage.send()
    (asked,) = (event for event in stage.events if isinstance(event, ApprovalWanted))
    assert (task in asked.detail, "(the whole text is below)" in asked.sentence) == (True, True)


async def test_what_the_turn_had_read_stays_with_its_schedule(tmp_path: Path, tools: ScheduleTools) -> None:
    await tools.cron(ToolCall("c1", "cron", dict(ADD)), TurnContext(admitted, said="Do.", tainted_by=("web",)))
    await _call(tools, **ADD)
    agenda = Agenda(tmp_path / "agenda.db", SystemClock())
    assert sorted(job.tainted_by for job in agenda.all()) == [(), ("web",)]


@pytest.mark.parametrize("read_before", [None, (), ("web",)])
async def test_a_task_of_earlier_names_what_it_says_because_it_was_agreed_to(
    tmp_path: Path, read_before: tuple[str, ...] | None
) -> None:
    call = '<web_fetch url="https://a.example/"/>'
    assert await _run(tmp_path, call, "Look at a.example", read_before, Mode.ASK) == []


@pytest.mark.parametrize(("read_before", "refused"), [((), []), (("web",), ["web_fetch"])])
async def test_a_run_begins_with_what_was_read_when_it_was_made(
    tmp_path: Path, read_before: tuple[str, ...], refused: list[str]
) -> None:
    assert await _run(tmp_path, '<web_fetch url="https://a.example/"/>', "Look.", read_before, Mode.AUTO) == refused


class _Fetches:
    async def fetch(self, _call: ToolCall, _turn: TurnContext) -> ToolResult:
        return ToolResult(True, "fetched", {}, "A page.")


async def _run(folder: Path, reply: str, task: str, read_before: tuple[str, ...] | None, mode: Mode) -> list[str]:
    """The tools that the gate refused with nobody there."""
    kept: list[str] = []

    async def audit(kind: str, details: Mapping[str, JsonValue]) -> None:
        kept.extend([str(details["tool"])] if kind == "refused" else [])

    fetch = next(spec for spec in registry().specs if spec.name == "web_fetch")
    tools = Registry(SAY, Family(_Fetches, (replace(fetch, execute=_Fetches.fetch),)))
    policy = Policy(folder, mode, surroundings=PolicyDeps(tools=registry().specs))
    executor = Executor(tools, [Speech(), _Fetches()], FakeClock())
    stage = Stage(folder, reply, "Done.", registry=tools, executor=executor, policy=policy, audit=audit, attended=False)
    await stage.session.send(task, own=task, read_before=read_before)
    return kept


def test_the_timer_is_set_in_words_that_systemd_reads() -> None:
    assert timer.calendar(1_795_510_800.5) == "2026-11-24 09:00:00 UTC"


TOKEN = "tk_secret"


class Answering:
    """A gate that answers each step with a sentence, and remembers what it was asked."""

    def __init__(self, refusal: str = "") -> None:
        self.asked: list[ToolCall] = []
        self._refusal = refusal

    async def __call__(self, step: ToolCall) -> str:
        self.asked.append(step)
        return self._refusal


async def _notified(tmp_path: Path, topic: str, gate: Answering, urgency: str = "critical") -> str:
    settings = Settings({}, {}).with_values(presence__ntfy=topic)
    devices = DeviceNotifier(lambda: settings, {"ntfy": TOKEN}.__getitem__)
    agenda = Agenda(tmp_path / "agenda.db", SystemClock())
    tools = ScheduleTools(agenda, Path("/w"), lambda _rules: None, DesktopNotifier(), devices=devices)
    given = {"title": "Grüße 🙂", "text": "The report is ready.", "urgency": urgency}
    told = await tools.notify(ToolCall("c1", "push_notification", given), TurnContext(gate, turn_id="t1"))
    assert [item.title for item in agenda.inbox()] == ["Grüße 🙂"]
    return told.llm_echo


@pytest.fixture
def nothing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "")


@pytest.mark.usefixtures("nothing_shows")
async def test_a_notification_reaches_the_person_s_own_topic_in_ntfys_format(tmp_path: Path) -> None:
    gate = Answering()
    with site({"/": Reply(b'{"id": "x"}')}) as server:
        told = await _notified(tmp_path, f"{server.url}/wisp", gate)
    [(headers, body)] = server.sent
    assert json.loads(body) == {
        "topic": "wisp",
        "title": "Grüße 🙂",
        "message": "The report is ready.",
        "priority": 5,
    }
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert told.endswith("ntfy has it, too.")
    assert [step.arguments["server"] for step in gate.asked] == [f"{server.url}/wisp"]


@pytest.mark.usefixtures("nothing_shows")
async def test_what_the_gate_refuses_goes_nowhere_and_stays_in_the_inbox(tmp_path: Path) -> None:
    with site({"/": Reply(b"{}")}) as server:
        told = await _notified(tmp_path, f"{server.url}/wisp", Answering("The person said no."))
    assert server.sent == []
    assert told.endswith("It was not sent to ntfy: The person said no.")


@pytest.mark.usefixtures("nothing_shows")
async def test_without_a_topic_nothing_leaves_and_nobody_is_asked(tmp_path: Path) -> None:
    gate = Answering()
    assert "ntfy" not in await _notified(tmp_path, "", gate)
    assert gate.asked == []


@pytest.mark.usefixtures("nothing_shows")
@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"", 403), "it wants another token (403)."),
        (Reply(b"", 500), "it failed (500)."),
        (Reply(b"", 302, {"Location": "https://elsewhere.example/"}), "it failed (302)."),
    ],
)
async def test_what_the_server_refuses_is_said(tmp_path: Path, reply: Reply, why: str) -> None:
    with site({"/": reply}) as server:
        told = await _notified(tmp_path, f"{server.url}/wisp", Answering())
    assert told.endswith(f"ntfy did not take it: {why}")
    assert len(server.sent) == 1


@pytest.mark.usefixtures("nothing_shows")
@pytest.mark.parametrize("topic", ["nonsense", "ftp://x.example/t", "https://ntfy.example", "http://127.0.0.1:9/t"])
async def test_a_server_that_cannot_be_reached_is_a_sentence(tmp_path: Path, topic: str) -> None:
    told = await _notified(tmp_path, topic, Answering())
    assert "presence.ntfy holds no address of a topic." in told or "ntfy did not get it: " in told


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
def test_a_notification_asks_only_where_it_leaves_this_machine(tmp_path: Path, mode: Mode) -> None:
    policy = Policy(tmp_path, mode, surroundings=PolicyDeps(tools=registry().specs))
    spec = next(spec for spec in registry().specs if spec.name == "push_notification")
    here = policy.decide(ToolCall("c1", spec.name, {"title": "Ready"}), spec, (), Trust())
    away = ToolCall("c2", spec.name, {"title": "Ready", "text": "Read it.", "server": "https://ntfy.example/wisp"})
    verdict = policy.decide(away, spec, (), Trust(tainted_by=("web",)))
    assert (here.decision, verdict.decision) == (Decision.ALLOW, Decision.ASK)
    assert verdict.act
    asked = question(verdict.needs, verdict.act).text
    assert "send the notification “Ready: Read it.” to https://ntfy.example/wisp" in asked


@pytest.mark.parametrize(
    ("name", "decision"),
    [("push_notification", Decision.ASK), ("other.example", Decision.ASK), ("ntfy.example", Decision.ALLOW)],
)
def test_only_the_name_of_its_server_lets_a_notification_off_this_machine(
    tmp_path: Path, name: str, decision: Decision
) -> None:
    policy = Policy(tmp_path, surroundings=PolicyDeps(tools=registry().specs, allowed=(name,)))
    spec = next(spec for spec in registry().specs if spec.name == "push_notification")
    given = {"title": "Ready", "text": "Read it.", "server": "https://ntfy.example/wisp"}
    assert policy.decide(ToolCall("c1", spec.name, given), spec, (), Trust()).decision is decision


def test_the_question_about_a_notification_shows_all_of_its_text(tmp_path: Path) -> None:
    spec = next(spec for spec in registry().specs if spec.name == "push_notification")
    text = "x" * 492 + " the end"
    call = ToolCall("c1", spec.name, {"title": "Ready", "text": text, "server": "https://ntfy.example/wisp"})
    verdict = Policy(tmp_path, surroundings=PolicyDeps(tools=registry().specs)).decide(call, spec, (), Trust())
    assert verdict.act
    assert f"“Ready: {text}” to https://ntfy.example/wisp" in question(verdict.needs, verdict.act).text
