"""The desktop's trash, where there is one."""

from __future__ import annotations

from pathlib import Path


def to_trash(path: Path) -> bool:
    """Move a file to the trash; False where there is none for it."""
    import send2trash

    try:
        send2trash.send2trash(str(path))
    except OSError:
        return False
    return True
