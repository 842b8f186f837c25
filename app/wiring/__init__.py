"""Puts the parts together. Knows everybody, decides nothing."""

from __future__ import annotations

from app.settings.store import Settings
from app.wiring.assistant import Assistant, assemble, assembled
from app.wiring.commands import commands_of
from app.wiring.journal import archive, journal_path, read_journal
from app.wiring.judging import judged_by
from app.wiring.tools import checkpoints, registry, why_moved, workspace_of

__all__ = [
    "Assistant",
    "Settings",
    "archive",
    "assemble",
    "assembled",
    "checkpoints",
    "commands_of",
    "journal_path",
    "judged_by",
    "read_journal",
    "registry",
    "why_moved",
    "workspace_of",
]
