"""`wisp uninstall`: after a yes, remove all that Wisp has put on this computer beside its own program."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from app import options as shared
from app.base import paths
from app.base.errors import NeedsPerson, WispError
from app.base.remains import Remains
from app.settings import store
from app.settings.providers import key_holders


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_yes_option(parser)


def run(options: argparse.Namespace) -> int:
    from app.commands.presence import is_running

    if any(is_running(paths.runtime_dir(one)) for one in ("", *paths.presences())):
        raise NeedsPerson("Wisp is running. Quit it first: right click on the orb, then Quit.")
    found = list(_remains())
    if found:
        shared.say("This will be removed for good, and nothing brings it back:")
        for one in found:
            print(f"  {one.what}")
        if not shared.is_agreed("Remove all of it?", options):
            return 1
    failed = [problem for one in found if (problem := _removed(one))]
    for problem in failed:
        print(problem, file=sys.stderr)
    print("Files in your own folders stay, such as those in ~/Wisp. " + _the_program())
    return 1 if failed else 0


def _removed(one: Remains) -> str:
    """Remove it. Return what went wrong, or ""."""
    try:
        one.remove()
    except (OSError, WispError) as error:
        return f"Not removed: {one.what} ({error})"
    return ""


def _remains() -> Iterator[Remains]:
    """Yield what is there, Wisp's folders last, because they say what else there is."""
    from app.commands import extension
    from app.features import loading
    from app.ui.system import autostart

    for _, remains in loading.each(lambda feature: tuple(feature.remains())):
        yield from remains
    if autostart.entry().is_there():
        yield Remains("the entry that opens Wisp when you log in", autostart.entry().remove)
    if extension.is_installed():
        yield Remains("the extension of GNOME Shell", extension.remove)
    for holder in store.kept_keys():
        yield Remains(f"your key for {key_holders()[holder][0]}", partial(store.forget, holder))
    for folder in paths.roots():
        yield Remains(f"{folder} ({_size(folder)})", partial(shutil.rmtree, folder))


def _size(folder: Path) -> str:
    from app.services.files.searching import size_told

    return size_told(sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()))


def _the_program() -> str:
    """A sentence that says how the program itself is removed."""
    if getattr(sys, "frozen", False):
        return "Now remove the program: sudo apt remove wisp"
    if "pipx" in Path(sys.prefix).parts:
        return "Now remove the program: pipx uninstall wisp-desktop"
    if (checkout := Path(__file__).resolve().parents[2]).joinpath("pyproject.toml").is_file():
        return f"Now delete the folder of the program: {checkout}"
    return "Now remove the program: pip uninstall wisp-desktop"
