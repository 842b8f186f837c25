"""Which folder Wisp works in: one that a person chose, and never their home, the system's or somebody else's."""

from __future__ import annotations

import os
from pathlib import Path

from app.base.errors import NeedsPerson
from app.services.files.places import table
from app.settings.catalog import WORKSPACE
from app.settings.store import Settings


def workspace_of(settings: Settings) -> Path:
    """The folder that the person chose, otherwise `~/Wisp`, which is created if it is missing."""
    chosen = _chosen_workspace(settings)
    own = own_workspace()
    if chosen != own and not why_no_workspace(chosen, _home()):
        return chosen
    try:
        own.mkdir(exist_ok=True)
    except OSError as error:
        raise NeedsPerson(
            f"Wisp needs a folder to work in, and {own} cannot be made ({error.strerror}). "
            "Name another one: wisp --workspace FOLDER"
        ) from error
    return own


def why_moved(settings: Settings) -> str:
    """Return a sentence if Wisp works in another folder than the one that the person named, else ""."""
    chosen = _chosen_workspace(settings)
    why = why_no_workspace(chosen, _home())
    if not why or not settings[WORKSPACE]:
        return ""
    return (
        f"{chosen} {why}, so Wisp works in {workspace_of(settings)} instead. "
        "To choose another folder: --workspace FOLDER, or files.workspace in the settings."
    )


def _chosen_workspace(settings: Settings) -> Path:
    chosen = Path(settings[WORKSPACE]).expanduser() if settings[WORKSPACE] else Path.cwd()
    return Path(os.path.realpath(chosen))


def own_workspace() -> Path:
    """Return the folder that is the workspace where no other one was chosen. It need not be there yet."""
    return _home() / str(table()["workspace"]["default"])


def _home() -> Path:
    return Path(os.path.realpath(Path.home()))


def why_no_workspace(folder: Path, home: Path) -> str:
    """The end of a sentence; "" if this folder can be a workspace."""
    rules = table()["workspace"]
    if folder == home:
        return "is your home folder"
    if home.is_relative_to(folder):
        return "holds your home folder"
    if str(folder) in rules["broad"] or any(folder.is_relative_to(inside) for inside in rules["inside"]):
        return "belongs to the system"
    marks = any((folder / name).exists() for name in rules["home_marks"])
    if marks or sum((folder / name).exists() for name in rules["home_hints"]) > 1:
        return "is somebody's home folder"
    return ""
