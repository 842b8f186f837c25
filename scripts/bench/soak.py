"""Many turns with screenshots in one process: does anything grow?

    .venv/bin/python scripts/bench/soak.py [TURNS]

The assembled assistant on a private X server, a model that looks at the screen and then answers, no pauses. Every
fiftieth turn begins a conversation anew, as a person does now and then. Prints memory, descriptors, threads, and what
the X server holds for all its clients, from the first tenth on (until then caches fill), and fails where they grow.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from Xlib.display import Display
from Xlib.ext import res

from app.agent.agent_events import Outcome
from app.assistant import Assistant, assemble
from app.desktop.x11.virtual import VirtualDesktop
from app.providers import profiles
from app.providers.api import Request, Stopped, StreamEvent, TextDelta, Usage
from app.settings.store import Settings

_REPLIES = ("<say>I look.</say><screen_capture/>", "I see the desktop, and nothing to do.")
_ANEW = 50
_SAMPLES = 10
_MOST_MB = 20.0


class Endless:
    """Looks, then answers, for ever; keeps nothing of what it was asked."""

    name = "scripted"

    def __init__(self) -> None:
        self._asked = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        text = _REPLIES[self._asked % len(_REPLIES)]
        self._asked += 1
        yield TextDelta(text)
        yield Usage(len(request.messages) * 10, 10)
        yield Stopped("end_turn")

    async def models(self) -> tuple[str, ...]:
        return (self.name,)

    async def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process and the X server hold."""

    turns: int
    memory_mb: float
    descriptors: int
    threads: int
    x_resources: int

    def line(self) -> str:
        return (
            f"{self.turns:>7} {self.memory_mb:>9.1f} MB {self.descriptors:>5} descriptors {self.threads:>4} threads "
            f"{self.x_resources:>6} X resources"
        )


def _sample(turns: int, display: Display) -> Sample:
    gc.collect()
    process = psutil.Process()
    clients = res.query_clients(display).clients
    held = sum(
        kind.count for client in clients for kind in res.query_client_resources(display, client.resource_base).types
    )
    return Sample(turns, process.memory_info().rss / 1e6, process.num_fds(), process.num_threads(), held)


async def _soak(assistant: Assistant, turns: int, display: Display) -> list[Sample]:
    samples: list[Sample] = []
    every = max(turns // _SAMPLES, 1)
    for turn in range(1, turns + 1):
        ended = await assistant.send(f"What is on the screen now, for the {turn}. time?")
        if ended.outcome is not Outcome.FINISHED:
            raise SystemExit(f"turn {turn} ended {ended.outcome.value}: {ended.text}")
        if turn % _ANEW == 0:
            assistant.begin_anew()
        if turn % every == 0:
            samples.append(_sample(turn, display))
            print(samples[-1].line(), flush=True)
    return samples


def _grown(samples: list[Sample]) -> float:
    """The most memory of the second half over the most of the first, in MB: pictures come and go in between."""
    half = len(samples) // 2
    return max(one.memory_mb for one in samples[half:]) - max(one.memory_mb for one in samples[:half])


def _faults(samples: list[Sample]) -> list[str]:
    """What grew between the first sample and the last."""
    first, last = samples[0], samples[-1]
    grown = _grown(samples)
    found = [f"memory grew by {grown:.1f} MB"] if grown > _MOST_MB else []
    for name in ("descriptors", "threads", "x_resources"):
        before, after = getattr(first, name), getattr(last, name)
        if after > before:
            found.append(f"{name} grew from {before} to {after}")
    return found


def main() -> int:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="soak-") as name, VirtualDesktop(1280, 800) as virtual:
        os.environ.update(virtual.environment)
        os.environ["WISP_DATA_DIR"] = name
        settings = Settings({"model.provider": "offline", "files.workspace": name}, {})
        choose = profiles.choose
        profiles.choose = lambda chosen: replace(choose(chosen), provider=Endless())
        display = Display(virtual.environment["DISPLAY"])
        began = time.monotonic()

        async def run() -> list[Sample]:
            assistant = assemble(settings)
            try:
                return await _soak(assistant, turns, display)
            finally:
                await assistant.close()

        samples = asyncio.run(run())
        took_s = time.monotonic() - began
        size_mb = sum(file.stat().st_size for file in Path(name).rglob("journal*")) / 1e6
        display.close()
    found = _faults(samples)
    for fault in found:
        print(fault)
    print(
        f"{turns} turns in {took_s:.0f} s: memory {_grown(samples):+.1f} MB, "
        f"descriptors {samples[-1].descriptors - samples[0].descriptors:+d}, "
        f"threads {samples[-1].threads - samples[0].threads:+d}, "
        f"X resources {samples[-1].x_resources - samples[0].x_resources:+d}; the journal holds {size_mb:.1f} MB"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
