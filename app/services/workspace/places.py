"""Where a path of a tool call leads: relative to the workspace (also as `wisp:/`), absolute, `device:/` or `~/` (home).

Every path is resolved first (links included); what counts is where it ends. Folders with a `zone` may be written to,
anything else is only read. A secret is neither read nor written, and what starts by itself is never written.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.base import paths
from app.base.errors import NeedsPerson, ToolFailed, ToolMisuse
from app.services.workspace import protected
from app.services.workspace.complaints import told

_FORMS = "a path relative to the workspace, an absolute one, device:/… (home) or wisp:/… (the workspace)"
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SYSTEM = tuple(Path(path) for path in ("/proc", "/sys", "/dev"))
_SHOWN_CHARS = 120
_NAME_BYTES = 255
_PATH_CHARS = 4_096


class Zone(StrEnum):
    """What a place belongs to; policy judges by it."""

    WORKSPACE = "workspace"
    MADE = "made"
    TEMP = "temp"
    HOME = "home"
    OUTSIDE = "outside"


_PROJECT_ZONES = (Zone.WORKSPACE, Zone.MADE, Zone.TEMP)


@dataclass(frozen=True, slots=True)
class Place:
    """A resolved path. `shown` is how people and models call it; `root` the allowed folder it lies in."""

    path: Path
    shown: str
    zone: Zone
    root: Path
    argument: str = "path"

    @property
    def inner(self) -> tuple[str, ...]:
        """The path's parts below its root."""
        return self.path.relative_to(self.root).parts

    @property
    def is_outside(self) -> bool:
        return self.zone is Zone.OUTSIDE

    def is_file(self) -> bool:
        """Whether a regular file can be seen there."""
        return stat.S_ISREG(self._mode())

    def is_folder(self) -> bool:
        """Whether a folder can be seen there."""
        return stat.S_ISDIR(self._mode())

    def exists(self) -> bool:
        """Whether anything can be seen there."""
        return bool(self._mode())

    def _mode(self) -> int:
        try:
            return self.path.stat().st_mode
        except OSError:
            return 0


class Workspace:
    """The folders that file tools may work in; `folder` is where relative paths begin.

    `home` may be written to as well (the common rule); policy decides which of the zones asks first.
    """

    def __init__(self, folder: Path, *, home: Path | None = None, temp: Path | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        self._home = Path(os.path.realpath(home or Path.home()))
        self._made = Path(os.path.realpath(paths.made_dir()))
        self._zones = {
            Path(os.path.realpath(temp or tempfile.gettempdir())): Zone.TEMP,
            self._home: Zone.HOME,
            self._made: Zone.MADE,
            self.folder: Zone.WORKSPACE,
        }
        own = (paths.config_dir(), paths.state_dir(), paths.data_dir())
        self._own = tuple(Path(os.path.realpath(folder)) for folder in own)

    def locate(self, text: str, argument: str = "path") -> Place:
        """Where `text` leads. Raises ToolMisuse for what is no path; nothing needs to exist there."""
        absolute = self._absolute(text, argument)
        with told(argument, _cut(text)):
            path = Path(os.path.realpath(absolute))
        roots = [root for root in self._zones if path.is_relative_to(root)]
        root = max(roots, key=lambda root: len(root.parts), default=None)
        if root is None:
            return Place(path, self._shown(path), Zone.OUTSIDE, Path(path.anchor), argument)
        return Place(path, self._shown(path), self._zones[root], root, argument)

    def private_below(self, place: Place) -> list[Path]:
        """What has to be left out of a search in that folder: Wisp's own files, and what is no file at all."""
        kept = [folder for folder in (*self._own, *_SYSTEM) if folder.is_relative_to(place.path)]
        return [folder for folder in kept if folder != place.path]

    def check_readable(self, place: Place) -> None:
        """Raises ToolFailed for keys and passwords, Wisp's own included, and for what processes hold in memory."""
        if any(place.path.is_relative_to(folder) for folder in _SYSTEM):
            raise ToolFailed(f"{place.argument}: {place.shown!r} is no file but a part of the running system.")
        if self._is_secret(place) or self._is_own(place):
            raise ToolFailed(
                f"{place.argument}: {place.shown!r} holds keys, passwords or settings of Wisp; it is left alone."
            )

    def check_writable(self, place: Place) -> None:
        """Raises NeedsPerson outside the allowed folders, ToolFailed for protected names."""
        self.check_readable(place)
        if place.is_outside:
            raise NeedsPerson(
                f"{place.argument}: {place.shown!r} is outside the folders that may be changed (the workspace, home, "
                "wisp:/ and the temporary folder). Choose a place in one of them, or ask the person to do it."
            )
        if protected.starts_by_itself(place.path.parts):
            raise NeedsPerson(
                f"{place.argument}: {place.shown!r} is protected, because the system or git runs it without asking. "
                "Tell the person what to change there."
            )

    def _is_secret(self, place: Place) -> bool:
        """Also by another name, as a hard link has it. What projects hold of the kind is left to the policy there."""
        if protected.is_secret(place.path.parts) or protected.is_known_inode(place.path):
            return True
        if place.zone not in _PROJECT_ZONES and protected.is_local_secret(place.path):
            return True
        return place.zone not in _PROJECT_ZONES and protected.is_private_key(place.path)

    def _is_own(self, place: Place) -> bool:
        if place.zone is Zone.MADE:
            return False
        return any(place.path.is_relative_to(folder) for folder in self._own)

    def _absolute(self, text: str, argument: str) -> Path:
        _check_spelling(text, argument)
        for prefix, folder in (
            ("wisp:", self.folder),
            ("bor:", self.folder),
            ("device:", self._home),
            ("~/", self._home),
        ):
            if text.startswith(prefix):
                rest = text.removeprefix(prefix).lstrip("/\\")
                return self._made / rest if prefix in ("wisp:", "bor:") and self._was_made(rest) else folder / rest
        if text == "~":
            return self._home
        if scheme := _SCHEME.match(text):
            raise ToolMisuse(f"{argument}: {scheme[1]}:/ is not a form of path here. Give {_FORMS}.")
        return self.folder / text

    def _was_made(self, rest: str) -> bool:
        """Whether `wisp:/` means a file of the folder that it once was: there is one, and none in the workspace."""
        is_below = os.path.realpath(self._made / rest).startswith(f"{self._made}{os.sep}")
        return is_below and os.path.lexists(self._made / rest) and not os.path.lexists(self.folder / rest)

    def _shown(self, path: Path) -> str:
        return visible(self._called(path))

    def _called(self, path: Path) -> str:
        for root, prefix in ((self.folder, ""), (self._made, "wisp:/"), (self._home, "device:/")):
            if path == root:
                return prefix or "."
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return str(path)


def visible(name: str) -> str:
    """A name as it may be told: no line breaks, no control signs, no bytes that are no text."""
    return name if name.isprintable() else "".join(sign if sign.isprintable() else "\ufffd" for sign in name)


def _check_spelling(text: str, argument: str) -> None:
    if not text.strip():
        raise ToolMisuse(f"{argument} is empty: give {_FORMS}.")
    if "\0" in text:
        raise ToolMisuse(f"{argument} contains a NUL character; no file name can.")
    if os.name == "posix" and _DRIVE.match(text):
        raise ToolMisuse(f"{argument}: {_cut(text)!r} is a Windows path; this machine has none. Give {_FORMS}.")
    if len(text) > _PATH_CHARS:
        raise ToolMisuse(f"{argument}: {_cut(text)!r} is longer than any path can be ({_PATH_CHARS} characters).")
    try:
        longest = max(len(part) for part in os.fsencode(text).split(b"/"))
    except UnicodeEncodeError:
        raise ToolMisuse(f"{argument} contains half of a surrogate pair; no file name can.") from None
    if longest > _NAME_BYTES:
        raise ToolMisuse(f"{argument}: a name in {_cut(text)!r} is longer than the file system allows (255 bytes).")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
