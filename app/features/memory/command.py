"""`wisp memory`: list, export and delete the facts and rules that Wisp keeps about the person."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence

from app import options as shared
from app.base import ids
from app.base.clock import SystemClock
from app.base.errors import WispError
from app.features.memory.store import Fact, FactStore, standard_facts

_LISTED = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    listed = what.add_parser("list", help="list the newest facts (`wisp memory` alone does it, too)")
    listed.add_argument("words", nargs="*", help="only facts that fit these words, the best first")
    listed.add_argument("--last", type=shared.count, default=_LISTED, metavar="N", help="list at most N")
    export = what.add_parser("export", help="print all facts as Markdown")
    export.add_argument(
        "--json", action="store_true", help="print them as JSON, with everything that Wisp keeps of each"
    )
    profile = what.add_parser("profile", help="show your profile: facts that every conversation begins with")
    profile.add_argument(
        "--on", action="store_true", help="make a profile from what Wisp remembers; Wisp asks you first"
    )
    profile.add_argument("--off", action="store_true", help="use no profile any more; the facts stay")
    shared.add_yes_option(profile)
    forget = what.add_parser("forget", help="forget facts for good")
    forget.add_argument("id", nargs="+", help="its number, as `wisp memory` lists it, or all")
    shared.add_yes_option(forget)


def run(options: argparse.Namespace) -> int:
    memory = standard_facts(SystemClock())
    try:
        if options.what == "export":
            print(_exported(memory.all()[::-1], as_json=options.json))
        elif options.what == "profile":
            return _profile(memory, options)
        elif options.what == "forget":
            known = len(memory.all())
            many = "Forget all {count} facts for good?"
            is_all = known and options.id == ["all"]
            if is_all and not shared.is_agreed("Forget {count} fact for good?", options, many=many, count=known):
                return 1
            gone = [] if memory.is_empty else memory.forget(_numbers(memory, options.id), ids.unique("run-"))
            shared.say("{count} fact was forgotten.", many="{count} facts were forgotten.", count=len(gone))
        else:
            words, most = " ".join(getattr(options, "words", [])), getattr(options, "last", _LISTED)
            found = memory.search(words, most) if words else memory.all(most)
            if not found:
                shared.say("Wisp remembers nothing about that." if words else "Wisp remembers nothing yet.")
            for fact in found:
                print(f"{fact.line()}{' [rule]' if fact.kind == 'rule' else ''}")
    finally:
        memory.close()
    return 0


def _profile(memory: FactStore, options: argparse.Namespace) -> int:
    if options.off:
        if not memory.is_empty:
            memory.set_profile([])
        shared.say("The profile is off. The facts stay.")
        return 0
    current = [] if memory.is_empty else memory.profile()
    if not options.on:
        for fact in current:
            print(fact.line())
        if not current:
            shared.say("The profile is off. To make one: wisp memory profile --on")
        return 0
    proposed = [] if memory.is_empty else memory.proposed_profile()
    if not proposed:
        shared.say("Wisp remembers nothing yet, so there is no profile.")
        return 1
    print("\n".join(fact.line() for fact in proposed))
    if not shared.is_agreed("May every conversation begin with these facts?", options):
        return 1
    memory.set_profile([fact.id for fact in proposed])
    shared.say("The profile is on. To add facts that come later: wisp memory profile --on")
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
