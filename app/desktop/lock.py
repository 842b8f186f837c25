"""One agent at a time on one desktop: a file that says who has it and since when."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from app.base import paths
from app.base.errors import ToolFailed

_HELD_S = 60.0
"""A holder that has done nothing for so long has let go."""


class DesktopLock:
    """`name` tells desktops apart (the display). Cheap enough to take before every action."""

    def __init__(self, name: str) -> None:
        self._path: Path = paths.state_dir() / f"hands{re.sub(r'[^0-9A-Za-z.]', '_', name)}.lock"

    def take(self) -> None:
        """Hold it from now on. ToolFailed while another living process does."""
        holder = self._holder()
        if holder and holder != os.getpid():
            raise ToolFailed(
                f"Another Wisp (process {holder}) is working on this desktop. Wait until it has finished, or stop it."
            )
        beside = self._path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps({"pid": os.getpid(), "at": time.time()}), encoding="utf-8")
        os.replace(beside, self._path)

    def let_go(self) -> None:
        """Leave it to others, if it is ours."""
        if self._holder() == os.getpid():
            self._path.unlink(missing_ok=True)

    def _holder(self) -> int:
        import psutil

        try:
            told = json.loads(self._path.read_text(encoding="utf-8"))
            pid, at = int(told["pid"]), float(told["at"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return pid if time.time() - at < _HELD_S and psutil.pid_exists(pid) else 0
