"""`wisp apps`: the apps that Wisp has made. List, open, rename, export and delete them, and pin them to the desktop."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.paths import free
from app.features.apps.library import AppLibrary, own_origin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="all apps (what `wisp apps` alone does)")
    for name, about in (
        ("open", "show it, or bring its window to the front"),
        ("rename", "give it another name; `wisp undo` takes that back"),
        ("pin", "keep its window on the desktop, behind all others and after the next start of Wisp"),
        ("unpin", "make its window one like any other again"),
        ("menu", "start it like any program, from the menu of programs; a new app is there already"),
        ("unmenu", "take it out of the menu of programs"),
        ("export", "copy it with all that it keeps into one zip file"),
        ("delete", "delete it with all that it keeps; `wisp undo` brings it back"),
    ):
        command = what.add_parser(name, help=about)
        command.add_argument("name", help="its name or its id")
        if name == "rename":
            command.add_argument("new", help="its new name")
        if name == "export":
            command.add_argument("target", type=Path, nargs="?", help="where to; the current folder if left out")


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
            print(f"{surface.name} is called {renamed.name} now.")
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
            print(f"Deleted {surface.name}. `wisp undo` brings it back.")
    return 0


def _target(given: Path | None, surface_id: str) -> Path:
    """Return the zip file to write. Raises ToolFailed if the person named one that is there already."""
    target = (given.with_suffix(".zip") if given else free(Path.cwd() / f"{surface_id}.zip")).absolute()
    if given and target.exists():
        raise ToolFailed(f"{target} is there already. Name another file.")
    return target
