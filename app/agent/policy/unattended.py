"""What a scheduled task may do with nobody there: it is allowed by name, as with `wisp do --allow NAME`."""

from __future__ import annotations

from collections.abc import Sequence

from app.base.clipping import shell_word
from app.base.errors import ToolMisuse

_LONGEST_CHARS = 300


def check_names(names: Sequence[str]) -> None:
    """Raise ToolMisuse unless each is a name, on one line, of one thing that may be used."""
    for name in names:
        if not name.strip() or not name.isprintable() or len(name) > _LONGEST_CHARS:
            raise ToolMisuse(f"allow: {name!r} is no name of 1 to {_LONGEST_CHARS} characters on one line.")
        if name.startswith("tool=") or not any(sign.isalnum() for sign in name):
            raise ToolMisuse(
                f"allow: {name!r} names nothing. Name a program, host, folder, server, command or button, "
                "as in --allow 'Text Editor' or --allow example.com."
            )


def command_to_add(
    schedule: str, task: str, names: Sequence[str], until: str = "", workspace: str = "", instead_of: int = 0
) -> str:
    """Return the command that schedules the task with these names, as it can be copied into a shell.

    `workspace` is "" where the shell's own folder is meant. `instead_of` is the id of the schedule that it replaces.
    """
    words = ["wisp", "schedule", "add", shell_word(schedule), shell_word(task)]
    words += [part for name in names for part in ("--allow", shell_word(name))]
    words += ["--until", until] if until else []
    words += ["--workspace", shell_word(workspace)] if workspace else []
    return f"{f'wisp schedule remove {instead_of} && ' if instead_of else ''}{' '.join(words)}"
