"""How a run is told: to the person as a card, to the model in a few lines."""

from __future__ import annotations

from app.protocol.result import JsonValue
from app.services.processes.run import Run

_STDOUT_BYTES, _STDERR_BYTES = 65_536, 32_768
_ALONE = "inside its sandbox only; start it with network=true for others to reach it"
_NAMED = 5
_STDOUT_PREVIEW, _STDERR_PREVIEW = 12_288, 6_144


def state(run: Run, now: float) -> str:
    """One sentence on whether it goes on."""
    record = run.record
    if run.is_running:
        return f"Run {run.id} is still running ({now - record.started_at:.1f} s)."
    took = f"after {(record.ended_at or now) - record.started_at:.1f} s"
    why = f" because {record.stopped}" if record.stopped else ""
    code = record.exit_code
    if code is None:
        return f"Run {run.id} has ended{why}; its exit code is not known."
    if code < 0:
        return f"Run {run.id} was ended by signal {-code} {took}{why}."
    return f"Run {run.id} ended with exit code {code} {took}{why}."


def summary(run: Run, now: float, *, url: str = "") -> str:
    """The state, what was set aside, and what can be done with a run that goes on."""
    if not run.is_running:
        return f"{state(run, now)}{left_behind(run)}"
    server = f" It serves {url} {_ALONE if run.record.walled and not run.record.network else ''}." if url else ""
    return (
        f"{state(run, now)}{server} It goes on: read_command_tail shows more, wait_until waits for it, "
        "stop_command ends it."
    )


def left_behind(run: Run) -> str:
    """Names files that something would run without being asked: those renamed, those that may be the person's."""
    aside, unclear = ", ".join(run.record.set_aside), ", ".join(run.record.unclear)
    found = ""
    if aside:
        found += (
            f" It left what runs by itself; renamed to end in .set-aside: {aside}. Tell the person; "
            f"`wisp undo --command {run.id}` puts it back."
        )
    found += _deleted(run)
    if unclear:
        found += (
            f" While it went on, something appeared that runs by itself: {unclear}. Nothing tells whether the command "
            "or the person made it, so it was left alone. Tell the person to look at it before they use that folder."
        )
    return found


def _deleted(run: Run) -> str:
    """Names what is gone from the workspace, and how it comes back."""
    record = run.record
    said = ""
    if record.deleted:
        shown = ", ".join(record.deleted[:_NAMED]) + (" and others" if len(record.deleted) > _NAMED else "")
        said = (
            f" It deleted {len(record.deleted)} files ({shown}). They are kept: ask the person whether that is right; "
        )
        said += f"Take back in the window, or `wisp undo --turn {record.turn}`, puts them back."
    if record.lost:
        said += f" {record.lost} files that it deleted could not be kept."
    if (record.deleted or record.lost) and not record.is_kept_whole:
        said += " The folder has more files than are kept, so there may be others."
    return said


def preview(run: Run) -> str:
    """Head and tail of the output, for the model."""
    out, err = run.stdout.kept(_STDOUT_PREVIEW).rstrip("\n"), run.stderr.kept(_STDERR_PREVIEW).rstrip("\n")
    parts = ["" if not out else f"\n{out}", "" if not err else f"\n[stderr]\n{err}"]
    return "".join(parts) or "\n(no output)"


def card(run: Run, now: float, *, with_output: bool = True) -> dict[str, JsonValue]:
    """The run as data."""
    record = run.record
    facts: dict[str, JsonValue] = {
        "run_id": run.id,
        "command": record.command,
        "cwd": record.cwd,
        "pty": record.pty,
        "sandboxed": record.walled,
        "network": record.network,
        "running": run.is_running,
        "exit_code": record.exit_code,
        "stopped": record.stopped,
        "set_aside": list(record.set_aside),
        "deleted": list(record.deleted),
        "undoable": bool(record.deleted),
        "seconds": round((record.ended_at or now) - record.started_at, 3),
        "stdout_bytes": run.stdout.size(),
        "stderr_bytes": run.stderr.size(),
    }
    if with_output:
        facts |= {"stdout": run.stdout.kept(_STDOUT_BYTES), "stderr": run.stderr.kept(_STDERR_BYTES)}
    return facts
