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
    what.add_parser("list", help="list all abilities, and which are on (`wisp features` alone does it, too)")
    for name, about in (
        ("on", "switch an ability on, from the next start of Wisp"),
        ("off", "switch an ability off, from the next start of Wisp"),
    ):
        what.add_parser(name, help=about).add_argument("name", help="its name, as `wisp features` lists it")
    allow = what.add_parser("allow", help="let another package add abilities; it can then do all that you can")
    shared.add_yes_option(allow)
    forbid = what.add_parser("forbid", help="no longer let a package add abilities, from the next start of Wisp")
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
    problems, words = loading.problems(), shared.words_here()
    for feature in loading.everything():
        state = "failed" if feature.name in problems else "on" if loading.is_wanted(feature) else "off"
        print(f"{feature.name:<{_NAME_CHARS}} {state:<7} {feature.about.said(words)}")
    for name, why in problems.items():
        shared.say("{name} does not work: {why}", name=name, why=why)
    for package in loading.waiting():
        told = f"{package.name} {package.version} ({', '.join(package.names)}): {package.about}"
        shared.say("Waits for your yes: {package}", package=told)
        print(f"  wisp features allow {package.name}")


def _switch(name: str, *, is_on: bool) -> int:
    loading.switch(name, is_on=is_on)
    shared.say(
        "From the next start of Wisp, {name} is on." if is_on else "From the next start of Wisp, {name} is off.",
        name=name,
    )
    return 0


def _allow(options: argparse.Namespace) -> int:
    installed = {one.name: one for one in loading.packages()}
    if (package := installed.get(options.name)) is None:
        known = ", ".join(installed) or "none"
        raise NeedsPerson(f"No package {options.name!r} with abilities for Wisp is installed. Installed are: {known}.")
    print(f"{package.name} {package.version}: {package.about}")
    shared.say("It adds: {names}.", names=", ".join(package.names))
    if not shared.is_agreed("This package can then do all that you can. Allow it?", options):
        return 1
    loading.agree(package.name, is_agreed=True)
    shared.say("From the next start of Wisp, {name} adds its abilities.", name=package.name)
    return 0


def _forbid(name: str) -> int:
    if name not in listed(store.load()[FEATURES_AGREED]):
        raise NeedsPerson(f"The package {name!r} was not allowed. To see which are: wisp features")
    loading.agree(name, is_agreed=False)
    shared.say("From the next start of Wisp, {name} adds no abilities.", name=name)
    return 0
