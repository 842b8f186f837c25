"""What the empty field proposes: one thing that can really be done, another every day."""

from __future__ import annotations

import datetime
import tomllib

from app.base import paths


def todays() -> str:
    """Today's line of `resources/suggestions.toml`."""
    tree = tomllib.loads((paths.resources() / "suggestions.toml").read_text(encoding="utf-8"))
    known: list[str] = tree["suggestions"]
    return known[datetime.date.today().toordinal() % len(known)]
