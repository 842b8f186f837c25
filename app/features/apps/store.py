"""The surfaces of a person: a folder for each, with its page, description, state, picture and old versions.

`app-…` has its own window, `widget-…` is a small card. Every change that a model makes goes through the checkpoints, so
that `undo_last_change` and `wisp undo` can undo it. If a surface itself saves its state, that is no change of the
model, and only replaces `state.json`.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.base import ids, own_files, paths
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse, WispError
from app.base.facts import Missing
from app.base.phrases import Phrase
from app.base.values import dataclass
from app.features.apps import menu, state
from app.services import svg
from app.services.files.changes import ChangeOrigin, Changes
from app.services.files.checkpoints import Checkpoints, UndoCheck
from app.services.files.places import Place, Workspace

PAGE, DOC, STATE, PICTURE = "index.html", "surface.md", "state.json", "thumbnail.svg"
_PINNED = "pinned"
"""The empty file of a surface whose window is kept on the desktop."""
VERSIONS = "versions"
APP, SHORTCUT = "app", "widget"
"""The kinds, as ids begin."""
MOST_SURFACES = 200
_MOST_VERSIONS = 30
_LISTED = 20
_NAME_CHARS = 60
_DOC_BYTES, _PICTURE_BYTES = 100_000, 200_000
_ID = re.compile(r"(?:app|widget)-[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
_HEADING = re.compile(r"\A\s*+#[ \t]++([^\n]+)(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Surface:
    """A surface. `changed_at` is when its page was last written, in seconds since 1970."""

    id: str
    name: str
    folder: Path
    changed_at: float

    @property
    def is_app(self) -> bool:
        return self.id.startswith(f"{APP}-")

    @property
    def is_pinned(self) -> bool:
        """True if the person keeps its window on the desktop."""
        return (self.folder / _PINNED).is_file()

    @property
    def is_in_menu(self) -> bool:
        return menu.menu_entry(self.id).is_file()

    @property
    def html(self) -> str:
        return (self.folder / PAGE).read_text(encoding="utf-8")

    @property
    def doc(self) -> str:
        return _text(self.folder / DOC)

    @property
    def versions(self) -> list[Path]:
        """The earlier pages, oldest first."""
        return sorted((self.folder / VERSIONS).glob("*.html"))


@dataclass(frozen=True, slots=True)
class Written:
    """The parts of a surface that a model wrote. A part that is None stays as it was."""

    html: str | None = None
    doc: str | None = None
    picture: str | None = None


class SurfaceStore:
    """Saves surfaces in folders. Blocks: call it in a thread. Several processes may use it at once."""

    def __init__(self, folder: Path, checkpoints: Checkpoints) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._places = _SurfaceFolders(folder)
        self._changes = Changes(self._places, checkpoints, trash=_no_trash)

    @property
    def is_empty(self) -> bool:
        return not any(_ID.fullmatch(name) for name in os.listdir(self.folder))

    def all(self) -> list[Surface]:
        """The newest surface is first."""
        found = [one for name in os.listdir(self.folder) if (one := self._read(name))]
        return sorted(found, key=lambda one: (-one.changed_at, one.id))

    def find(self, text: str, kind: str = "") -> Surface:
        """Return the surface with this id or name. Raises ToolFailed if none or several fit."""
        wanted = text.strip()
        if exact := self._read(wanted):
            if kind and not exact.id.startswith(f"{kind}-"):
                other = "an app: use the tools for apps" if exact.is_app else "a shortcut: use the tools for shortcuts"
                raise ToolMisuse(f"id: {exact.id} is {other}.")
            return exact
        there = [one for one in self.all() if one.id.startswith(kind)]
        named = [one for one in there if _plain(one.name) == _plain(wanted)]
        if len(named) == 1:
            return named[0]
        raise _unclear(clip_line(wanted, 40), named, there)

    def create(self, kind: str, name: str, written: Written, origin: ChangeOrigin, *, in_menu: bool = True) -> Surface:
        """Save a new surface. An app stands in the menu of programs then, unless that cannot be written.

        Raises WispError for an unusable name, or if there are too many surfaces.
        """
        name, origin = checked_name(name), _in_one(origin)
        if len(os.listdir(self.folder)) >= MOST_SURFACES:
            raise ToolFailed(f"There are {MOST_SURFACES} surfaces already. Delete one that is no longer needed first.")
        surface = Surface(self._free_id(kind, name), name, self.folder, 0.0)
        doc = titled(written.doc or "", name)
        self._write(surface.id, Written(written.html, doc, written.picture), origin)
        surface = self.find(surface.id)
        if surface.is_app and in_menu and menu.HAS_MENU:
            with suppress(WispError, OSError):  # because the app is there without it, too
                self._write_entry(surface, origin)
        return surface

    def free_name(self, kind: str, name: str) -> tuple[str, Surface | None]:
        """Return the name with the first number that makes it new, and the surface of this kind that has the name."""
        names = {_plain(one.name): one for one in self.all() if one.id.startswith(kind)}
        tried = (name, *(f"{name} {number}" for number in range(2, MOST_SURFACES + 2)))
        return next(one for one in tried if _plain(one) not in names), names.get(_plain(name))

    def update(self, surface: Surface, written: Written, origin: ChangeOrigin) -> Surface:
        """Replace the written parts of a surface. Its state stays; the old page and description become a version."""
        origin = _in_one(origin)
        if written.html is not None:
            self._keep_version(surface, origin)
        doc = None if written.doc is None else titled(written.doc, surface.name)
        self._write(surface.id, Written(written.html, doc, written.picture), origin)
        self._drop_versions(surface)
        return self.find(surface.id)

    def drop(self, surface: Surface, name: str, origin: ChangeOrigin) -> None:
        """Delete one file of a surface. An undo restores it."""
        self._changes.delete(self._places.locate(str(surface.folder / name)), _in_one(origin))

    def rename(self, surface: Surface, name: str, origin: ChangeOrigin) -> Surface:
        """Give a surface another name, also in the menu of programs. Its id stays."""
        origin, name, entry = _in_one(origin), checked_name(name), menu.menu_entry(surface.id)
        self._write(surface.id, Written(doc=titled(surface.doc, name)), origin)
        if entry.is_file():
            text = menu.renamed(_text(entry), name)
            self._changes.write(self._places.locate(str(entry)), (text.encode(),), origin)
        return self.find(surface.id)

    def put_in_menu(self, surface: Surface, origin: ChangeOrigin) -> Path:
        """Write the entry of a surface in the menu of programs, and return its file.

        Raises NeedsPerson on a system without such a menu, and ToolFailed if the entry cannot be written.
        """
        if not menu.HAS_MENU:
            raise NeedsPerson("Only the menus of Linux desktops take an app in. Open it from Wisp's list of apps.")
        return self._write_entry(surface, _in_one(origin))

    def take_from_menu(self, surface: Surface, origin: ChangeOrigin) -> None:
        """Delete the entry of a surface in the menu of programs, if there is one."""
        self._drop_entry(surface, _in_one(origin))

    def note_pinned(self, surface: Surface, *, is_pinned: bool) -> None:
        """Note whether the person keeps the window of a surface on the desktop."""
        pinned = surface.folder / _PINNED
        pinned.touch() if is_pinned else pinned.unlink(missing_ok=True)

    def delete(self, surface: Surface, origin: ChangeOrigin) -> None:
        """Remove a surface with its saved state and its entry in the menu of programs. An undo restores all of it."""
        origin = _in_one(origin)
        self._drop_entry(surface, origin)
        for path in sorted(surface.folder.rglob("*"), key=lambda one: one.name == PAGE):
            if path.is_file() and not path.is_symlink():
                self._changes.delete(self._places.locate(str(path)), origin)
        shutil.rmtree(surface.folder, ignore_errors=True)

    def export(self, surface: Surface, target: Path) -> Path:
        """Copy a surface with its description and state into one zip file, without links. Returns its path."""
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
            for file in sorted(surface.folder.rglob("*")):
                if file.is_file() and file.resolve().is_relative_to(surface.folder.resolve()):
                    made.write(file, file.relative_to(self.folder))
        return target

    def state(self, surface: Surface) -> Any:
        """The saved state; an empty object if the surface saved none. Raises ToolFailed if it is damaged."""
        text = _text(surface.folder / STATE)
        try:
            return state.decoded(text) if text.strip() else {}
        except ToolMisuse as error:
            raise ToolFailed(f"The state of {surface.id} is damaged ({error}) Replace it as a whole.") from None

    def mutate(self, surface: Surface, patch: Sequence[Any], origin: ChangeOrigin) -> Any:
        """Change the saved state of a surface for a model, and return the new state. Can be undone."""
        with own_files.locked(self.folder):
            whole = len(patch) == 1 and isinstance(patch[0], dict) and patch[0].get("path") == ""
            new = state.patched({} if whole else self.state(surface), patch)
            place = self._places.locate(str(surface.folder / STATE))
            self._changes.write(place, (state.encoded(new),), _in_one(origin))
        return new

    def keep_state(self, surface: Surface, value: Any) -> None:
        """Replace the saved state on request of the surface itself. This is not recorded for an undo."""
        data = state.encoded(value)
        with own_files.locked(self.folder):
            own_files.write(surface.folder / STATE, data)

    def _read(self, name: str) -> Surface | None:
        if not _ID.fullmatch(name):
            return None
        folder = self.folder / name
        try:
            changed = (folder / PAGE).stat().st_mtime
        except OSError:  # because an undone creation leaves its folder
            return None
        heading = _HEADING.match(_text(folder / DOC))
        said = clip_line(heading[1].rstrip("# \t"), _NAME_CHARS) if heading else ""
        return Surface(name, said or name, folder, changed)

    def _free_id(self, kind: str, name: str) -> str:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        stem = f"{kind}-{re.sub(r'[^a-z0-9]+', '-', plain).strip('-')[:32].strip('-') or ids.unique()[:6]}"
        taken = set(os.listdir(self.folder))
        if stem not in taken:
            return stem
        return next(one for number in range(2, MOST_SURFACES * 2) if (one := f"{stem}-{number}") not in taken)

    def _write(self, surface_id: str, written: Written, origin: ChangeOrigin) -> None:
        doc, picture = written.doc, written.picture
        if doc is not None and len(doc.encode("utf-8", "replace")) > _DOC_BYTES:
            raise ToolFailed(f"doc: it is longer than {_DOC_BYTES} bytes. Say it shorter.")
        if picture is not None:
            _check_picture(picture)
        # The page comes last, because a folder without it is no surface.
        for name, text in ((DOC, doc), (PICTURE, picture), (PAGE, written.html)):
            if text is not None:
                place = self._places.locate(str(self.folder / surface_id / name))
                self._changes.write(place, (text.encode("utf-8", "replace"),), origin)

    def _write_entry(self, surface: Surface, origin: ChangeOrigin) -> Path:
        entry = menu.menu_entry(surface.id)
        text = menu.entry_text(surface.id, surface.name, surface.folder / PICTURE)
        self._changes.write(self._places.locate(str(entry)), (text.encode(),), origin)
        return entry

    def _drop_entry(self, surface: Surface, origin: ChangeOrigin) -> None:
        if surface.is_in_menu:
            self._changes.delete(self._places.locate(str(menu.menu_entry(surface.id))), origin)

    def _keep_version(self, surface: Surface, origin: ChangeOrigin) -> None:
        last = int(surface.versions[-1].stem) if surface.versions else 0
        for old, ending in ((PAGE, "html"), (DOC, "md")):
            place = self._places.locate(str(surface.folder / VERSIONS / f"{last + 1:04}.{ending}"))
            self._changes.write(place, (_text(surface.folder / old).encode(),), origin)

    def _drop_versions(self, surface: Surface) -> None:
        for old in surface.versions[:-_MOST_VERSIONS]:
            old.unlink(missing_ok=True)
            old.with_suffix(".md").unlink(missing_ok=True)


class _SurfaceFolders(Workspace):
    """The workspace of the store: it allows changes in the folder of surfaces, and of their entries in the menu."""

    def _is_own(self, place: Place) -> bool:
        return not place.path.is_relative_to(self.folder)

    def check_writable(self, place: Place) -> None:
        surface_id = menu.surface_of(place.path)
        if not _ID.fullmatch(surface_id) or place.path != menu.menu_entry(surface_id).resolve():
            super().check_writable(place)


def standard_folder() -> Path:
    """Return the folder of the surfaces of this person."""
    return paths.data_dir() / "surfaces"


def checked_name(name: str) -> str:
    """Return a name in a readable form. Raises ToolMisuse for one that people cannot read."""
    name = " ".join(name.split())
    if not name or not name.isprintable() or not any(map(str.isalnum, name)):
        raise ToolMisuse("name: give a few visible words, such as Calorie tracker.")
    if len(name) > _NAME_CHARS:
        raise ToolMisuse(f"name: {len(name)} characters are too long for a name; give {_NAME_CHARS} at most.")
    return name


def titled(doc: str, name: str) -> str:
    """Return the description with `name` as its heading; a heading that it has already is replaced."""
    heading = _HEADING.match(doc)
    return f"# {name}\n\n{doc[heading.end() :] if heading else doc}".rstrip() + "\n"


def _unclear(wanted: str, named: Sequence[Surface], there: Sequence[Surface]) -> ToolFailed:
    """No surface has the name, or several have. People read no ids if a name is enough."""
    listed = ", ".join(f"{one.id} ({one.name})" for one in (named or there)[:_LISTED]) or "there are none yet"
    values = {"name": wanted, "list": f": {listed}"}
    if named:
        which = Phrase("Say which by its id: {ids}.", {"ids": listed})
        return ToolFailed(Phrase("several are called {name!r}{list!s}.", values), argument="id", advice=which)
    names = tuple(Phrase("{name!r}", {"name": one.name}) for one in there[:_LISTED])
    advice = Phrase("There are: {names}.", {"names": names}) if names else Phrase("There are none yet.")
    what = Phrase("nothing is called {name!r}{list!s}.", values)
    return ToolFailed(what, argument="id", advice=advice, facts=[Missing(wanted)])


def _in_one(origin: ChangeOrigin) -> ChangeOrigin:
    """All files of one call share this origin, so that one undo restores all of them."""
    return ChangeOrigin(f"{origin.turn}/{ids.unique('s')}", origin.tool, UndoCheck.NONE)


def _check_picture(text: str) -> None:
    if len(text.encode("utf-8", "replace")) > _PICTURE_BYTES:
        raise ToolFailed(f"thumbnail: it is larger than {_PICTURE_BYTES} bytes. Draw it with fewer shapes.")
    try:
        unfit = svg.sanitise(text).left_out
    except ToolMisuse as error:
        raise ToolMisuse(error.why.what, argument="thumbnail") from None
    if unfit:
        raise ToolMisuse(f"thumbnail: {unfit[0]} cannot be used in it: draw it with shapes, text and gradients only.")


def _no_trash(_folder: object, _name: str) -> bool:
    return False


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # because a surface need not have that file
        return ""
