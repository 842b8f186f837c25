"""How long remembering and recalling take, with many facts.

`python -m scripts.bench.memory [--facts 100000] [--meaning]` prints medians and the 95th percentile in milliseconds.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from app.base.clock import SystemClock
from app.features.memory.store import Fact, FactStore
from app.services.fact_search import stems_of

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "memory"


def questions() -> list[tuple[str, str, str]]:
    """A fact, a question in its words, a question in other words."""
    lines = (DATA / "questions.txt").read_text(encoding="utf-8").splitlines()
    rows = [[part.strip() for part in line.split("|")] for line in lines if not line.startswith("#")]
    return [(fact, literal, other) for fact, literal, other in rows]


def filled(folder: Path, count: int) -> FactStore:
    """A memory with the facts of the questions, and as many others."""
    others = (DATA / "others.txt").read_text(encoding="utf-8").splitlines()
    texts = [fact for fact, _, _ in questions()]
    texts += [f"{others[number % len(others)][:-1]}, note {number}." for number in range(count - len(texts))]
    return opened_with(folder / "memory.db", [Fact(0, "fact", text, "person", "", 1.0, "bench") for text in texts])


def opened_with(path: Path, facts: Sequence[Fact]) -> FactStore:
    """A memory that holds these facts. One transaction adds them, because a `keep` waits for the disk each time."""
    memory = FactStore(path, SystemClock())
    memory.keep(facts[0])
    with closing(sqlite3.connect(path)) as db, db:
        for fact in facts[1:]:
            values = (fact.kind, fact.text, fact.said_by, fact.quote, fact.at, fact.turn)
            row = db.execute(
                "insert into facts (kind, text, said_by, quote, at, turn) values (?, ?, ?, ?, ?, ?)", values
            ).lastrowid
            db.execute("insert into words (rowid, stems) values (?, ?)", (row, stems_of(fact.text)))
    return memory


def measure(act: Callable[[str], object], asked: list[str]) -> list[float]:
    """Milliseconds of each."""
    took = []
    for question in asked:
        begun = time.perf_counter()
        act(question)
        took.append(1000 * (time.perf_counter() - begun))
    return took


def report(name: str, took: list[float]) -> str:
    return f"{name:<28} median {statistics.median(took):6.2f} ms   p95 {sorted(took)[int(0.95 * len(took))]:6.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--meaning", action="store_true", help="with the extra that finds facts by their meaning")
    given = parser.parse_args()
    count, with_meanings = given.facts, given.meaning
    with tempfile.TemporaryDirectory() as folder:
        memory = filled(Path(folder), count)
        if not with_meanings:
            memory.meanings = None
        elif memory.meanings:
            print(f"{memory.meanings.learn()} vectors made")
        asked = [question for _, *both in questions() for question in both]
        memory.search(asked[0])
        print(f"{count} facts")
        print(report("recall, three answers", measure(lambda question: memory.search(question, 3), asked)))
        print(report("recall for the prompt", measure(lambda text: memory.search(text, 12, only_strong=True), asked)))
        facts = [f"Something new, number {number}." for number in range(20)]
        keep = measure(lambda text: memory.keep(Fact(0, "fact", text, "person", "", 0.0, "bench")), facts)
        print(report("remember", keep))
        print(report("forget", measure(lambda number: memory.forget([int(number)], "bench"), ["7", "8", "9"])))
        memory.close()


if __name__ == "__main__":
    main()
