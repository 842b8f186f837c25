"""The desktop's trash, where there is one.

On Linux the file is moved from the folder that is held open into the person's own trash (freedesktop.org's Trash
specification), so that nobody can put another file into its place meanwhile. Elsewhere a library does it by path.
"""

from __future__ import annotations

import datetime
import itertools
import os
import sys
from pathlib import Path
from urllib.parse import quote

from app.services.workspace.beneath import Folder

_PRIVATE = 0o700
_TRIES = 1_000


def to_trash(folder: Folder, name: str) -> bool:
    """Move a file to the trash; False where there is none for it."""
    try:
        return _moved(folder, name) if sys.platform == "linux" else _handed_over(folder.path / name)
    except OSError:
        return False


def _handed_over(path: Path) -> bool:
    import send2trash

    send2trash.send2trash(str(path))
    return True


def _moved(folder: Folder, name: str) -> bool:
    trash = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "Trash"
    for part in ("files", "info"):
        (trash / part).mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    kept = _noted(trash, folder.path / name)
    try:
        folder.move(name, trash / "files" / kept)
    except OSError:
        (trash / "info" / f"{kept}.trashinfo").unlink(missing_ok=True)
        raise
    return True


def _noted(trash: Path, path: Path) -> str:
    """Write down where the file comes from; the name under which the trash will hold it."""
    now = datetime.datetime.now().replace(microsecond=0).isoformat()
    note = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={now}\n"
    for number in itertools.islice(itertools.count(1), _TRIES):
        kept = path.name if number == 1 else f"{path.stem}.{number}{path.suffix}"
        if (trash / "files" / kept).exists():
            continue
        try:
            with (trash / "info" / f"{kept}.trashinfo").open("x", encoding="utf-8") as info:
                info.write(note)
        except FileExistsError:
            continue
        return kept
    raise FileExistsError(f"the trash holds {_TRIES} files called {path.name}")
