"""`wisp features`: list what can be left out, switch it on or off, and agree to what other packages add."""

from __future__ import annotations

import argparse

from app import options as shared
from app.base.errors import NeedsPerson
from app.features import loading
from app.settings import store
from app.settings.catalog import FEATURES_AGREED, listed

_NAME_CHARS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="all abilities, and which are on (what `wisp features` alone does)")
    for name, about in (("on", "switch one on again"), ("off", "leave one out, from the next start on")):
        what.add_parser(name, help=about).add_argument("name", help="as `wisp features list` names it")
    allow = what.add_parser("allow", help="let another package add abilities; its code then runs as a part of Wisp")
    shared.add_yes_option(allow)
    forbid = what.add_parser("forbid", help="take that back, from the next start on")
    for parser_of_package in (allow, forbid):
        parser_of_package.add_argument("name", help="the name of the package")


def run(options: argparse.Namespace) -> int:
    match options.what:
        case "on" | "off":
            return _switch(options.name, is_on=options.what == "on")
        case "allow":
            return _allow(options)
        case "forbid":
            return _forbid(options.name)
    _list()
    return 0


def _list() -> None:
    problems = loading.problems()
    for feature in loading.everything():
        state = "failed" if feature.name in problems else "on" if loading.is_wanted(feature) else "off"
        print(f"{feature.name:<{_NAME_CHARS}} {state:<7} {feature.about.said()}")
    for name, why in problems.items():
        print(f"{name} failed: {why}")
    for package in loading.waiting():
        told = f"{', '.join(package.names)}, of the package {package.name} {package.version}: {package.about}"
        print(f"not agreed to: {told}\n  wisp features allow {package.name}")


def _switch(name: str, *, is_on: bool) -> int:
    loading.switch(name, is_on=is_on)
    print(f"{name} is {'on' if is_on else 'off'} from the next start on.")
    return 0


def _allow(options: argparse.Namespace) -> int:
    installed = {one.name: one for one in loading.packages()}
    if (package := installed.get(options.name)) is None:
        known = ", ".join(installed) or "none"
        raise NeedsPerson(f"No package {options.name!r} with abilities for Wisp is installed here, but these: {known}.")
    print(f"{package.name} {package.version}: {package.about}\nIt adds: {', '.join(package.names)}.")
    if not shared.is_agreed("Its code runs as a part of Wisp and may do all that you may. Allow it?", options):
        print("Nothing was changed. With --yes it is allowed without this question.")
        return 1
    loading.agree(package.name, is_agreed=True)
    print(f"{package.name} is allowed, from the next start on.")
    return 0


def _forbid(name: str) -> int:
    if name not in listed(store.load()[FEATURES_AGREED]):
        raise NeedsPerson(f"The package {name!r} is not allowed anyway.")
    loading.agree(name, is_agreed=False)
    print(f"{name} is no longer allowed, from the next start on.")
    return 0
