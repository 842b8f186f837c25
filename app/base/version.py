"""Which Wisp this is."""

from __future__ import annotations

import sys
from pathlib import Path


def version() -> str:
    """With a note if Wisp runs from a checkout. Takes tens of milliseconds."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("wisp-desktop")
    except PackageNotFoundError:  # because a checkout and a frozen build have no installed metadata
        import tomllib

        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
        from_where = "" if getattr(sys, "frozen", False) else " (from a checkout)"
        return f"{project['project']['version']}{from_where}"
