"""What people call kinds of programs, such as “calculator”, from `resources/desktop/programs.toml`."""

from __future__ import annotations

from app.base import resources


def is_of_kind(program: str, said: str) -> bool:
    """Return whether `said` is a word for the kind of this program: `terminal` for xterm.

    A program may have a name with dots, as `org.gnome.Calculator`; the last part counts.
    """
    word, name = said.strip().casefold(), program.casefold().rpartition(".")[2]
    kinds = resources.table("desktop/programs.toml", resources.Table).values()
    return any(word in kind["words"] and name in (*kind["first"], *kind["words"]) for kind in kinds)
