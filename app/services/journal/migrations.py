"""Brings a database to the shape this program knows, one step a version; `PRAGMA user_version` counts them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.base import paths
from app.base.errors import NeedsPerson


def steps() -> list[Path]:
    """The steps in order: the first makes version 1 of nothing, the last makes what this program reads."""
    return sorted((paths.resources() / "journal").glob("*.sql"), key=lambda step: int(step.stem))


def migrate(connection: sqlite3.Connection) -> None:
    """All steps that are wanting, each in a transaction of its own.

    Raises NeedsPerson where the database is newer than this program: it is left as it is.
    """
    known = steps()
    version = _version(connection)
    if version > len(known):
        raise NeedsPerson(
            f"The journal was written by a newer Wisp (version {version}; this one knows {len(known)}). "
            "It is left as it is, and nothing is kept until Wisp is brought up to date."
        )
    for number in range(version + 1, len(known) + 1):
        _step(connection, number, known[number - 1].read_text(encoding="utf-8"))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def _step(connection: sqlite3.Connection, number: int, script: str) -> None:
    """Unless another process has done it meanwhile: who comes second waits for the lock, and looks again."""
    connection.execute("begin immediate")
    try:
        if _version(connection) < number:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def _statements(script: str) -> list[str]:
    """One at a time: `executescript` would commit before it begins."""
    found, gathered = [], ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            found.append(gathered)
            gathered = ""
    return found
