"""Where there is no wall: commands run as the person's own programs do, and somebody is asked each time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.base.errors import ToolFailed
from app.services.sandbox.enclosure import Before, Enclosure, Period, Settled


class NoWall:
    """`why` is the sentence for whoever is asked."""

    def __init__(self, why: str) -> None:
        self._why = why

    def missing(self) -> str:
        return self._why

    def enclose(self, _cwd: Path, _environment: Mapping[str, str], _folder: Path, *, network: bool) -> Enclosure:  # noqa: ARG002
        raise ToolFailed(self._why)

    def settle(self, _folder: Path, _before: Before, _period: Period) -> Settled:
        return Settled()
