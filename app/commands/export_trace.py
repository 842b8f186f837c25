"""`wisp export-trace`: print what happened in a task, or in a whole conversation, as a trace of OpenTelemetry."""

from __future__ import annotations

import argparse
import sys
from sqlite3 import Connection

from app.base.errors import WispError
from app.base.phrases import Phrase
from app.base.version import version
from app.history import trace
from app.history.archive import read_journal
from app.options import words_here
from app.services.journal import rows

_NEWEST = "last"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        help="the id of a conversation, as `wisp history` lists it, or of one of its tasks; or last: the newest task",
    )
    words = words_here()
    parser.epilog = words(
        "Each line is one span in OpenTelemetry's JSON (OTLP), which its Collector and other tools read: the task, "
        "each answer of the model, and each call of a tool, with times, arguments, results and tokens. Secrets are "
        "left out. The history holds no pictures, so there are none here."
    )


def run(options: argparse.Namespace) -> int:
    def found(db: Connection) -> list[str]:
        turns = rows.newest_turn(db) if options.id == _NEWEST else rows.turns(db, options.id)
        return trace.lines(db, turns, version())

    told = read_journal(found)
    if not told:
        if options.id == _NEWEST:
            raise WispError("There is no conversation yet.")
        raise WispError(
            Phrase("No conversation and no task has the id {id!r}. To list them: wisp history", {"id": options.id})
        )
    for line in told:
        sys.stdout.write(f"{line}\n")
    return 0
