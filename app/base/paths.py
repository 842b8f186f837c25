"""Where Wisp keeps its files. `WISP_DATA_DIR` moves all of them, for a portable copy or a test.

Several presences live side by side (`WISP_PRESENCE`): each has folders of its own below those of the first one.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import platformdirs

from app.base.errors import NeedsPerson

_NAME = "wisp"
_PRIVATE = 0o700  # so that other users of the computer cannot read it
PRESENCE = "WISP_PRESENCE"
_PRESENCES = "presences"
_NAME_CHARS = 40
_OWN_BYTES = 1_000_000
_OTHERS = re.compile(r"[^\w]+")


def _private(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    except OSError as error:
        raise NeedsPerson(
            f"The folder {folder} cannot be made ({error.strerror}). Name another one: WISP_DATA_DIR=/some/folder"
        ) from error
    return folder


def _root(kind: str) -> Path:
    moved = os.environ.get("WISP_DATA_DIR")
    return Path(moved) / kind if moved else Path(_DEFAULTS[kind]())


def _place(kind: str, of: str | None = None) -> Path:
    own = presence() if of is None else of
    return _private(_root(kind) / _PRESENCES / own if own else _root(kind))


def presence() -> str:
    """Return the id of the presence that this process serves; "" for the first one."""
    return os.environ.get(PRESENCE, "")


def id_of(name: str) -> str:
    """Return the id of a presence of this name. Raises NeedsPerson if the name holds no letter or digit."""
    own = _OTHERS.sub("-", name.casefold()).strip("-_")
    if not own or len(name) > _NAME_CHARS:
        raise NeedsPerson(f"A presence needs a name of letters or digits, up to {_NAME_CHARS} characters.")
    return own


def known_presence(name: str) -> str:
    """Return the id of the presence of this name. Raises NeedsPerson if there is none."""
    own = id_of(name)
    if own not in presences():
        others = ", ".join(presences())
        what_to_do = f"There are: {others}" if others else f"Make it: wisp presence create {name}"
        raise NeedsPerson(f"There is no presence {name!r}. {what_to_do}")
    return own


def settle_presence() -> None:
    """Let this process and those that it starts serve the presence that `WISP_PRESENCE` names, by its id.

    Raises NeedsPerson if there is none: a slip would otherwise make one, wherever its name points.
    """
    if given := presence():
        os.environ[PRESENCE] = known_presence(given)


def presences() -> dict[str, tuple[Path, ...]]:
    """Return the ids of the other presences, sorted, each with its folders."""
    found: dict[str, tuple[Path, ...]] = {}
    for kind in _KEPT:
        folders = (_root(kind) / _PRESENCES).glob("*/")
        for folder in folders:
            found[folder.name] = (*found.get(folder.name, ()), folder)
    return dict(sorted(found.items()))


def rank() -> int:
    """Return how many presences come before this one."""
    known = list(presences())
    return 1 + known.index(presence()) if presence() in known else 0


def own_dirs() -> tuple[Path, ...]:
    """Return the folders that hold what Wisp keeps, of all presences."""
    return tuple(_private(_root(kind)) for kind in _KEPT)


def roots() -> tuple[Path, ...]:
    """Return the folders that hold all that Wisp keeps, of all presences, as far as they are there.

    Where the person chose the place, other things may lie in folders of these names: then only those count that hold a
    file of Wisp's.
    """
    there = [root for kind in _DEFAULTS if (root := _root(kind)).is_dir() and not root.is_symlink()]
    return tuple(root for root in there if not are_moved() or any((root / name).is_file() for name in _OWN_FILES))


def are_moved() -> bool:
    """True if the person chose another place than the usual one."""
    return bool(os.environ.get("WISP_DATA_DIR"))


_OWN_FILES = (
    "settings.toml",
    "keys.json",
    "welcomed",
    "journal.db",
    "memory.db",
    "agenda.db",
    "wisp.log",
    "presence.lock",
)


def data_dir() -> Path:
    """For conversations, memories and made files: worth a backup. Only the owner can read it."""
    return _place("data")


def config_dir(of: str | None = None) -> Path:
    """For settings and rules that the person wrote, of this presence or the one with the id `of`."""
    return _place("config", of)


def keys_dir() -> Path:
    """All presences share it."""
    return _private(_root("config"))


def state_dir() -> Path:
    """For window positions, logs, crash reports and runs, which may be deleted."""
    return _place("state")


def runtime_dir(of: str | None = None) -> Path:
    """For sockets and locks of the running session, of this presence or the one with the id `of`."""
    return _place("run", of)


def display_socket(name: str, of: str | None = None) -> Path:
    """Return the path of a socket by which the processes on this display find each other. Only this person can use it.

    `of` is the id of a presence; this process's by default, "" for the first one.
    """
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or "local"
    return runtime_dir(of) / f"{name}-{hashlib.sha256(display.encode()).hexdigest()[:8]}"


def _user_runtime_dir() -> str:
    """The session's folder, or the private folder in the temporary folder if there is no session folder."""
    with warnings.catch_warnings():
        # Its fallback is what is wanted here; a warning of Python's is nothing that a person could act on.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        return platformdirs.user_runtime_dir()


_DEFAULTS: dict[str, Callable[[], str]] = {
    "config": lambda: platformdirs.user_config_dir(_NAME),
    "state": lambda: platformdirs.user_state_dir(_NAME),
    "data": lambda: platformdirs.user_data_dir(_NAME),
    "run": lambda: os.path.join(_user_runtime_dir(), _NAME),
}
_KEPT = ("config", "state", "data")


def made_dir() -> Path:
    """Return the old folder of files that the assistant made. `wisp:/` still finds them."""
    return _private(data_dir() / "files")


def resources() -> Path:
    """Return the folder of words and pictures: beside the package in a checkout, inside it once installed."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "resources"
    return inside if inside.is_dir() else package.parent / "resources"


def read_own(path: Path, most_bytes: int = _OWN_BYTES) -> str:
    """Return the text of a file that the person writes.

    Raises OSError or ValueError with a clause that says why it cannot be read and what to do. What is no file is not
    opened, because a pipe would block.
    """
    try:
        if path.is_dir():
            raise OSError("a folder is in its place; move the folder away")
        if path.is_symlink() and not path.exists():
            raise OSError("it is a link to a file that is not there; make that file, or remove the link")
        if path.exists() and not path.is_file():
            raise OSError("a pipe or a device is in its place; move it away")
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except PermissionError as error:
        raise OSError(f"you may not read it; allow it: chmod u+r {path.name}") from error
    if len(data) > most_bytes:
        raise ValueError(f"it is larger than {most_bytes // 1000} kB; make it shorter")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from error


def free(place: Path) -> Path:
    """Return the path, or the first of its numbered neighbours (such as `name-2.png`) if something is there."""
    names = (place.with_stem(f"{place.stem}-{number}") for number in itertools.count(2))
    return place if not place.exists() else next(one for one in names if not one.exists())
