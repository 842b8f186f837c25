"""`wisp surface`: the apps that Wisp has made. List, open, export and delete them, and put them into the menu."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from app.base.errors import ToolFailed
from app.base.paths import free
from app.commands.surface.library import AppLibrary, MenuEntry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    what.add_parser("list", help="all apps (what `wisp surface` alone does)")
    for name, about in (
        ("open", "show it, or bring its window to the front"),
        ("menu", "start it like any program, from the menu of programs"),
        ("unmenu", "take it out of the menu of programs"),
        ("export", "copy it with all that it keeps into one zip file"),
        ("delete", "delete it with all that it keeps; `wisp undo` brings it back"),
    ):
        command = what.add_parser(name, help=about)
        command.add_argument("name", help="its name or its id")
        if name == "export":
            command.add_argument("target", type=Path, nargs="?", help="where to; the current folder if left out")


def run(options: argparse.Namespace) -> int:
    library = AppLibrary()
    if options.what in (None, "list"):
        for surface in library.store.all():
            print(f"{surface.id:<32} {surface.name}")
        return 0
    surface = library.store.find(options.name)
    if options.what == "open":
        print(asyncio.run(library.engine.open(surface.id)))
    elif options.what == "export":
        print(library.store.export(surface, _target(options.target, surface.id)))
    elif options.what == "delete":
        asyncio.run(library.delete(surface))
        print(f"Deleted {surface.name}. `wisp undo` brings it back.")
    elif options.what == "menu":
        print(MenuEntry(surface).write())
    else:
        MenuEntry(surface).remove()
    return 0


def _target(given: Path | None, surface_id: str) -> Path:
    """Return the zip file to write. Raises ToolFailed if the person named one that is there already."""
    target = (given.with_suffix(".zip") if given else free(Path.cwd() / f"{surface_id}.zip")).absolute()
    if given and target.exists():
        raise ToolFailed(f"{target} is there already. Name another file.")
    return target
