"""Decide which files and folders an act means. What is not there, or may be several, is refused and never guessed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from app.base.drives import is_drive_word
from app.base.values import dataclass, replace
from app.providers.offline.finding import FOLDER, Several, Sought, endings, find, find_folder, find_named, likeliest
from app.providers.offline.grammar import grammars
from app.providers.offline.reading import Act, Refusal
from app.providers.offline.slots import IT, program_names
from app.providers.offline.world import World

_THERE = ("path", "source", "second")
"""The arguments that name a file which is there already."""
_MADE = {"write_file": ("path",), "make_folder": ("path",), "save_as": ("path",)}
_INTO = ("write_file", "make_folder", "save_as")
"""The acts whose `in` is where something new goes to."""
_TAKING = ("move_file", "copy_file", "unpack_file")
"""The acts whose `destination` is a folder."""
_LISTING = (
    *("list_files", "count_files", "count_folders", "count_kind", "find_files", "mentions"),
    *("largest_file", "newest_file", "oldest_file"),
)
"""The acts whose `path` is a folder."""
_MOST_TOLD = 10
_PLAIN = re.compile(r"[^/]+")


@dataclass(frozen=True, slots=True)
class Placer:
    """Finds the files and folders of a wish. `made` are the names that its earlier acts leave behind."""

    wish: str
    world: World

    def placed(self, act: Act, made: Collection[str]) -> Act | Refusal:
        """Return the act with the paths of what it names."""
        given = dict(act.arguments)
        if "in" in given and given["in"] not in made:
            folder = self._folder(str(given["in"]), is_needed=act.intent in _INTO)
            if isinstance(folder, Refusal):
                return folder
            given["in"] = folder
        if act.intent == "open_app":
            found = self._opened(given["name"], str(given.get("in", "")))
            return found if isinstance(found, Refusal) else replace(act, arguments=self._by_path(given, found, made))
        if (
            "destination" in given
            and act.intent in ("move_file", "copy_file", "unpack_file")
            and given["destination"] not in made
        ):
            folder = self._folder(str(given["destination"]), is_needed=True)
            if isinstance(folder, Refusal):
                return folder
            given["destination"] = folder
        for name in (one for one in _THERE if one in given and one not in _MADE.get(act.intent, ())):
            if act.intent in _LISTING:
                found = given[name] if given[name] in made else self._folder(str(given[name]), is_needed=False)
            else:
                found = self._file(given[name], str(given.get("in", "")), made)
            if isinstance(found, Refusal):
                return found
            given[name] = self._with_ending(given, found) if act.intent == "rename" else found
        # What is no file to an act, such as a name that a feature asks for, is meant as it was said.
        sought = {name: value for name, value in given.items() if isinstance(value, Sought) and name != "part"}
        return replace(act, arguments={**given, **{name: value.said for name, value in sought.items()}})

    def told(self, sought: Sought | str) -> tuple[str, ...]:
        """All that may be meant, at most ten."""
        if isinstance(sought, Sought):
            return tuple(likeliest(sought, self.world)[: 1 if sought.order else _MOST_TOLD])
        found = find_named(Path(sought).name, self.world)
        return (found,) if isinstance(found, str) else found.paths

    def _with_ending(self, given: dict[str, Any], found: Any) -> Any:
        """Keep the ending of a file that is renamed, if its new name has none."""
        ending = Path(str(found)).suffix
        if ending.removeprefix(".").casefold() in endings() and "." not in str(given["destination"]):
            given["destination"] = f"{given['destination']}{ending}"
        return found

    def _opened(self, name: Any, folder: str) -> str | Refusal:
        """What `open_app` opens: a program, or the file or folder that is meant."""
        if isinstance(name, Sought):
            found = find(replace(name, folder=folder), self.world)
            if isinstance(found, str):
                return found
            is_program = found.is_missing and name.kind != FOLDER and not name.order
            return name.said if is_program and self._is_program(name.said) else self._refusal(found)
        if folder:
            return str(name)
        if is_drive_word(str(name)):
            return self._folder(str(name), is_needed=True)
        if not _PLAIN.fullmatch(str(name)) or ":" in str(name) or self._is_program(str(name)):
            return str(name)
        if "." in str(name):
            there = self._file(str(name), "", ())
            return there if isinstance(there, Refusal) else str(there)
        words, low = tuple(str(name).casefold().split()), self.wish.casefold()
        # “my tax return” is no program, so that a part of a file's name is enough.
        is_own = any(f"{own} {str(name).casefold()}" in low for one in grammars() for own in one.words["possessives"])
        found = find(Sought(str(name), words, is_exact=not is_own), self.world)
        return found if isinstance(found, str) else str(name) if found.is_missing else self._refusal(found)

    def _by_path(self, given: Mapping[str, Any], name: str, made: Collection[str]) -> dict[str, Any]:
        """A file goes by its whole path, because `open_app` takes any other name for that of a program."""
        if "in" in given:
            return {**given, "name": name, "in": self._whole(str(given["in"]))}
        return {**given, "name": self._whole(name) if self._is_in_workspace(name, made) else name}

    def _is_in_workspace(self, name: str, made: Collection[str]) -> bool:
        """Return whether a name is that of a file that is there, or of what an earlier step makes there."""
        if not self.world.workspace or self._is_program(name):
            return False
        return name in made or ("." in name and os.path.exists(os.path.join(self.world.workspace, name)))

    def _whole(self, name: str) -> str:
        return name if name.startswith("~") else os.path.join(self.world.workspace, name)

    def _is_program(self, name: str) -> bool:
        low = name.casefold()
        return low in program_names(self.world) or bool(" " not in low and shutil.which(low))

    def _file(self, named: Any, folder: str, made: Collection[str]) -> Any:
        """A file that is there. A name with an ending that nothing has stays as it is."""
        if isinstance(named, Sought):
            if named.said in made:
                return named.said
            found = find(replace(named, folder=folder), self.world)
            return found if isinstance(found, str) else self._refusal(found)
        name = str(named)
        is_settled = name == IT or folder or name in made or not _PLAIN.fullmatch(name) or "*" in name
        if is_settled or (self.world.workspace and os.path.lexists(os.path.join(self.world.workspace, name))):
            return named
        found = find_named(name, self.world)
        if isinstance(found, str):
            return found
        return named if found.is_missing else self._refusal(found)

    def _folder(self, name: str, *, is_needed: bool) -> str | Refusal:
        """`is_needed`: the folder must be there."""
        if name == IT or not _PLAIN.fullmatch(name) or name.startswith(("~", ".")):
            return name
        found = find_folder(name, self.world)
        if isinstance(found, str):
            return found
        if found.is_missing and not is_needed and not is_drive_word(name):
            return name
        return self._refusal(found, is_folder=True)

    def _refusal(self, found: Several, *, is_folder: bool = False) -> Refusal:
        """Offers the same wish about each that may be meant."""
        if is_drive_word(found.said):
            kind = "no_drive" if found.is_missing else "several_drives"
        elif is_folder:
            kind = "no_folder" if found.is_missing else "several_folders"
        else:
            kind = "no_file" if found.is_missing else "several_files"
        offers = (self._with(found.said, path, is_last=is_folder) for path in found.paths)
        return Refusal(kind, found.said, offers=tuple(filter(None, offers)))

    def _with(self, said: str, path: str, *, is_last: bool) -> str:
        """With the path in place of the words for it; "" if they do not stand there as they were read."""
        low = self.wish.casefold()
        at = low.rfind(said.casefold()) if is_last else low.find(said.casefold())
        if at < 0 or '"' in path or len(low) != len(self.wish):
            return ""
        return f'{self.wish[:at].rstrip(chr(34) + "“„")}"{path}"{self.wish[at + len(said) :].lstrip(chr(34) + "”“")}'
