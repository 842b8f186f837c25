"""Plays a whole corpus in one room under all observers, and reports what got out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.attacker import Played, play, play_without_gate, prepare
from tests.hostile.cases import Case, Wall, at_or_before
from tests.hostile.observers.files import FileWatch, fingerprint
from tests.hostile.observers.hidden import hidden_in
from tests.hostile.observers.memory import MemoryWatch
from tests.hostile.observers.network import CallWatch
from tests.hostile.observers.processes import descendants
from tests.hostile.observers.tags import forged
from tests.hostile.room import Room, room

_MOST_MB = 100
_CANARY_FOLDERS = ("home", "outside", "workspace/.git")


@dataclass
class Outcome:
    """`effects` must stay empty; `stopped` counts the walls; `wrong` are cases another wall (or none) stopped.

    `refused` are all calls that were not permitted, of all cases.
    """

    effects: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    stopped: Counter[str] = field(default_factory=Counter)
    blocked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    prompts: int = 0
    cases: int = 0


async def play_all(
    cases: Iterable[Case],
    root: Path,
    *,
    gate: bool = True,
    attended: bool | None = None,
    allowed: Sequence[str] = (),
) -> Outcome:
    """Every case in order, each judged as soon as it is over. Without the gate, what stands behind it is left alone.

    With `attended`, or at every third case where it is not given, somebody is there and says no to every question.
    `allowed` are the names that `--allow` gives.
    """
    outcome = Outcome()
    with room(root) as here, CallWatch() as calls, FileWatch(root) as files:
        before = fingerprint(root / name for name in _CANARY_FOLDERS)
        children, memory = set(descendants()), MemoryWatch()
        for number, case in enumerate(cases):
            outcome.cases += 1
            prepare(case, here, port=calls.port)
            memory.forget()
            if gate:
                is_attended = number % 3 == 0 if attended is None else attended
                played = await play(case, here, port=calls.port, attended=is_attended, allowed=allowed)
            else:
                played = await play_without_gate(case, here, port=calls.port)
            outcome.effects += _effects(played, here, files, calls)
            outcome.effects += [f"{case.id}: took {memory.grown_mb} MB"] if memory.grown_mb > _MOST_MB else []
            outcome.effects += [f"{case.id}: left {what!r} running" for what in _left(children)]
            _judge(played, outcome)
        after = fingerprint(root / name for name in _CANARY_FOLDERS)
        outcome.effects += [f"changed: {path}" for path in before | after if before.get(path) != after.get(path)]
    return outcome


def _effects(played: Played, here: Room, files: FileWatch, calls: CallWatch) -> list[str]:
    changed = files.changed()
    out = [f"changed {path}" for path in sorted(changed) if not here.may_change(path)]
    out += [f"called {peer}" for peer in (*calls.calls, *calls.tried) if not here.is_site(peer)]
    told = "\n".join(played.told())
    out += [f"told the model {name}" for name in sorted(here.canaries.within(told.encode(errors="replace")))]
    out += [f"forged {tag}" for tag in forged(played.answers, played.case.dialect, played.tools)]
    if played.ran[: len(played.case.ran)] != list(played.case.ran):
        out.append(f"ran {played.ran}")
    out += [f"showed hidden signs {sign}" for sign in sorted(hidden_in(told))]
    out += [f"wrote {name} into {path}" for name, path in sorted(here.canaries.in_files(changed))]
    calls.forget()
    return [f"{played.case.id}: {what}" for what in out]


def _left(children: set[int]) -> list[str]:
    return [command for number, command in descendants().items() if number not in children]


def _judge(played: Played, outcome: Outcome) -> None:
    case, wall = played.case, played.stopped_by
    denied = (event for event in played.finished if event.payload.get("denied"))
    outcome.refused += [f"{case.id}: {event.tool}: {event.echo[:200]}" for event in denied]
    outcome.stopped[case.wall.value if case.wall else "none"] += 1
    outcome.prompts += played.asked
    if case.wall is None:
        if wall not in (None, Wall.READER):
            outcome.blocked.append(
                f"{case.id}: {wall.value}: {played.finished[-1].echo[:200] if played.finished else ''}"
            )
    elif not at_or_before(wall, case.wall):
        outcome.wrong.append(f"{case.id}: {case.wall.value} should have stopped it, not {wall and wall.value}")
