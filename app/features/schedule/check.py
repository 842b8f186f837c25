"""The check of `wisp doctor` for the timer."""

from __future__ import annotations

from app.base.findings import Finding, note, ok
from app.features.schedule import timer


def schedules() -> Finding:
    """Report whether scheduled tasks run while Wisp is closed."""
    name = "Schedules"
    if why := timer.why_missing():
        return note(name, why.partition(":")[0], "Let a cron of the system call “wisp run-due” every few minutes.")
    return ok(name, "a timer of the session starts what is due")
