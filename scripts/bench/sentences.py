"""What reading a sentence without a model costs: `.venv/bin/python -m scripts.bench.sentences`.

`reading`: every sentence of tests/data/offline, read by a process that has read all of them once. `dry run`: `wisp do
SENTENCE --dry-run --json` as a process of its own, beside an empty Python of the same run (`floor`).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from app.features import loading
from app.providers.offline.plans import understood
from app.providers.offline.world import World

_ROOT = Path(__file__).resolve().parents[2]
_WORLD = World(
    programs=("Calculator", "Mousepad", "Terminal", "File Manager", "Chromium"),
    windows=(("report.txt - Mousepad", "mousepad"), ("galculator", "galculator")),
)
_RUNS = 15


def main() -> None:
    loading.everything()
    files = sorted((_ROOT / "tests/data/offline").glob("*.toml"))
    rows = [row for file in files for row in tomllib.loads(file.read_text(encoding="utf-8"))["sentence"]]
    for row in rows:
        understood(row["say"], _WORLD)
    _tell("reading", [_timed(lambda say=row["say"]: understood(say, _WORLD)) for row in rows])  # type: ignore[misc]
    do = [sys.executable, "-m", "app", "do", "open the calculator", "--provider", "offline", "--dry-run", "--json"]
    _tell("dry run", [_timed(lambda: _run(do)) for _ in range(_RUNS)])
    _tell("floor", [_timed(lambda: _run([sys.executable, "-c", ""])) for _ in range(_RUNS)])


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, cwd=_ROOT, check=True, capture_output=True)


def _timed(work: Callable[[], object]) -> float:
    """Return how long it took, in milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def _tell(what: str, times: Sequence[float]) -> None:
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{what:8} median {statistics.median(times):7.1f} ms   p95 {p95:7.1f} ms   of {len(times)}")


if __name__ == "__main__":
    main()
