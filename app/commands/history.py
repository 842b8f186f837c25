"""`wisp history`: list, show, export and delete past conversations."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import sys

from app import options as shared
from app.agent.recording import ExportFormat, PastConversation
from app.history.archive import JournalArchive
from app.history.archive import archive as open_archive

_LISTED = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    listed = what.add_parser("list", help="list the newest conversations (`wisp history` alone does it, too)")
    listed.add_argument("words", nargs="*", help="only conversations with these words")
    listed.add_argument("--last", type=shared.count, default=_LISTED, metavar="N", help="list at most N")
    show = what.add_parser("show", help="print a conversation as Markdown")
    export = what.add_parser("export", help="print a conversation as JSON")
    delete = what.add_parser("delete", help="delete conversations for good")
    for command in (show, export):
        command.add_argument("id", help="its id, as `wisp history` lists it")
    delete.add_argument("id", nargs="+", help="its id, as `wisp history` lists it, or all")
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
                shared.say("No conversation has these words." if words else "There is no conversation yet.")
            for past in found:
                print(_line(past))
    return 0


async def _delete(archive: JournalArchive, options: argparse.Namespace) -> int:
    is_all = options.id == ["all"]
    ids = [past.id for past in await archive.conversations(limit=-1)] if is_all else options.id
    if (
        is_all
        and ids
        and not shared.is_agreed(
            "Delete {count} conversation for good?",
            options,
            many="Delete all {count} conversations for good?",
            count=len(ids),
        )
    ):
        return 1
    for name in ids:
        await archive.delete(name)
    shared.say("{count} conversation was deleted.", many="{count} conversations were deleted.", count=len(ids))
    return 0


def _line(past: PastConversation) -> str:
    at = datetime.datetime.fromtimestamp(past.changed_at).strftime("%Y-%m-%d %H:%M")
    cost = "" if not past.cost_usd else f"  ${past.cost_usd:.2f}"
    turns = "1 task " if past.turns == 1 else f"{past.turns} tasks"
    return f"{past.id}  {at}  {turns:>9}{cost}  {past.title}"
