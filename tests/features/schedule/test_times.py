"""Schedules through a year with changes of the clock: no run is lost or comes twice; those for the screen wait."""

from __future__ import annotations

import datetime
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app.base.errors import ToolFailed, ToolMisuse
from app.base.values import replace
from app.features.schedule.agenda import Agenda, Job, latest_begin
from app.features.schedule.times import When, in_words, next_times, read, read_back, read_hour
from tests.support.stage import FakeClock

BERLIN, NEW_YORK, SYDNEY, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Sydney", "Australia/Lord_Howe"
YEAR = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC).timestamp()
YEAR_S = 365 * 86_400.0
NOW = datetime.datetime(2026, 11, 23, 10, 0, tzinfo=ZoneInfo(BERLIN)).timestamp()


def _clock(at: float) -> FakeClock:
    clock = FakeClock()
    clock.time = at
    return clock


@pytest.mark.parametrize(
    ("text", "words", "first"),
    [
        ("2026-11-24T09:00", "once, on Tuesday 24 November 2026 at 09:00", "2026-11-24 09:00"),
        ("every hour", "every hour", "2026-11-23 11:00"),
        ("mon, Thursday 7:30", "at 07:30 on Monday and Thursday", "2026-11-26 07:30"),
        ("every monday at 7:30", "at 07:30 on Monday", "2026-11-30 07:30"),
        ("in 1 minute", "once, on Monday 23 November 2026 at 10:01", "2026-11-23 10:01"),
        ("tomorrow at noon", "once, on Tuesday 24 November 2026 at 12:00", "2026-11-24 12:00"),
        ("at 9:00", "once, on Tuesday 24 November 2026 at 09:00", "2026-11-24 09:00"),
    ],
)
def test_a_schedule_is_read_and_read_back(text: str, words: str, first: str) -> None:
    when = read(text, NOW, BERLIN)
    assert in_words(when) == words
    at = datetime.datetime.fromtimestamp(next_times(when, NOW, NOW)[0], ZoneInfo(BERLIN))
    assert at.strftime("%Y-%m-%d %H:%M") == first


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-11-24", "has no time of the day"),
        ("* * * * *", "more often than every 5 minutes"),
        ("every 0 days", "is no schedule"),
        ("*/0 * * * *", "is no schedule"),
        ("tomorrow", "is no schedule"),
        ("today 9:00", "is over"),
        ("", "is no schedule"),
    ],
)
def test_what_is_no_schedule_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ToolMisuse, match=why):
        read(text, NOW, BERLIN)


def test_hours_ahead_are_hours_and_days_ahead_keep_the_clock_where_it_is_put_back() -> None:
    before = datetime.datetime(2026, 10, 24, 22, 0, tzinfo=ZoneInfo(BERLIN)).timestamp()
    hours, days = (next_times(read(text, before, BERLIN), before, before)[0] for text in ("in 12 hours", "in 1 day"))
    assert (hours - before, days - before) == (12 * 3_600, 25 * 3_600)


def test_the_person_reads_the_words_and_the_next_three_times() -> None:
    told = read_back(read("weekdays 8:30", NOW, BERLIN), NOW)
    assert told == (
        "at 08:30 on Monday through Friday (Europe/Berlin); next: Tue 2026-11-24 08:30, Wed 2026-11-25 08:30, "
        "Thu 2026-11-26 08:30"
    )


def _expected(when: When) -> list[float]:
    """Every run of a year by local dates, counted without what is tested."""
    zone = ZoneInfo(when.zone)
    if when.kind == "once":
        return [datetime.datetime.fromisoformat(when.text).timestamp()]
    if when.kind == "every":
        number, unit = when.text.split()
        step = int(number) * {"hour": 3_600}[unit]
        return [YEAR + step * n for n in range(1, 365 * 86_400 // step + 1)]
    minute, hour, date, _, days = when.text.split()
    named = {"*": "0,1,2,3,4,5,6", "1-5": "1,2,3,4,5"}.get(days, days)
    weekdays = [(int(day) - 1) % 7 for day in named.split(",")]
    first = datetime.datetime.fromtimestamp(YEAR, zone).date()
    found = []
    for number in range(367):
        day = first + datetime.timedelta(days=number)
        if day.weekday() in weekdays and date in ("*", str(day.day)):
            found.append(_at(day, int(hour), int(minute), zone))
    return [at for at in found if YEAR < at <= YEAR + 365 * 86_400]


def _at(day: datetime.date, hour: int, minute: int, zone: ZoneInfo) -> float:
    """The time on the day; where the clock skips it, the first minute after the gap."""
    local = datetime.datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
    back = datetime.datetime.fromtimestamp(local.timestamp(), zone)
    if (back.hour, back.minute) == (hour, minute):
        return local.timestamp()
    start = datetime.datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
    minutes = (start + 60 * n for n in range(24 * 60))
    return next(at for at in minutes if datetime.datetime.fromtimestamp(at, zone).time() > local.time())


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder that no disk has to keep: 10,000 transactions are waited for otherwise."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def _two_hundred(zones: Sequence[str]) -> list[When]:
    """Cron expressions, weekdays, intervals and single times. A quarter lies in the hour that clock changes skip."""
    found = []
    for number in range(200):
        zone = zones[number % len(zones)]
        hour, minute = (2, 30) if number % 4 == 0 else (number % 24, 15 * (number % 4))
        if number % 10 == 9:
            found.append(When("every", f"{60 + number % 40} hour", zone))
        elif number % 10 == 7:
            day = datetime.datetime.fromtimestamp(YEAR, ZoneInfo(zone)).date() + datetime.timedelta(days=1 + number)
            found.append(read(f"{day}T{hour:02}:{minute:02}", YEAR, zone))
        elif number % 40 == 6:
            found.append(read(f"weekdays {hour}:{minute:02}", YEAR, zone))
        elif number % 2:
            found.append(When("cron", f"{minute} {hour} {1 + number % 31} * *", zone))
        else:
            found.append(When("cron", f"{minute} {hour} * * {'*' if number % 40 == 0 else number % 7}", zone))
    return found


def _played(agenda: Agenda, clock: FakeClock, is_on: Callable[[float], float]) -> list[tuple[int, float, bool]]:
    """Run a year. `is_on` maps a time to the next one at which the computer is on. Returns job, due time, is late."""
    runs = []
    while (due := agenda.next_due()) is not None and due <= YEAR + YEAR_S:
        clock.time = max(clock.time, is_on(due) + 1)
        while run := agenda.claim():
            runs.append((run.job.id, run.due_at, run.is_late))
            agenda.finish(run, "done", "")
    return runs


@pytest.mark.long
def test_a_year_of_200_schedules_runs_each_exactly_once_in_zones_that_change_the_clock(in_memory: Path) -> None:
    clock = _clock(YEAR)
    agenda = Agenda(in_memory / "agenda.db", clock)
    whens = _two_hundred((BERLIN, NEW_YORK, SYDNEY, LORD_HOWE))
    jobs = {agenda.add(Job(f"job {n}", "say hello", when, "/w")).id: when for n, when in enumerate(whens)}
    runs = _played(agenda, clock, lambda due: due)
    assert [run for run, count in Counter(runs).items() if count > 1 or run[2]] == []
    for job_id, when in jobs.items():
        assert sorted(due for one, due, _ in runs if one == job_id) == _expected(when), when


@pytest.mark.long
def test_a_year_with_a_computer_off_most_days_runs_what_was_missed_once_and_late(in_memory: Path) -> None:
    period, on = 14 * 86_400.0, 2 * 86_400.0
    clock = _clock(YEAR)
    agenda = Agenda(in_memory / "agenda.db", clock)
    whens = _two_hundred((BERLIN, NEW_YORK, SYDNEY))
    jobs = {agenda.add(Job(f"job {n}", "say hello", when, "/w")).id: when for n, when in enumerate(whens)}

    def is_on(at: float) -> float:
        into = (at - YEAR) % period
        return at if into <= on else at - into + period

    runs = _played(agenda, clock, is_on)
    assert [run for run, count in Counter(runs).items() if count > 1] == []
    for job_id, when in jobs.items():
        expected, slept = [], set()
        for due in _expected(when):
            began = is_on(due)
            if began not in slept:
                expected.append((due, began != due))
            slept.add(began)
        assert sorted((due, late) for one, due, late in runs if one == job_id) == expected, when


def test_what_was_missed_runs_once_and_is_marked_late(tmp_path: Path) -> None:
    clock = _clock(NOW)
    agenda = Agenda(tmp_path / "agenda.db", clock)
    agenda.add(Job("greeting", "say hello", read("daily 9:00", NOW, BERLIN), "/w"))
    clock.time = NOW + 5 * 86_400
    run = agenda.claim()
    assert run and run.is_late
    item = agenda.finish(run, "done", "Hello.")
    assert item.title == "greeting (late: it was due Tue 2026-11-24 09:00): done"
    assert (agenda.claim(), agenda.next_due()) == (None, NOW + 6 * 86_400 - 3_600)


def _waiting(tmp_path: Path, until: str = "11:30") -> tuple[Agenda, FakeClock]:
    clock = _clock(NOW)
    agenda = Agenda(tmp_path / "agenda.db", clock)
    agenda.add(Job("sort", "sort the desktop", read("daily 11:00", NOW, BERLIN), "/w", until=until))
    clock.time = NOW + 3_600
    return agenda, clock


def test_a_task_for_the_screen_waits_for_it_while_others_run(tmp_path: Path) -> None:
    agenda, clock = _waiting(tmp_path)
    agenda.add(Job("mail", "say hello", read("every hour", NOW, BERLIN), "/w"))
    clock.time += 101
    assert agenda.is_screen_wanted()
    assert agenda.claim("the screen was locked") is None
    assert [job.waits_for for job in agenda.all()] == ["the screen was locked", ""]
    assert agenda.give_up_waiting() == []
    run = agenda.claim()
    assert run and (run.job.title, run.due_at) == ("sort", NOW + 3_600)
    agenda.finish(run, "done", "")
    assert ([job.waits_for for job in agenda.all()], agenda.is_screen_wanted()) == (["", ""], False)


def test_a_task_that_waited_until_its_hour_is_not_begun_and_the_inbox_says_why(tmp_path: Path) -> None:
    agenda, clock = _waiting(tmp_path)
    assert agenda.claim("somebody typed or moved the mouse") is None
    clock.time = NOW + 5_401
    told = agenda.give_up_waiting()
    assert [(item.title, item.body) for item in told] == [
        (
            "sort: not begun",
            "It was due Mon 2026-11-23 11:00 and had to begin by Mon 2026-11-23 11:30, but somebody typed or moved the "
            "mouse. It was not begun: sort the desktop",
        )
    ]
    assert (agenda.inbox(), agenda.give_up_waiting(), agenda.claim()) == (told, [], None)
    assert agenda.next_due() == NOW + 3_600 + 86_400


def test_until_is_the_next_such_hour_also_where_the_clock_changes(tmp_path: Path) -> None:
    agenda, clock = _waiting(tmp_path, until="9:00")
    (job,) = agenda.all()
    spring = datetime.datetime(2026, 3, 28, 12, tzinfo=ZoneInfo(BERLIN)).timestamp()
    assert latest_begin(job) == NOW + 23 * 3_600
    assert latest_begin(replace(job, next_at=spring)) == spring + 20 * 3_600
    assert latest_begin(replace(job, until="")) is None
    clock.time = NOW + 3_600 * 24 * 3
    assert "but Wisp was not running" in agenda.give_up_waiting()[0].body


def test_an_hour_is_read_or_refused() -> None:
    assert (read_hour("18"), read_hour("9:05"), read_hour(" 00:00 ")) == ("18:00", "09:05", "00:00")
    for bad in ("", "24:00", "9:5", "9:60", "noon", "-1:00", "9:00:00", "²:00"):
        with pytest.raises(ToolMisuse, match="Write it like 18:00"):
            read_hour(bad)


def test_a_schedule_for_once_is_over_after_its_run(tmp_path: Path) -> None:
    clock = _clock(NOW)
    agenda = Agenda(tmp_path / "agenda.db", clock)
    job = agenda.add(Job("greeting", "say hello", read("2026-11-23T11:00", NOW, BERLIN), "/w"))
    clock.time = NOW + 3_600
    run = agenda.claim()
    assert run and not run.is_late
    agenda.finish(run, "done", "")
    assert (agenda.all(), agenda.claim()) == ([], None)
    with pytest.raises(ToolFailed, match="no planned task"):
        agenda.remove(job.id)


_DIES = """
import os, signal, sys
from pathlib import Path
from app.base.clock import SystemClock
from app.features.schedule.agenda import Agenda
agenda = Agenda(Path(sys.argv[1]), SystemClock())
run = agenda.claim()
if sys.argv[2] == "after":
    agenda.finish(run, "done", "Hello.")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("moment", "titles"), [("middle", ["greeting: interrupted"]), ("after", ["greeting (late: it was due {}): done"])]
)
def test_what_a_killed_process_had_begun_comes_neither_twice_nor_is_it_lost(
    tmp_path: Path, moment: str, titles: list[str]
) -> None:
    clock = _clock(NOW - 86_400 * 365)
    path = tmp_path / "agenda.db"
    agenda = Agenda(path, clock)
    when = read("2025-11-24T09:00", clock.wall(), BERLIN)
    agenda.add(Job("greeting", "say hello", when, "/w"))
    agenda.close()
    died = subprocess.run([sys.executable, "-c", _DIES, str(path), moment], cwd=Path.cwd(), check=False)
    assert died.returncode == -signal.SIGKILL
    clock.time = NOW
    assert (agenda.claim(), agenda.claim()) == (None, None)
    assert [item.title for item in agenda.inbox()] == [title.format("Mon 2025-11-24 09:00") for title in titles]


def test_while_a_run_is_at_work_no_other_begins(tmp_path: Path) -> None:
    clock = _clock(NOW)
    agenda = Agenda(tmp_path / "agenda.db", clock)
    for text in ("2026-11-23T11:00", "2026-11-23T11:01"):
        agenda.add(Job(text, "say hello", read(text, NOW, BERLIN), "/w"))
    clock.time = NOW + 7_200
    run = agenda.claim()
    assert run and agenda.claim() is None
    agenda.finish(run, "done", "")
    assert (second := agenda.claim()) and second.job.title == "2026-11-23T11:01"


def test_the_newest_run_is_the_jobs_own(tmp_path: Path) -> None:
    agenda = Agenda(tmp_path / "agenda.db", _clock(NOW))
    one, other = (agenda.add(Job(name, "hello", read("every hour", NOW, BERLIN), "/w")) for name in ("One", "Other"))
    assert agenda.newest_run(one.id) == 0
    run = agenda.run_now(other.id)
    assert (agenda.newest_run(one.id), agenda.newest_run(other.id)) == (0, run.id)


def test_the_inbox_keeps_what_was_not_read(tmp_path: Path) -> None:
    agenda = Agenda(tmp_path / "agenda.db", _clock(NOW))
    assert agenda.inbox() == []
    first, second = agenda.post("message", "One", ""), agenda.post("message", "Two", "More.")
    assert agenda.inbox() == [second, first]
    agenda.mark_read([first])
    assert agenda.inbox(only_unread=True) == [second]
    assert (tmp_path / "agenda.db").stat().st_mode & 0o077 == 0


def test_neither_secrets_nor_what_a_terminal_obeys_is_kept(tmp_path: Path) -> None:
    agenda = Agenda(tmp_path / "agenda.db", _clock(NOW))
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    told = f"log in with {token} \x1b]0;title\x07\x1b[2Jnow"
    agenda.add(Job(told, told, read("2026-11-24T09:00", NOW, BERLIN), "/w"))
    agenda.post("message", told, told)
    agenda.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("agenda.db*"))
    assert (token.encode() in kept, b"\x1b[2J" in kept, b"log in with" in kept) == (False, False, True)


def test_rules_stay_as_they_were_checked(tmp_path: Path) -> None:
    agenda = Agenda(tmp_path / "agenda.db", _clock(NOW))
    rules = ("tool=web_search\nmode=ask", "tool=write_file path=*.md")
    agenda.add(Job("a", "a", read("daily 9:00", NOW, BERLIN), "/w", rules))
    assert agenda.all()[0].allowed == rules


def test_a_file_of_before_loses_its_rules_and_counts_as_read(tmp_path: Path) -> None:
    file = tmp_path / "agenda.db"
    agenda = Agenda(file, _clock(NOW))
    agenda.add(Job("a", "a", read("daily 9:00", NOW, BERLIN), "/w"))
    agenda.close()
    with sqlite3.connect(file) as db:
        for column in ("tainted", "until", "waits_for"):
            db.execute(f"alter table jobs drop column {column}")
        db.execute("update jobs set allowed = 'tool=web_search' || char(10) || 'mode=ask'")
        db.execute("pragma user_version = 1")
    (job,) = Agenda(file, _clock(NOW)).all()
    assert (job.allowed, job.tainted_by) == ((), ("conversation",))
