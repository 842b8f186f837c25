"""How long the offline provider takes to read a sentence, with 200 programs there.

scripts/bench/reading.py

Prints the first sentence of a process, then the median and the 95th percentile of those of the tests' tables, by kind.
"""

from __future__ import annotations

import statistics
import sys
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from app.providers.offline import plans  # noqa: E402
from app.providers.offline.world import World  # noqa: E402

_WORLD = World(
    tuple(f"program number {number}" for number in range(200)),
    (("report.txt - Mousepad", "mousepad"),),
)
_TABLES = ("sentences", "held_out")


def _timed(say: str) -> float:
    began = time.perf_counter()
    plans.understood(say, _WORLD)
    return (time.perf_counter() - began) * 1000


def _shown(name: str, taken: Iterable[float]) -> str:
    times = sorted(taken)
    return f"{name:10} median {statistics.median(times):6.1f} ms   p95 {times[int(len(times) * 0.95) - 1]:6.1f} ms"


def main() -> None:
    print(f"first      {_timed('open the calculator'):6.1f} ms")
    by_kind: dict[str, list[str]] = {}
    for table in _TABLES:
        told = tomllib.loads((ROOT / "tests" / "data" / "offline" / f"{table}.toml").read_text(encoding="utf-8"))
        for row in told["sentence"]:
            by_kind.setdefault(row.get("kind", table), []).append(row["say"])
    for say in (say for said in by_kind.values() for say in said):
        _timed(say)  # hassil reads a template when it is first needed
    for kind, said in by_kind.items():
        print(_shown(kind, map(_timed, said)))


if __name__ == "__main__":
    main()
