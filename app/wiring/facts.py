"""What is true on this machine right now, for the end of the prompt: folder, time, screen, windows."""

from __future__ import annotations

import datetime
import locale
import platform
from collections.abc import Mapping
from pathlib import Path

from app.base.clipping import clip_line
from app.base.clock import Clock
from app.desktop.desk import Desktop
from app.desktop.seat import Seat
from app.services.workspace.places import visible

_ENTRIES = 60
_WINDOWS = 20
_TITLE_CHARACTERS = 80


class MachineFacts:
    """Gathered anew for every pass; each text is short, because a model reads it every time."""

    def __init__(self, workspace: Path, desktop: Desktop, clock: Clock) -> None:
        self._workspace = workspace
        self._desktop = desktop
        self._clock = clock

    async def gather(self) -> Mapping[str, str]:
        screen, windows = await self._desktop.run(_looked)
        return {
            "Workspace": _listing(self._workspace),
            "Time and place": self._moment(),
            "Screen": screen,
            "Windows": windows,
        }

    def _moment(self) -> str:
        now = datetime.datetime.fromtimestamp(self._clock.wall()).astimezone()
        language = locale.getlocale()[0] or "unknown locale"
        return f"{now:%A %Y-%m-%d %H:%M %Z}, {language}, {platform.system()} {platform.release()}"


def _listing(folder: Path) -> str:
    try:
        names = sorted(visible(entry.name) + ("/" if entry.is_dir() else "") for entry in folder.iterdir())
    except OSError as error:
        return f"{folder} cannot be read: {error.strerror}"
    shown = "\n".join(names[:_ENTRIES]) or "(empty)"
    more = f"\n… and {len(names) - _ENTRIES} more" if len(names) > _ENTRIES else ""
    return f"{folder}\n{shown}{more}"


async def _looked(seat: Seat) -> tuple[str, str]:
    whole = seat.backend.screen.extent()
    windows = seat.backend.windows.all()
    lines = [
        f"{'*' if window.is_active else '-'} {_short(window.title)!r} ({_short(window.app)})"
        for window in windows[:_WINDOWS]
    ]
    return f"{whole.width}x{whole.height} pixels", "\n".join(lines) or "(none open)"


def _short(name: str) -> str:
    return clip_line(name, _TITLE_CHARACTERS)
