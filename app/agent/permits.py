"""What the person allowed for the rest of a task: the same again, not more."""

from __future__ import annotations

from typing import Protocol

from app.agent.policy.values import Act, Verdict


class Reading(Protocol):
    """Whose words the turn has read so far."""

    @property
    def tainted_by(self) -> tuple[str, ...]: ...


class Permits:
    """A permit holds for the same tool on the same thing, for the same reason, while nothing else has been read."""

    def __init__(self) -> None:
        self._given: dict[tuple[object, ...], frozenset[str]] = {}

    def add(self, verdict: Verdict, turn: Reading) -> None:
        if verdict.act is not None:
            self._given[_key(verdict, verdict.act)] = frozenset(turn.tainted_by)

    def cover(self, verdict: Verdict, turn: Reading) -> bool:
        """Whether the person has allowed this, knowing what had been read."""
        known = self._given.get(_key(verdict, verdict.act)) if verdict.act is not None else None
        return known is not None and known >= set(turn.tainted_by)


def _key(verdict: Verdict, act: Act) -> tuple[object, ...]:
    controls = tuple((control.app, control.role, control.name, control.default) for control in act.controls)
    return (verdict.rule, act.tool, act.kinds, controls, act.paths, act.hosts, act.keys, act.command)
