"""What the words of a wish may name: programs, windows and files that are there now."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection
from pathlib import Path

from app.base import resources
from app.base.named_files import FileIndex, NamedFile
from app.base.program_kinds import is_of_kind
from app.base.values import dataclass

IN_FRONT = "active"
"""What the tools call the window in front."""


@dataclass(frozen=True, slots=True)
class Mention:
    """What the conversation named last, which “it” means: a file or folder, a program, the title of a window."""

    file: str = ""
    program: str = ""
    window: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """What is there. An empty tuple means that nothing is known of its kind, so that any name may be meant.

    `programs` are the names of installed programs, `windows` the title and program of each open window, the one in
    front first, `apps` the id and name of each small app that Wisp made, `tools` the names of all tools. `unready`
    returns those that need something that is not set up; it blocks. `has_part`: the person attached a part of the
    screen to the wish. `files` are the names in the home folder, which are read when a wish needs them. `last` is what
    was named before this wish.
    """

    programs: tuple[str, ...] = ()
    windows: tuple[tuple[str, str], ...] = ()
    apps: tuple[tuple[str, str], ...] = ()
    tools: frozenset[str] = frozenset()
    unready: Callable[[], Collection[str]] = tuple
    workspace: str = ""
    has_part: bool = False
    files: FileIndex | None = None
    last: Mention = Mention()

    def named(self) -> tuple[tuple[str, NamedFile], ...]:
        """Return all files and folders in the home folder, each with its name in lower case."""
        return self.files.all() if self.files else ()

    def is_open(self, name: str) -> bool:
        """True for a window of that title, program or kind. A part of the first two is enough."""
        low = name.casefold()
        if any(is_of_kind(program, low) for _, program in self.windows):
            return True
        return len(low) > _SHORTEST and any(low in f"{title}\n{program}".casefold() for title, program in self.windows)

    def apps_called(self, said: str) -> tuple[tuple[str, str], ...]:
        """Return the small app with this id, or else all that are called so, in any case, each as in `apps`."""
        low = said.casefold()
        with_id = tuple(app for app in self.apps if app[0] == low)
        return with_id or tuple(app for app in self.apps if app[1].casefold() == low)

    def file(self, name: str) -> str:
        """Return the path of the one file with this name in the workspace or a known folder; "" for none or several."""
        if "/" in name or not self.workspace:
            return ""
        if os.path.exists(os.path.join(self.workspace, name)):
            return name
        home = Path.home()
        found = [f"~/{folder}/{name}" for folder in _FOLDERS if (home / folder / name).exists()]
        found += [f"~/{name}"] if (home / name).exists() else []
        return found[0] if len(found) == 1 else ""


_SHORTEST = 2
_FOLDERS = ("Desktop", "Documents", "Downloads", "Pictures", "Music", "Videos")


def known_folder(path: str, said: str) -> str:
    """Return where a folder such as `~/Documents` is here: under the name that was said, or as it is set up."""
    home = Path.home()
    if (home / said.capitalize()).is_dir():
        return f"~/{said.capitalize()}"
    import platformdirs

    asked = getattr(platformdirs, f"user_{path.removeprefix('~/').lower()}_dir", None)
    found = Path(asked()) if asked else None
    return f"~/{found.relative_to(home)}" if found and found != home and found.is_relative_to(home) else path


@functools.cache
def general_names() -> tuple[str, ...]:
    """Return the words for kinds of programs that `open_app` knows, such as “calculator”, in all languages."""
    kinds = resources.table("desktop/programs.toml", resources.Table)
    return tuple(sorted({str(word).lower() for kind in kinds.values() for word in kind["words"]}))
