"""`wisp history`: list, show, export and delete past conversations."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import sys

from app import options as shared
from app.agent.recording import ExportFormat, PastConversation
from app.base.clipping import counted
from app.history.archive import JournalArchive
from app.history.archive import archive as open_archive

_LISTED = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    listed = what.add_parser("list", help="the newest conversations (what `wisp history` alone does)")
    listed.add_argument("words", nargs="*", help="only those in which these words stand")
    listed.add_argument("--last", type=shared.count, default=_LISTED, metavar="N", help="how many")
    show = what.add_parser("show", help="a whole conversation, as Markdown")
    export = what.add_parser("export", help="a whole conversation, as JSON")
    delete = what.add_parser("delete", help="forget conversations for good")
    for command in (show, export):
        command.add_argument("id", help="as `wisp history` lists it")
    delete.add_argument("id", nargs="+", help="as `wisp history` lists it, or `all`, which asks first")
    shared.add_yes_option(delete)


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_carry_out(options))


async def _carry_out(options: argparse.Namespace) -> int:
    async with open_archive() as archive:
        if options.what in ("show", "export"):
            form = ExportFormat.MARKDOWN if options.what == "show" else ExportFormat.JSON
            sys.stdout.write(await archive.export(options.id, form))
        elif options.what == "delete":
            return await _delete(archive, options)
        else:
            words = " ".join(getattr(options, "words", []))
            found = await archive.conversations(words, getattr(options, "last", _LISTED))
            if not found:
                print("No conversation has these words." if words else "No conversation is kept yet.")
            for past in found:
                print(_line(past))
    return 0


async def _delete(archive: JournalArchive, options: argparse.Namespace) -> int:
    is_all = options.id == ["all"]
    ids = [past.id for past in await archive.conversations(limit=-1)] if is_all else options.id
    if is_all and ids and not shared.is_agreed(f"Delete {counted(len(ids), 'conversation')} for good?", options):
        print("Nothing was deleted. With --yes all are deleted without this question.")
        return 1
    for name in ids:
        await archive.delete(name)
    print(f"Deleted: {len(ids)}")
    return 0


def _line(past: PastConversation) -> str:
    at = datetime.datetime.fromtimestamp(past.changed_at).strftime("%Y-%m-%d %H:%M")
    cost = "" if not past.cost_usd else f"  ${past.cost_usd:.2f}"
    turns = "1 turn " if past.turns == 1 else f"{past.turns} turns"
    return f"{past.id}  {at}  {turns:>9}{cost}  {past.title}"
