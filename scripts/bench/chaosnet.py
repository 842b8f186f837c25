"""Turns over a network that fails: twelve kinds of faults against the vendors' real clients on loopback servers.

    .venv/bin/python scripts/bench/chaosnet.py [SEEDS]

A turn is three passes: two that act outside, one that says the end. A fault hits one of them, once or twice in a row,
at a random place of the answer; then the network is well again, and the model goes on from where it was cut or begins
its call anew. Every turn must end well, every action must have happened exactly once, and the person must have been
told. Waits between tries cost no time here; silences do. Prints what went wrong and the longest turn of each kind.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.agent.agent_events import Notice, Outcome, TurnEnded
from app.agent.deps import SessionDeps
from app.agent.policy import Mode, Policy
from app.agent.session import Session
from app.base import ids
from app.protocol.call import ToolCall, ToolResult
from app.protocol.dialects.choose import by_name
from app.protocol.spec import Effect, Param, ToolSpec
from app.settings.store import Settings
from app.tools.conversation import SAY, Speech
from app.tools.executor import Executor
from app.tools.registry import Family, Registry, TurnContext
from tests.contract.providers import ANTHROPIC, OPENAI, Vendor
from tests.support.loopback.replies import Broken, Call, Drop, Fault, Part, Reply, Stall, Status, Text
from tests.support.loopback.server import Seen

_SILENCE_S = 1.5
_PATIENCE_S = 30.0
_SLACK_S = 2.0
_PASSES = 3
_WORDS = "Let us see what there is to do about it, step by step. "

Cut = Callable[[tuple[Part, ...]], Reply | Status]
KINDS: dict[str, Cut] = {
    "too many requests": lambda _: Status(429, headers={"retry-after": "1"}),
    "server error": lambda _: Status(500),
    "overloaded": lambda _: Status(529),
    "a gateway's web page": lambda _: Status(502, body="<html><body>Bad gateway</body></html>"),
    "overloaded inside the stream": lambda parts: Reply((*parts, Fault()), stop=""),
    "error inside the stream": lambda parts: Reply((*parts, Fault("api_error", "Internal server error")), stop=""),
    "dropped at once": lambda _: Reply((Drop(),), stop=""),
    "dropped in the middle": lambda parts: Reply((*parts, Drop()), stop=""),
    "silent from the start": lambda _: Reply((Stall(),), stop=""),
    "silent in the middle": lambda parts: Reply((*parts, Stall()), stop=""),
    "garbage in the stream": lambda parts: Reply((*parts, Broken()), stop=""),
    "ended without an ending": lambda parts: Reply(parts, stop=""),
}


class NoWaits:
    """The waits between tries cost nothing; all else takes its time."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, _seconds: float) -> None:
        await asyncio.sleep(0)


class Deeds:
    """A tool that acts outside; `done` is what happened."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def deed(self, call: ToolCall, _turn: TurnContext) -> ToolResult:
        self.done.append(call.text("name"))
        return ToolResult(True, "done", {}, f"{call.text('name')} is done.")


DEEDS = Family(Deeds, (ToolSpec("deed", "Do it.", Effect.WRITES, Deeds.deed, attrs=(Param("name", required=True),)),))


@dataclass(frozen=True, slots=True)
class Plan:
    """One turn: who is spoken to and how, which pass fails, how often, and where its answer is cut."""

    vendor: Vendor
    dialect: str
    kind: str
    hit: int
    times: int
    share: float
    begins_anew: bool

    @property
    def idle_s(self) -> float:
        """How long a silence may last: short only where the fault is one, because a busy machine is late by itself."""
        return _SILENCE_S if self.kind.startswith("silent") else _PATIENCE_S

    @property
    def limit_s(self) -> float:
        """How long the turn should take at most."""
        return self.times * _SILENCE_S * self.kind.startswith("silent") + _SLACK_S


class Model:
    """The model's side: it knows what it said, and goes on where it was cut."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._left = plan.times
        self._pass = 0
        self._said = ""

    def __call__(self, seen: Seen) -> Reply | Status:
        whole = self._whole()
        is_continued = "was cut off" in str(seen.body["messages"][-1])
        text = whole[len(self._said) :] if is_continued and not self._plan.begins_anew else whole
        if is_continued and self._plan.begins_anew and "<deed" in self._said:
            text = whole[whole.index("<deed") :]
        if self._pass == self._plan.hit and self._left:
            self._left -= 1
            return self._fault(text)
        self._pass += 1
        self._said = ""
        return Reply(self._parts(text), stop="tool_use" if self._calls else "end_turn")

    @property
    def _calls(self) -> tuple[Call, ...]:
        if self._plan.dialect != "native" or self._pass > _PASSES - 1:
            return ()
        return (Call("deed", {"name": f"deed-{self._pass - 1}"}, id=f"toolu_{self._pass}"),)

    def _whole(self) -> str:
        if self._pass >= _PASSES - 1:
            return f"{_WORDS}All is done."
        written = f'<deed name="deed-{self._pass}"/>'
        return _WORDS + {"xml": written, "native": ""}[self._plan.dialect]

    def _parts(self, text: str) -> tuple[Part, ...]:
        return (*((Text(text),) if text else ()), *self._calls)

    def _fault(self, text: str) -> Reply | Status:
        """The answer up to its cut. A call that is whole has run, so the cut lies before its end."""
        end = max(int((len(text) - 3) * self._plan.share), 1)
        faulty = KINDS[self._plan.kind]((Text(text[:end]),))
        if isinstance(faulty, Reply) and any(isinstance(part, Text) for part in faulty.parts):
            self._said += text[:end]
        return faulty


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a turn."""

    ended: TurnEnded
    done: list[str]
    told: list[str]
    took_s: float


async def play(plan: Plan, folder: Path) -> Played:
    deeds, told = Deeds(), []
    registry, clock = Registry(SAY, DEEDS), NoWaits()
    model = Model(plan)
    async with plan.vendor.server([model] * 20) as server:
        provider = plan.vendor.provider(server.url, plan.idle_s)
        session = Session(
            SessionDeps(
                provider=provider,
                model=plan.vendor.model,
                dialect=by_name(plan.dialect),
                registry=registry,
                executor=Executor(registry, [Speech(), deeds], clock),
                policy=Policy(folder, Mode.YOLO),
                settings=Settings({"chat.stream_idle_timeout_ms": int(plan.idle_s * 1000)}, {}),
                clock=clock,
                turn_ids=ids.counter("turn"),
            )
        )
        session.subscribe(lambda event: told.append(event.sentence) if isinstance(event, Notice) else None)
        began = time.monotonic()
        ended = await session.send("Do both, then tell me.")
        took_s = time.monotonic() - began
        await session.close()
    return Played(ended, deeds.done, told, took_s)


def faults_of(plan: Plan, played: Played) -> list[str]:
    """What the person would have had to suffer."""
    found = []
    if played.ended.outcome is not Outcome.FINISHED:
        found.append(f"it ended {played.ended.outcome.value}: {played.ended.text}")
    counts = Counter(played.done)
    found += [
        f"deed-{number} happened {counts[f'deed-{number}']} times"
        for number in range(_PASSES - 1)
        if counts[f"deed-{number}"] != 1
    ]
    if not played.told and plan.kind != "ended without an ending":
        found.append("nothing was told")
    return found


def plan_of(kind: str, seed: int) -> Plan:
    chance = random.Random(f"{kind} {seed}")
    vendor, dialect = chance.choice([(ANTHROPIC, "xml"), (ANTHROPIC, "native"), (OPENAI, "xml"), (OPENAI, "native")])
    return Plan(
        vendor,
        dialect,
        kind,
        chance.randrange(_PASSES),
        chance.choice([1, 1, 2]),
        chance.uniform(0.1, 1.0),
        chance.random() < 0.5,
    )


async def _main(seeds: int) -> int:
    failures = 0
    with tempfile.TemporaryDirectory(prefix="chaosnet-") as name:
        for kind in KINDS:
            longest, bad, late = 0.0, 0, 0
            for seed in range(seeds):
                plan = plan_of(kind, seed)
                played = await play(plan, Path(name))
                found = faults_of(plan, played)
                bad += bool(found)
                late += played.took_s > plan.limit_s
                longest = max(longest, played.took_s)
                for fault in found:
                    print(f"{kind}, seed {seed} ({plan.vendor.name}, {plan.dialect}, pass {plan.hit}): {fault}")
            failures += bad
            print(f"{kind:30} {seeds} turns, {bad} bad, longest {longest:.1f} s, {late} over silences + {_SLACK_S:g} s")
    print(f"{len(KINDS)} kinds of faults, {len(KINDS) * seeds} turns, {failures} bad")
    return int(failures > 0)


if __name__ == "__main__":
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("seeds", nargs="?", type=int, default=50, help="turns of each kind of fault; 50")
    sys.exit(asyncio.run(_main(told.parse_args().seeds)))
