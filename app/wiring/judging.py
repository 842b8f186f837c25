"""The policy with everything it is given on this machine."""

from __future__ import annotations

from app.agent.judging import Commands
from app.agent.policy import Mode, Policy
from app.agent.policy.policy import Surroundings
from app.agent.policy.reading import NobodyKnows
from app.settings.catalog import MODE, STOP_KEY, SUMMON_KEY, YOLO_MINUTES
from app.settings.store import Settings
from app.wiring.tools import registry, workspace_of

_MINUTE_S = 60.0


def judged_by(settings: Settings, commands: Commands | None = None) -> Policy:
    """What decides about calls. Without `commands` nothing is known of what a command would be."""
    around = Surroundings(
        commands or NobodyKnows(),
        yolo_s=settings[YOLO_MINUTES] * _MINUTE_S,
        own_keys=(settings[STOP_KEY], settings[SUMMON_KEY]),
        tools=registry().specs,
    )
    return Policy(workspace_of(settings), Mode(settings[MODE]), surroundings=around)
