"""Whether commands can be kept inside the workspace: tried for real."""

from __future__ import annotations

from app.commands.checks.report import Finding, note, ok
from app.settings.store import load
from app.wiring.commands import wall_of

_ASKED = "Until then each command is asked for, with everything it says."


def sandbox() -> Finding:
    """Without it Wisp works, and asks for every command."""
    name = "Sandbox for commands"
    missing = wall_of(load()).missing()
    if not missing:
        return ok(name, "bubblewrap stands: commands see the workspace, no network, no screen")
    reason, _, fix = missing.partition(". ")
    return note(name, reason.rstrip("."), f"{fix} {_ASKED}".strip())
