"""Placeholder until the way to the presence is there."""

from __future__ import annotations

from app.agent.agent_events import ApprovalWanted
from app.agent.gate import ApprovalAnswer


async def ask_in_presence(_wanted: ApprovalWanted) -> ApprovalAnswer | None:
    return None
