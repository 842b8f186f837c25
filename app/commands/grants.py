"""`wisp grants`: list what Wisp may always use, allow a program or host, take something back."""

from __future__ import annotations

import argparse
import sys

from app.agent import asking
from app.agent.policy import Need, Subject
from app.agent.policy.grants import SavedGrants
from app.agent.policy.programs import tier_of
from app.base.errors import ToolMisuse, WispError
from app.desktop.choose import programs_here
from app.desktop.programs import choose, owner_of
from app.services.web.addresses import read, why_refused

_MISUSED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = parser.add_subparsers(dest="what", metavar="WHAT")
    words.add_parser("list", help="what Wisp may always use (what `wisp grants` alone does)")
    allow = words.add_parser("allow", help="let Wisp always use a program or a host")
    allow.add_argument("name", help="a program as in “Text Editor”, or a host as in example.com")
    revoke = words.add_parser("revoke", help="take back what Wisp may always use")
    revoke.add_argument("name", help="as the list names it")


def run(options: argparse.Namespace) -> int:
    saved = SavedGrants()
    if options.what == "allow":
        need = _need(options.name)
        saved.add([need])
        print(f"Wisp may always use {need.name}. To take it back: wisp grants revoke {need.name!r}")
        if note := asking.of_tier(need.tier):
            print(note)
        return 0
    if options.what == "revoke":
        gone = saved.remove(options.name)
        print(f"Taken back: {', '.join(one.name for one in gone)}." if gone else "Nothing of that name is allowed.")
        return 0 if gone else _MISUSED
    for one in saved.all():
        print(f"{one.subject.value:8}  {one.name}  (since {one.since})")
    if saved.problem:
        print(f"wisp: {saved.problem}", file=sys.stderr)
        return 1
    if not saved.all():
        print("Nothing is always allowed.")
    return 0


def _need(name: str) -> Need:
    """Return what to allow: the installed program of that name, else the host. Raises ToolFailed if it is neither."""
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
