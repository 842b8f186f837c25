"""Memories that hold many facts, and questions about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from app.base.clock import SystemClock
from app.features.memory.store import Fact, FactStore
from app.services.fact_search import stems_of

DATA = Path(__file__).resolve().parents[1] / "data" / "memory"


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
