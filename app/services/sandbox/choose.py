"""Which wall stands around commands on this system."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from app.base import paths
from app.services.sandbox.bubblewrap import Bubblewrap
from app.services.sandbox.layout import Rooms
from app.services.sandbox.sandbox import NoWall, Sandbox

_ELSEWHERE = "There is no sandbox for commands on this system: each of them runs with everything you may do."
_SWITCHED_OFF = "The sandbox for commands is switched off in the settings (trust.commands)."


def wall(workspace: Path, *, wanted: bool, readable: tuple[Path, ...] = ()) -> Sandbox:
    """The wall around this workspace; `readable` names further folders that commands may look into."""
    if not wanted:
        return NoWall(_SWITCHED_OFF)
    if platform.system() != "Linux":
        return NoWall(_ELSEWHERE)
    return Bubblewrap(_rooms(workspace, readable), _private("calls"))


def _rooms(workspace: Path, readable: tuple[Path, ...]) -> Rooms:
    moved = os.environ.get("WISP_DATA_DIR")
    own = (paths.config_dir(), paths.state_dir(), paths.data_dir(), *((Path(moved),) if moved else ()))
    return Rooms(
        workspace=_real(workspace),
        person_home=_real(Path.home()),
        home=_private("home"),
        temp=_private("tmp"),
        made=_real(paths.made_dir()),
        own=tuple(map(_real, own)),
        readable=tuple(map(_real, readable)),
    )


def _private(name: str) -> Path:
    folder = _real(paths.state_dir()) / "sandbox" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
