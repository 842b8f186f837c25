"""`wisp grants`: list what Wisp may always use, allow a program or host, take something back."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys

from app.agent import asking
from app.agent.policy import Need, Subject
from app.agent.policy.grants import SavedGrants
from app.agent.policy.programs import tier_of
from app.base.errors import ToolMisuse, WispError
from app.desktop.choose import programs_here
from app.desktop.programs import choose, owner_of
from app.options import say
from app.services.web.addresses import read, why_refused

_MISUSED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = parser.add_subparsers(dest="what", metavar="WHAT")
    words.add_parser("list", help="list what Wisp may always use (`wisp grants` alone does it, too)")
    allow = words.add_parser("allow", help="let Wisp always use a program or a website")
    allow.add_argument("name", help="a program such as “Text Editor”, or a website such as example.com")
    revoke = words.add_parser("revoke", help="take it back, so that Wisp asks you again")
    revoke.add_argument("name", help="its name, as `wisp grants` lists it")


def run(options: argparse.Namespace) -> int:
    saved = SavedGrants()
    if options.what == "allow":
        need = _need(options.name)
        saved.add([need])
        say(
            "Wisp may always use {name}. To take it back: wisp grants revoke {quoted}",
            name=need.name,
            quoted=shlex.quote(need.name),
        )
        if note := asking.of_tier(need.tier):
            print(note)
        return 0
    if options.what == "revoke":
        gone = saved.remove(options.name)
        with contextlib.suppress(WispError):  # because it may be allowed and no program's name any more
            gone = gone or saved.remove(_need(options.name).name)
        if gone:
            say("Wisp asks you again before it uses {names}.", names=", ".join(one.name for one in gone))
        else:
            say("Wisp was not allowed to always use {name!r}. To see what it may: wisp grants", name=options.name)
        return 0 if gone else _MISUSED
    for one in saved.all():
        print(f"{one.subject.value:8}  {one.name}  (since {one.since})")
    if saved.problem:
        print(f"wisp: {saved.problem}", file=sys.stderr)
        return 1
    if not saved.all():
        say("You allow nothing for good yet. Wisp asks you each time.")
    return 0


def _need(name: str) -> Need:
    """The installed program of that name, else the host. Raises ToolFailed if it is neither."""
    apps = programs_here()
    try:
        owner = owner_of(choose(name, apps.installed(), apps.command, apps.preferred))
    except WispError:
        if "." not in name or " " in name:
            raise
        target = read(name if "://" in name else f"https://{name}")
        if target.address is not None and (why := why_refused(target.address)):
            raise ToolMisuse(f"{target.host} cannot be allowed: {why}") from None
        return Need(Subject.HOST, target.host, target.host)
    return Need(Subject.PROGRAM, owner.ref, owner.name, tier_of(owner, {}))
