"""`wisp memory`: the facts and rules that Wisp keeps about the person, listed, handed out and forgotten."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence

from app.assembly import memory as open_memory
from app.base import ids
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.base.texts import counted
from app.commands import options as shared
from app.services.memory import Fact, FactStore

_LISTED = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    listed = what.add_parser("list", help="the newest facts (what `wisp memory` alone does)")
    listed.add_argument("words", nargs="*", help="only those that fit these words, the best first")
    listed.add_argument("--last", type=shared.count, default=_LISTED, metavar="N", help="how many")
    export = what.add_parser("export", help="all facts as Markdown")
    export.add_argument("--json", action="store_true", help="as JSON, with everything that is kept of each")
    forget = what.add_parser("forget", help="remove facts for good")
    forget.add_argument("id", nargs="+", help="as `wisp memory list` numbers them, or `all`, which asks first")
    shared.add_yes_option(forget)


def run(options: argparse.Namespace) -> int:
    memory = open_memory(SystemClock())
    try:
        if options.what == "export":
            print(_exported(memory.all()[::-1], as_json=options.json))
        elif options.what == "forget":
            known = len(memory.all())
            if known and options.id == ["all"] and not shared.is_agreed(f"Forget {counted(known, 'fact')}?", options):
                print("Nothing was forgotten. With --yes all is forgotten without this question.")
                return 1
            gone = [] if memory.is_empty else memory.forget(_numbers(memory, options.id), ids.unique("run-"))
            print(f"{counted(len(gone), 'fact').capitalize()} forgotten.")
        else:
            words, most = " ".join(getattr(options, "words", [])), getattr(options, "last", _LISTED)
            found = memory.search(words, most) if words else memory.all(most)
            if not found:
                print("Nothing of that is remembered." if words else "Nothing is remembered yet.")
            for fact in found:
                print(f"{fact.line()}{' [rule]' if fact.kind == 'rule' else ''}")
    finally:
        memory.close()
    return 0


def _numbers(memory: FactStore, given: Sequence[str]) -> list[int]:
    if list(given) == ["all"]:
        return [fact.id for fact in memory.all()]
    numbers = [one.removeprefix("#") for one in given]
    if wrong := next((one for one in numbers if not one.isdecimal()), ""):
        raise WispError(f"{wrong!r} is no number of a fact: wisp memory list shows them.")
    return [int(one) for one in numbers]


def _exported(facts: Sequence[Fact], *, as_json: bool) -> str:
    if as_json:
        return json.dumps([dataclasses.asdict(fact) for fact in facts], ensure_ascii=False, indent=1)
    parts = []
    for kind, heading in (("rule", "Rules"), ("fact", "Facts")):
        lines = [f"- {fact.line()}" for fact in facts if fact.kind == kind]
        parts += ["\n".join([f"# {heading}", "", *lines])] if lines else []
    return "\n\n".join(parts)
