"""What a command would be, before it runs: what it wants, whether the wall stands around it, whether it only looks.

A pure function, for the policy to judge by. It decides nothing, and being read-only never opens the wall.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.services.sandbox import reading


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a call asks for beyond the workspace. A wish is only ever granted by the policy or the person.

    `network` is the internet and what listens on this machine; `outside` is everything: no wall at all.
    """

    network: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class CommandClass:
    """`sandboxed`: it will run behind the wall. `reasons` says, in whole sentences, why it is no more harmless."""

    read_only: bool
    sandboxed: bool
    wants_network: bool
    wants_outside: bool
    reasons: tuple[str, ...] = ()


def classify(
    command: str, cwd: Path, workspace: Path, wishes: Wishes | None = None, *, no_wall: str = ""
) -> CommandClass:
    """Of a command in a folder. `no_wall` is the sentence that says why there is no wall here, empty where one stands.

    `cwd` and `workspace` are resolved here, links included. A folder outside the workspace is a wish for the outside.
    """
    wishes = wishes or Wishes()
    reasons = []
    is_outside = wishes.outside or not _is_within(cwd, workspace)
    if wishes.outside:
        reasons.append("It asks to run outside the sandbox, with everything you may do.")
    elif is_outside:
        reasons.append(f"It works in {cwd}, outside the workspace.")
    if wishes.network:
        reasons.append("It asks for the network.")
    if no_wall:
        reasons.append(no_wall)
    if objection := _objection(command, cwd, workspace):
        reasons.append(f"It may do more than look: {objection}.")
    return CommandClass(
        read_only=not objection,
        sandboxed=not no_wall and not is_outside,
        wants_network=wishes.network,
        wants_outside=is_outside,
        reasons=tuple(reasons),
    )


def _objection(command: str, cwd: Path, workspace: Path) -> str:
    try:
        return reading.objection(command, cwd.resolve(), workspace.resolve())
    except (OSError, RuntimeError, ValueError):
        return "its folder cannot be found"


def _is_within(cwd: Path, workspace: Path) -> bool:
    """Unsure means no."""
    try:
        return cwd.resolve().is_relative_to(workspace.resolve())
    except (OSError, RuntimeError, ValueError):
        return False
