"""What the person allowed for the rest of a task: the same again, not more."""

from __future__ import annotations

from collections.abc import Iterable

from app.agent.policy.values import Act, Stakes


class Permits:
    """A permit holds for the same tool on the same thing while nobody else's words were read than those known then."""

    def __init__(self) -> None:
        self._given: dict[tuple[object, ...], frozenset[str]] = {}
        self.answered: frozenset[str] = frozenset()
        """The places (`Control.place`) where acts of unknown effect were allowed."""

    def add(self, act: Act, known: Iterable[str]) -> None:
        """`known`: whose words had been read when the person said yes, and whose the act itself brings in."""
        self._given[_key(act)] = frozenset(known)

    def answer(self, act: Act) -> None:
        """The person allowed an act of unknown effect: others of that sort need no answer in the same windows."""
        if act.stakes is Stakes.UNKNOWN:
            self.answered |= {control.place for control in act.controls if control.place}

    def cover(self, act: Act, tainted_by: Iterable[str]) -> bool:
        """Whether the person has allowed this, knowing what had been read."""
        known = self._given.get(_key(act))
        return known is not None and known >= set(tainted_by)


def _key(act: Act) -> tuple[object, ...]:
    controls = tuple((control.app, control.role, control.name, control.default) for control in act.controls)
    to = act.arguments.get("run_id")
    return (act.tool, act.kinds, controls, act.paths, act.hosts, act.keys, act.command, act.text, to)
