"""Decide about one act. This module is the whole of what Wisp asks, allows and denies.

The person decides which programs Wisp may use for a task; inside them it works without asking. Walls never fall. What
cannot be taken back and reaches others is confirmed, unless the person's sentence asked for it. Words read from others
never widen what may be done.
"""

from __future__ import annotations

from app.agent.policy.values import WALLS, Action, Consequence, Decision, Mode, Need, Subject, Tier, Trust
from app.protocol.spec import HARMLESS

_AFTER_READING = frozenset({Subject.TYPING, Subject.KEEPING})
"""What needs a grant only once others' words were read."""
ALWAYS_ASKED = frozenset({Subject.SESSION})
"""What no plan, grant or rule of the person permits: only their answer to this very question."""
_ONCE_A_TASK = (Subject.HOST, "")
"""In ask mode, one answer counts for all hosts until others' words were read."""


def decide(mode: Mode, act: Action, trust: Trust) -> tuple[Decision, tuple[Need, ...], Consequence | None]:
    """Return the decision, what must be asked for if it is ASK, and the wall if it is one that denies."""
    if wall := next((wall for wall in WALLS if wall in act.kinds), None):
        return Decision.DENY, (), wall
    if mode is Mode.PLAN and not act.effects <= HARMLESS:
        return Decision.DENY, (), None
    wanted = tuple(need for need in act.needs if need.subject in ALWAYS_ASKED or _asks(mode, need, trust))
    return (Decision.ASK if wanted else Decision.ALLOW), wanted, None


def granted(need: Need, trust: Trust) -> tuple[Subject, str]:
    """Return the grant that answers a need. What was agreed to before a secret was read does not answer it after."""
    secrets = f"\0{' '.join(trust.secrets)}" if need.is_outward and trust.secrets else ""
    return need.subject, f"{need.key}{secrets}"


def answers(need: Need, mode: Mode, trust: Trust) -> frozenset[tuple[Subject, str]]:
    """Return the grants that a yes to this need gives for the task."""
    is_first_host = need.subject is Subject.HOST and mode is Mode.ASK and not trust.tainted_by
    return frozenset({granted(need, trust)} | ({_ONCE_A_TASK} if is_first_host else set()))


def _asks(mode: Mode, need: Need, trust: Trust) -> bool:
    if trust.is_planned:
        return False
    if granted(need, trust) in trust.grants:
        return False
    if need.subject is Subject.SETTINGS or (need.is_outward and trust.secrets):
        return True  # in every mode: what Wisp may do later, and where keys and passwords could leave
    if need.is_named:
        return False
    if mode is Mode.YOLO:
        return need.subject is Subject.LEAVING  # because the sandbox is a wall
    if trust.tainted_by:
        return True
    if need.subject in _AFTER_READING:
        return False
    if mode is Mode.AUTO:
        return need.subject is not Subject.HOST and not _is_ordinary(need)
    return not (need.subject is Subject.HOST and _ONCE_A_TASK in trust.grants)


def _is_ordinary(need: Need) -> bool:
    return need.subject is Subject.PROGRAM and need.tier is Tier.ORDINARY
