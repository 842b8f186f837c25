"""Many turns with screenshots in one process: does anything grow?

    .venv/bin/python scripts/bench/soak.py [TURNS]
    .venv/bin/python scripts/bench/soak.py --acts 2000

The assembled assistant on a private X server, a model that looks at the screen and then answers, no pauses. Every
fiftieth turn begins a conversation anew, as a person does now and then. Prints memory, descriptors, threads, and what
the X server holds for all its clients, from the first tenth on (until then caches fill), and fails where they grow.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from Xlib.display import Display
from Xlib.ext import res

from app.agent.agent_events import Outcome
from app.assistant import Assistant, assemble
from app.desktop.x11.virtual import VirtualDesktop
from app.protocol.call import JsonValue
from app.providers import profiles
from app.providers.api import Request, Stopped, StreamEvent, TextDelta, Usage
from app.settings.store import Settings
from tests.support.co_process import CoProcess
from tests.support.fixture_window import FixtureWindow

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


def _sample(turns: int, display: Display, pid: int | None = None) -> Sample:
    gc.collect()
    process = psutil.Process(pid)
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
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("turns", nargs="?", type=int, default=10_000)
    told.add_argument("--acts", type=int, metavar="N", help="instead: N mixed acts of one `wisp tool`")
    options = told.parse_args()
    return _played(options.acts) if options.acts else _soaked(options.turns)


def _played(acts: int) -> int:
    with tempfile.TemporaryDirectory(prefix="soak-") as home, VirtualDesktop(1280, 800) as virtual:
        samples, left = play(dict(virtual.environment) | {"WISP_DATA_DIR": home, "HOME": home}, acts)
    half = len(samples) // 2
    found = [f"memory grew by {_grown(samples):.1f} MB"] if _grown(samples) > _MOST_MB else []
    for name in ("descriptors", "threads", "x_resources"):  # some come and go with an act
        before = max(getattr(one, name) for one in samples[:half])
        after = min(getattr(one, name) for one in samples[half:])
        found += [f"{name} grew from {before} to {after}"] if after > before else []
    found += left
    print("\n".join([f"{acts} acts: memory {_grown(samples):+.1f} MB", *found]))
    return int(bool(found))


def play(environment: Mapping[str, str], acts: int) -> tuple[list[Sample], list[str]]:
    """Looks, clicks, texts, keys and readings of one `wisp tool`; samples of it, and the files that it left behind."""
    home = Path(environment["WISP_DATA_DIR"])
    samples: list[Sample] = []
    display = Display(environment["DISPLAY"])
    with FixtureWindow("text", environment=environment) as window, CoProcess(environment) as wisp:
        mixed: tuple[tuple[str, dict[str, JsonValue]], ...] = (
            ("screen_capture", {}),
            ("computer_click", {"x": 300, "y": 200, "space": "screen"}),
            ("computer_type", {"text": "a line of text"}),
            ("computer_key", {"keys": "ctrl+a"}),
            ("computer_key", {"keys": "Delete"}),
            ("read_screen", {}),
            ("list_windows", {}),
            ("computer_scroll", {"x": 300, "y": 200, "space": "screen", "direction": "down"}),
        )
        every = max(acts // _SAMPLES, 1)
        for number in range(1, acts + 1):
            tool, arguments = mixed[number % len(mixed)]
            wisp.attempt(tool, arguments)
            window.forget()
            if number % every == 0:
                samples.append(_sample(number, display, wisp.pid))
                print(samples[-1].line(), flush=True)
    display.close()
    left = [f"left behind: {file}" for file in home.rglob("*") if file.suffix in (".jpg", ".png", ".tmp")]
    return samples, left


def _soaked(turns: int) -> int:
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
