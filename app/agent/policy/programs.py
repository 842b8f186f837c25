"""Tell what a program can do for whoever uses it, by its desktop entry and process: its tier.

The tables are in `resources/policy/programs.toml`; a person adds to them in their `policy.toml`. The strictest tier
that fits counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from app.agent.policy.values import Tier
from app.base import resources
from app.desktop.backends import Owner

_STRICTEST_FIRST = (Tier.NEVER, Tier.OTHERS, Tier.COMMANDS)
_NEVER_SEEN = ("desktop/private_windows.txt", "desktop/lockers.txt")
_TERMINALS = "desktop/terminals.txt"

Programs = Mapping[Tier, Sequence[str]]
"""Names of programs by tier, as patterns with *."""


def tier_of(owner: Owner, added: Programs) -> Tier:
    """`added` are the person's own names."""
    return next((tier for tier in _STRICTEST_FIRST if _is_of(tier, owner, added)), Tier.ORDINARY)


def _is_of(tier: Tier, owner: Owner, added: Programs) -> bool:
    if tier is Tier.COMMANDS and owner.holds_terminal:
        return True
    if set(_table()["categories"].get(tier.value, ())) & set(owner.categories):
        return True
    patterns = (*_named(tier), *(name.casefold() for name in added.get(tier, ())))
    return any(fnmatchcase(label.casefold(), pattern) for label in owner.labels for pattern in patterns)


def _named(tier: Tier) -> Sequence[str]:
    names: list[str] = list(_table()["names"].get(tier.value, ()))
    if tier is Tier.NEVER:
        names += [line for file in _NEVER_SEEN for line in resources.lines(file)]
    if tier is Tier.COMMANDS:
        names += resources.lines(_TERMINALS)
    return names


def _table() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return resources.table("policy/programs.toml", resources.Table)
