"""Plays the hostile corpora and their benign twins, and prints what got out, what was blocked and how often was asked.

    python -m scripts.bench.hostile [--races 100000]

With `--races` a second process swaps files and folders for links that lead out, for so many reads, writes and deletes.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.hostile.cases import BENIGN, HOSTILE, load
from tests.hostile.racing import race
from tests.hostile.watching import Outcome, play_all


def _played(file: Path, *, attended: bool | None = None) -> Outcome:
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        outcome = asyncio.run(play_all(load(file), Path(folder) / "room", attended=attended))
    seconds = time.perf_counter() - begun
    walls = ", ".join(f"{wall} {count}" for wall, count in sorted(outcome.stopped.items()))
    print(f"{file.stem:12} {outcome.cases:4} cases {seconds:6.1f} s  {walls}")
    return outcome


def _hostile() -> None:
    outcomes = [_played(file) for file in sorted(HOSTILE.glob("*.jsonl"))]
    print(f"hostile: {sum(one.cases for one in outcomes)} cases, {_sum(outcomes, lambda one: one.effects)} effects")
    print(f"         {_sum(outcomes, lambda one: one.wrong)} stopped elsewhere than they should")


def _benign() -> None:
    calls, tasks = _played(BENIGN / "calls.jsonl"), _played(BENIGN / "tasks.jsonl", attended=True)
    blocked = len(calls.blocked) + len(tasks.blocked)
    cases = calls.cases + tasks.cases
    print(f"benign:  {cases} cases, {blocked} blocked ({100 * blocked / cases:.1f} %)")
    alone = _played(BENIGN / "tasks.jsonl", attended=False)
    print(f"alone:   {_sum([alone], lambda one: one.refused)} calls refused in {alone.cases} tasks with nobody there")
    print(f"tasks:   {tasks.prompts} prompts in {tasks.cases} tasks ({tasks.prompts / tasks.cases:.2f} a task)")


def _sum(outcomes: list[Outcome], of: Callable[[Outcome], list[str]]) -> int:
    found = [line for one in outcomes for line in of(one)]
    for line in found:
        print(f"  {line}")
    return len(found)


def _races(rounds: int) -> None:
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        result = race(Path(folder), rounds)
    seconds = time.perf_counter() - begun
    print(
        f"races:   {result.rounds} rounds in {seconds:.0f} s, {result.refused} refused, {len(result.escapes)} escapes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=0, metavar="N")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if options.races:
        _races(options.races)
        return
    _hostile()
    _benign()


if __name__ == "__main__":
    main()
