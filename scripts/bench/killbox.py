"""What is left after a `kill -9` at any moment: many sessions are killed, reopened and looked at.

    .venv/bin/python scripts/bench/killbox.py [ROUNDS] [SEED]

Each round forks a session that talks and acts over a script, in one of the three dialects. Half of the sessions die
after a random time, half right before a random SQL statement, so that no moment around a commit is left out. A second
process then opens the journal, goes on with the conversation, and checks what it finds against what the dead one had
told and done: every acknowledged message is there once, every action that happened was written down before, none is
done again, every call is answered. Prints what failed, and how soon the reopened session was ready.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.agent.agent_events import AgentEvent, Outcome, PassStarted
from app.agent.deps import SessionDeps
from app.agent.policy import Mode, Policy
from app.agent.session import Session
from app.base import ids
from app.base.clock import SystemClock
from app.history.archive import Journal, JournalArchive, Trail
from app.history.recorder import JournalRecord
from app.protocol.call import ToolCall, ToolResult
from app.protocol.dialects.choose import by_name
from app.protocol.message import CallPart, Message, ResultPart, Role, TextPart
from app.protocol.spec import Effect, Param, ToolSpec
from app.providers.scripted import Reply, Scripted, native_call
from app.services.journal.audit import ChainHead, verify
from app.services.journal.database import Database
from app.settings.store import Settings
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Family, Registry, TurnContext

_TURNS = 6
_LONGEST_S = 0.5
_MOST_STATEMENTS = 250
_READY_MS = 500.0
_DIALECTS = ("xml", "batch", "native")


class Deeds:
    """A tool that acts outside: a line in a file, on the disk before the call returns."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def deed(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        _append(self._file, call.text("name"))
        return ToolResult(True, "done", {}, f"{call.text('name')} is done.")


DEEDS = Family(Deeds, (ToolSpec("deed", "Do it.", Effect.WRITES, Deeds.deed, attrs=(Param("name", required=True),)),))


def _append(file: Path, line: str) -> None:
    with file.open("ab", buffering=0) as stream:
        stream.write(f"{line}\n".encode())
        os.fsync(stream.fileno())


@dataclass(frozen=True, slots=True)
class Round:
    """Where one round lives and how it dies. `statement` is 0 where it dies by the clock."""

    number: int
    folder: Path
    dialect: str
    after_s: float
    statement: int

    @property
    def told(self) -> Path:
        """The messages that were acknowledged."""
        return self.folder / f"{self.number}.told"

    @property
    def done(self) -> Path:
        """The actions that happened."""
        return self.folder / f"{self.number}.done"


def _journal(round_: Round) -> tuple[Database, Journal]:
    database = Database(round_.folder / "journal.db")
    record = JournalRecord(database, SystemClock(), "scripted", "scripted")
    return database, Journal(record, JournalArchive(database), Trail(database, SystemClock(), record))


def _session(round_: Round, journal: Journal, replies: list[Reply]) -> Session:
    registry = Registry(SAY, DEEDS)
    clock = SystemClock()
    return Session(
        SessionDeps(
            provider=Scripted(replies),
            model="scripted",
            dialect=by_name(round_.dialect),
            registry=registry,
            executor=Executor(registry, [Speech(), Deeds(round_.done)], clock),
            policy=Policy(round_.folder, Mode.YOLO),
            settings=Settings({}, {}),
            clock=clock,
            record=journal.record,
            audit=journal.audit,
            turn_ids=ids.counter(f"turn-{ids.unique()}-"),
        )
    )


def _replies(round_: Round) -> list[Reply]:
    """For each turn two passes that act, and a last word."""
    replies: list[Reply] = []
    for turn in range(_TURNS):
        for part in range(2):
            names = [f"deed-{round_.number}-{turn}-{part}-{number}" for number in range(2)]
            replies.append(_acting(round_.dialect, names))
        replies.append(f"Turn {turn} is over.")
    return replies


def _acting(dialect: str, names: list[str]) -> Reply:
    if dialect == "xml":
        return f'Now. <deed name="{names[0]}"/>'
    if dialect == "batch":
        return f"<execute>{json.dumps([{'name': 'deed', 'args': {'name': name}} for name in names])}</execute>"
    calls = [native_call(ids.unique("call_"), "deed", {"name": name}) for name in names]
    return ["Now. ", *(step for call in calls for step in call)]


# the process that dies


async def _live(round_: Round) -> None:
    database, journal = _journal(round_)
    session = _session(round_, journal, _replies(round_))
    if round_.statement:
        await database.run(lambda db: db.set_trace_callback(_dying(round_.statement)))
    words = ""

    def acknowledge(event: AgentEvent) -> None:
        if isinstance(event, PassStarted) and event.number == 1:
            _append(round_.told, words)

    session.subscribe(acknowledge)
    for turn in range(_TURNS):
        words = f"words-{round_.number}-{turn}"
        await session.send(words)
    await session.close()


def _dying(statement: int) -> Callable[[str], None]:
    left = statement

    def trace(_sql: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return trace


# the process that looks


@dataclass(slots=True)
class Seen:
    """What a round came to. `ready_ms` is from opening the journal to a session that can be spoken to, `work_ms` the
    processor's share of it.
    """

    faults: list[str]
    ready_ms: float
    work_ms: float
    acknowledged: int
    actions: int


async def _look(round_: Round) -> Seen:
    told, done = _lines(round_.told), _lines(round_.done)
    began, worked = time.perf_counter(), time.process_time()
    _, journal = _journal(round_)
    past = await journal.archive.conversations()
    session = _session(round_, journal, ["Going on."])
    mine = [one for one in past if one.title == f"words-{round_.number}-0"]
    if mine:
        await journal.reopen(mine[0].id, session)
    ready_ms, work_ms = (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000
    messages = list(session.history.messages)
    faults = [*_lost(told, messages), *_unwritten(done, messages), *_unanswered(messages)]
    faults += [f"{name} happened {count} times" for name, count in Counter(done).items() if count > 1]
    ended = await session.send("go on")
    if ended.outcome is not Outcome.FINISHED:
        faults.append(f"the reopened conversation cannot be gone on with: {ended.text}")
    if _lines(round_.done) != done:
        faults.append("reopening did something")
    await session.close()
    return Seen(faults, ready_ms, work_ms, len(told), len(done))


def _lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def _lost(told: list[str], messages: list[Message]) -> list[str]:
    said = Counter(part.text for message in messages for part in message.parts if isinstance(part, TextPart))
    return [f"{words} was acknowledged and is there {said[words]} times" for words in told if said[words] != 1]


def _unwritten(done: list[str], messages: list[Message]) -> list[str]:
    """Actions that happened, of which the model would not know."""
    written = "\n".join(str(part) for message in messages if message.role is Role.ASSISTANT for part in message.parts)
    return [f"{name} happened and was not written down before" for name in done if name not in written]


def _unanswered(messages: list[Message]) -> list[str]:
    faults = []
    for number, message in enumerate(messages):
        calls = [part.id for part in message.parts if isinstance(part, CallPart)]
        following = messages[number + 1].parts if number + 1 < len(messages) else ()
        answers = Counter(part.call_id for part in following if isinstance(part, ResultPart))
        faults += [f"call {name} is answered {answers[name]} times" for name in calls if answers[name] != 1]
    return faults


# rounds


def _forked(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def _killed(round_: Round) -> bool:
    """Whether it died by our hand; one that was faster than its death has simply ended."""
    pid = _forked(lambda: asyncio.run(_live(round_)))
    if not round_.statement:
        time.sleep(round_.after_s)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def _looked(round_: Round) -> Seen:
    reading, writing = os.pipe()

    def work() -> None:
        seen = asyncio.run(_look(round_))
        os.write(writing, json.dumps(asdict(seen)).encode())

    pid = _forked(work)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    if not text:
        return Seen(["the reopening process failed"], 0.0, 0.0, 0, 0)
    return Seen(**json.loads(text))


def _whole(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        answer = str(db.execute("pragma integrity_check").fetchone()[0])
        findings = verify(db, ChainHead(folder / "journal.head").read())
    faults = [f"audit entry {finding.number}: {finding.sentence}" for finding in findings]
    return faults if answer == "ok" else [f"integrity: {answer}", *faults]


def main() -> int:
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("rounds", nargs="?", type=int, default=1000)
    told.add_argument("seed", nargs="?", type=int, default=1)
    options = told.parse_args()
    rounds, chance = options.rounds, random.Random(options.seed)
    faults: list[str] = []
    ready: list[float] = []
    work: list[float] = []
    killed = acknowledged = actions = 0
    with tempfile.TemporaryDirectory(prefix="killbox-") as name:
        for number in range(rounds):
            statement = chance.randrange(1, _MOST_STATEMENTS) if number % 2 else 0
            dialect = _DIALECTS[number % len(_DIALECTS)]
            round_ = Round(number, Path(name), dialect, chance.uniform(0.0, _LONGEST_S), statement)
            killed += _killed(round_)
            seen = _looked(round_)
            faults += [f"round {number} ({dialect}): {fault}" for fault in seen.faults]
            ready.append(seen.ready_ms)
            work.append(seen.work_ms)
            acknowledged += seen.acknowledged
            actions += seen.actions
        faults += _whole(Path(name))
    for fault in faults:
        print(fault)
    late = sum(one > _READY_MS for one in ready)
    print(
        f"{rounds} rounds, {killed} killed in the middle: {acknowledged} messages acknowledged, {actions} actions, "
        f"{len(faults)} faults; ready after {statistics.median(ready):.0f} ms (median), {max(ready):.0f} ms (longest), "
        f"{late} times later than {_READY_MS:.0f} ms; of that the processor worked {statistics.median(work):.0f} ms "
        f"(median), {max(work):.0f} ms (longest)"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
