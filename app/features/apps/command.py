"""`wisp apps`: the apps that Wisp has made. List, open, rename, export and delete them, and pin them to the desktop."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.paths import free
from app.features.apps.library import AppLibrary, own_origin
from app.options import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="list all apps (`wisp apps` alone does it, too)")
    for name, about in (
        ("open", "open an app, or bring its window to the front"),
        ("rename", "give an app another name; `wisp undo` takes it back"),
        ("pin", "keep the window of an app on the desktop, behind all other windows"),
        ("unpin", "let the window of an app be like any other again"),
        ("menu", "put an app into the menu of programs; a new app is there already"),
        ("unmenu", "take an app out of the menu of programs"),
        ("export", "copy an app and its data into a zip file"),
        ("delete", "delete an app and its data; `wisp undo` brings it back"),
    ):
        command = what.add_parser(name, help=about)
        command.add_argument("name", help="the name of the app, or its id")
        if name == "rename":
            command.add_argument("new", help="its new name")
        if name == "export":
            command.add_argument(
                "target", type=Path, nargs="?", help="the zip file to write; otherwise one in the current folder"
            )


def run(options: argparse.Namespace) -> int:
    library = AppLibrary()
    if options.what in (None, "list"):
        for surface in library.store.all():
            print(f"{surface.id:<32} {surface.name}")
        return 0
    surface = library.store.find(options.name)
    match options.what:
        case "open":
            print(asyncio.run(library.open(surface)))
        case "rename":
            renamed = asyncio.run(library.rename(surface, options.new))
            say("{old} is called {new} now.", old=surface.name, new=renamed.name)
        case "pin" | "unpin":
            print(asyncio.run(library.pin(surface, is_pinned=options.what == "pin")))
        case "menu":
            print(library.store.put_in_menu(surface, own_origin("menu")))
        case "unmenu":
            library.store.take_from_menu(surface, own_origin("menu"))
        case "export":
            print(library.store.export(surface, _target(options.target, surface.id)))
        case "delete":
            asyncio.run(library.delete(surface))
            say("Deleted {name}. To bring it back: wisp undo", name=surface.name)
    return 0


def _target(given: Path | None, surface_id: str) -> Path:
    """Raises ToolFailed if the person named a file that is there already."""
    target = (given.with_suffix(".zip") if given else free(Path.cwd() / f"{surface_id}.zip")).absolute()
    if given and target.exists():
        raise ToolFailed(f"{target} is there already. Name another file.")
    return target
