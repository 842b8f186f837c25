"""Whether a presence can be asked by other processes, seen from outside."""

from __future__ import annotations

import socket
from contextlib import suppress

from app.base import paths

_LIMIT_S = 1.0


def is_presence_running() -> bool:
    """Return whether a presence of this display can be asked."""
    with socket.socket(socket.AF_UNIX) as call, suppress(OSError):
        call.settimeout(_LIMIT_S)
        call.connect(str(paths.display_socket("questions")))
        return True
    return False
