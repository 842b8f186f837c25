"""What is left of the memory, the schedules and the browser after a `kill -9` at any moment.

    .venv/bin/python scripts/bench killreach [ROUNDS] [SEED]

Each round forks a process that keeps facts, forgets some, and carries out what is due, all in the same files as the
rounds before; every tenth also has a browser open on a page. It dies after a random time, or right before a random SQL
statement. Then the round is looked at: every fact that was acknowledged is there once, none that was forgotten is, each
task was done once at most and is either finished or in the inbox as interrupted, no browser of it lives on, and its
profile opens again. Prints what failed. Exit code 1 where something did.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil

from app.base.clock import SystemClock
from app.features.browser.starting import program
from app.features.memory.store import Fact, FactStore
from app.features.schedule.agenda import Agenda
from scripts.bench.killbox import _append, _dying, _forked, _lines
from tests.support.web_world import world

_LONGEST_S = 0.4
_MOST_STATEMENTS = 120
_JOBS = 12
_BROWSER_EVERY = 10
_BROWSER_S = 12.0
_GONE_S = 10.0
_PAST = "2020-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Round:
    """Where a round lives and how it dies. `statement` is 0 where it dies by the clock."""

    number: int
    folder: Path
    after_s: float
    statement: int
    has_browser: bool

    def file(self, kind: str) -> Path:
        """What the process told before it died: kept, forgetting, forgotten, done, open."""
        return self.folder / f"{self.number}.{kind}"

    @property
    def profile(self) -> Path:
        return self.folder / "profile"


def _stores(round_: Round) -> tuple[FactStore, Agenda]:
    clock = SystemClock()
    return FactStore(round_.folder / "memory.db", clock), Agenda(round_.folder / "agenda.db", clock)


# the process that dies


def _live(round_: Round) -> None:
    memory, agenda = _stores(round_)
    if round_.has_browser:
        threading.Thread(target=lambda: asyncio.run(_browse(round_)), daemon=True).start()
    if round_.statement:
        dying = _dying(round_.statement)
        memory.is_empty  # noqa: B018 - opens it
        for store in (memory, agenda):
            store._opened().set_trace_callback(dying)
    number = 0
    while True:
        text = f"Fact {round_.number} {number} stays."
        kept = memory.keep(Fact(0, "fact", text, "person", "", 0.0, f"turn-{round_.number}"))
        _append(round_.file("kept"), f"{round_.number}-{number}")
        if number % 5 == 4:
            _append(round_.file("forgetting"), f"{round_.number}-{number}")
            memory.forget([kept.id], f"turn-{round_.number}")
            _append(round_.file("forgotten"), f"{round_.number}-{number}")
        run = agenda.claim()
        if run:
            _append(round_.file("done"), str(run.job.id))
            agenda.finish(run, "done", "")
        number += 1


async def _browse(round_: Round) -> None:
    async with world(round_.folder, {"/": "<title>Open</title><p>Here."}) as here:
        await here.browser.launch("http://shop.example/")
        _append(round_.file("open"), "open")
        while True:
            await here.browser.look()


# the look afterwards


def _look(round_: Round, jobs: set[int]) -> list[str]:
    memory, agenda = _stores(round_)
    texts = Counter(fact.text for fact in memory.all())
    gone = set(_lines(round_.file("forgotten")))
    unsure = {*gone, *_lines(round_.file("forgetting"))}  # because it may have died before it told of the second
    told = [one for one in _lines(round_.file("kept")) if one not in unsure]
    faults = [f"{one} was kept and is there {texts[_text(one)]} times" for one in told if texts[_text(one)] != 1]
    faults += [f"{one} was forgotten and is there" for one in gone if texts[_text(one)]]
    while run := agenda.claim():  # what was still due is not lost
        _append(round_.file("done"), str(run.job.id))
        agenda.finish(run, "done", "")
    done = Counter(map(int, _lines(round_.file("done"))))
    faults += [f"task {one} was done {count} times" for one, count in done.items() if count > 1]
    items = [item.title for item in agenda.inbox(10_000)]
    for job in jobs:
        ends = [title for title in items if title.startswith(f"task {round_.number}-{job} ")]
        ends += [title for title in items if title.startswith(f"task {round_.number}-{job}:")]
        if len(ends) != 1:
            faults.append(f"task {job} is {len(ends)} times in the inbox: {ends}")
    if agenda.all() or agenda.is_at_work():
        faults.append("a task is still to come, or counts as running")
    memory.close()
    agenda.close()
    return faults


def _text(told: str) -> str:
    return f"Fact {told.replace('-', ' ')} stays."


def _browsers(profile: Path) -> list[int]:
    """The processes of a browser with this profile."""
    mark = f"--user-data-dir={profile}"
    return [one.pid for one in psutil.process_iter(["cmdline"]) if mark in (one.info["cmdline"] or [])]


def _browser_faults(round_: Round) -> list[str]:
    limit = time.monotonic() + _GONE_S
    while (left := _browsers(round_.profile)) and time.monotonic() < limit:
        time.sleep(0.1)
    faults = [f"a browser lives on: {left}"] if left else []

    async def again() -> str:
        async with world(round_.folder, {"/": "<title>Open</title><p>Here."}) as here:
            await here.browser.launch("http://shop.example/")
            return await here.browser.outline()

    if "Here." not in asyncio.run(again()):
        faults.append("the profile does not open again")
    return faults


# rounds


def _prepare(round_: Round) -> set[int]:
    """Plan tasks that are due at once, in the file that the process will use."""
    _, agenda = _stores(round_)
    with agenda._writing() as db:
        values = [
            (f"task {round_.number}-{number}", "hello", "once", _PAST, "UTC", "/w", "[]", "person", 0.0, 1.0, "[]")
            for number in range(_JOBS)
        ]
        columns = "title, task, kind, schedule, zone, workspace, allowed, made_by, made_at, next, tainted"
        db.executemany(f"insert into jobs ({columns}) values ({', '.join('?' * 11)})", values)
    agenda.close()
    return set(range(_JOBS))


def _killed(round_: Round) -> None:
    pid = _forked(lambda: _live(round_))
    if not round_.statement:
        limit = time.monotonic() + _BROWSER_S
        while round_.has_browser and not round_.file("open").exists() and time.monotonic() < limit:
            time.sleep(0.02)
        time.sleep(round_.after_s)
        os.kill(pid, 9)
    os.waitpid(pid, 0)


def _play(rounds: int, seed: int, say: Callable[[str], None], *, has_browser: bool) -> int:
    chance, faults = random.Random(seed), 0
    told = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="killreach-", ignore_cleanup_errors=True) as name:
        for number in range(rounds):
            browses = has_browser and number % _BROWSER_EVERY == 0
            statement = chance.randrange(1, _MOST_STATEMENTS) if number % 2 else 0
            round_ = Round(number, Path(name), chance.uniform(0.0, _LONGEST_S), statement, browses)
            jobs = _prepare(round_)
            _killed(round_)
            found = _look(round_, jobs) + (_browser_faults(round_) if browses else [])
            for fault in found:
                say(f"round {number}: {fault}")
            faults += len(found)
            told += Counter({kind: len(_lines(round_.file(kind))) for kind in ("kept", "forgotten", "done", "open")})
    say(
        f"{rounds} rounds: {told['kept']} facts kept, {told['forgotten']} forgotten, {told['done']} of "
        f"{rounds * _JOBS} tasks done and the rest told as interrupted, {told['open']} browsers killed, {faults} faults"
    )
    return int(bool(faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="?", type=int, default=200)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--no-browser", action="store_true", help="without the browser, which takes most of the time")
    options = parser.parse_args()
    return _play(options.rounds, options.seed, print, has_browser=not options.no_browser and bool(program()))


if __name__ == "__main__":
    sys.exit(main())
