"""`wisp audit`: show what was done on this machine and who allowed it, check the record, or export it."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator
from functools import partial
from sqlite3 import Connection

from app import options as shared
from app.base.clipping import clip_line
from app.history.archive import journal_path, read_journal
from app.services.journal.audit import AuditFault, ChainHead, Sealed, entries, newest, verify

_SHOWN = 40
_LINE_CHARS = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    show = what.add_parser("show", help="show the newest entries (`wisp audit` alone does it, too)")
    show.add_argument("--last", type=shared.count, default=_SHOWN, metavar="N", help="show at most N")
    what.add_parser("verify", help="check whether somebody changed or removed an entry; exit code 1 if so")
    what.add_parser("export", help="print all entries as JSON lines, the oldest first")


def run(options: argparse.Namespace) -> int:
    what = {"verify": _verify, "export": _export}.get(
        options.what or "", partial(_show, getattr(options, "last", _SHOWN))
    )
    return what()


def _show(last: int) -> int:
    for one in read_journal(partial(newest, limit=last)):
        print(_line(one))
    return 0


def _line(one: Sealed) -> str:
    at = datetime.datetime.fromtimestamp(one.entry.at).strftime("%Y-%m-%d %H:%M:%S")
    details = json.loads(one.entry.details)
    by = details.pop("by", "")
    client = details.pop("client", "")
    rule = details.pop("rule", "")
    who = f" by {by}{f' ({rule})' if rule else ''}" if by else ""
    tool = details.pop("tool", "")
    told = " ".join(f"{name}={_plain(value)}" for name, value in details.items())
    for_whom = f" for {client}" if client else ""
    return f"{one.number:>6}  {at}  " + clip_line(f"{one.entry.kind}{for_whom}{who}: {tool} {told}", _LINE_CHARS)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _verify() -> int:
    count, findings = read_journal(_verified)
    for finding in findings:
        print(f"entry {finding.number}: {finding.sentence}")
    if findings:
        shared.say("Not as Wisp wrote them: {faults} of {count} entries.", faults=len(findings), count=count)
    else:
        shared.say("All {count} entries are as Wisp wrote them.", count=count)
    return int(bool(findings))


def _verified(db: Connection) -> tuple[int, list[AuditFault]]:
    head_path = journal_path().with_suffix(".head")
    try:
        head = ChainHead(head_path).read()
    except ValueError:
        return _counted(db), [AuditFault(0, f"The note of the newest entry, {head_path}, holds something else.")]
    return _counted(db), verify(db, head)


def _counted(db: Connection) -> int:
    return int(db.execute("select count(*) from audit").fetchone()[0])


def _export() -> int:
    for line in read_journal(lambda db: list(_lines(db))):
        sys.stdout.write(line)
    return 0


def _lines(db: Connection) -> Iterator[str]:
    for one in entries(db):
        entry = one.entry
        tree = {
            "number": one.number,
            "at": entry.at,
            "kind": entry.kind,
            "conversation": entry.conversation,
            "turn": entry.turn,
            "details": json.loads(entry.details),
            "previous": one.previous,
            "hash": one.hash,
        }
        yield json.dumps(tree, ensure_ascii=False) + "\n"
