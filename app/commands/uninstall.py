"""`wisp uninstall`: after a yes, remove all that Wisp has put on this computer beside its own program."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from app import options as shared
from app.base import paths
from app.base.errors import NeedsPerson, WispError
from app.base.phrases import Phrase, Translations
from app.base.remains import Remains
from app.settings import store
from app.settings.providers import key_holders


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_yes_option(parser)


def run(options: argparse.Namespace) -> int:
    from app.commands.presence import is_running
    from app.services.extras import way_to_remove

    if any(is_running(paths.runtime_dir(one)) for one in ("", *paths.presences())):
        raise NeedsPerson("Wisp is running. Quit it first: right click on the orb, then Quit.")
    words, found = shared.words_here(), list(_remains())
    if not found:
        shared.say("Wisp keeps nothing on this computer.")
    else:
        shared.say("This will be removed for good, and nothing brings it back:")
        for one in found:
            print(f"  {one.what.said(words)}")
        if not shared.is_agreed("Remove all of it?", options):
            return 1
    failed = [one for one in found if not _is_removed(one, words)]
    for folder in paths.roots():
        if not _size_bytes(folder):  # made anew by this command
            shutil.rmtree(folder, ignore_errors=True)
    if found and not failed:
        shared.say("All of it was removed.")
    shared.say(
        "Your own files stay, such as those in ~/Wisp. To remove the program: {command}", command=way_to_remove()
    )
    return 1 if failed else 0


def _is_removed(one: Remains, words: Translations) -> bool:
    """Remove it. If that fails, print why."""
    try:
        one.remove()
    except (OSError, WispError) as error:
        shared.warn("This was not removed: {what} ({why})", what=one.what.said(words), why=str(error))
        return False
    return True


def _remains() -> Iterator[Remains]:
    """Yield what is there, Wisp's folders last, because they say what else there is."""
    from app.commands import extension
    from app.features import loading
    from app.services.files.searching import size_told
    from app.ui.system import autostart

    if not paths.are_moved():  # because the entries elsewhere are those of the Wisp with the usual folders
        for _, remains in loading.each(lambda feature: tuple(feature.remains())):
            yield from remains
        if autostart.entry().is_there():
            yield Remains(Phrase("the entry that opens Wisp when you log in"), autostart.entry().remove)
        if extension.is_installed():
            yield Remains(Phrase("the extension of GNOME Shell"), extension.remove)
        for holder in store.kept_keys():
            name = {"name": key_holders()[holder][0]}
            yield Remains(Phrase("your key for {name}", name), partial(store.forget, holder))
    for folder in paths.roots():
        if size_bytes := _size_bytes(folder):
            told = {"folder": str(folder), "size": size_told(size_bytes)}
            yield Remains(Phrase("the folder {folder} ({size})", told), partial(shutil.rmtree, folder))


def _size_bytes(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())
