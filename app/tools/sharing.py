"""Whoever acts on the desktop takes it before: Wisp's own tasks together, a client of its MCP server alone."""

from __future__ import annotations

from app.desktop.driving import Driving
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec

_OWN = "Wisp"


class DesktopSharing:
    """Takes the desktop before each call that acts on it. `client` is the agent that acts; "" for Wisp."""

    def __init__(self, driving: Driving) -> None:
        self._driving = driving
        self.client = ""

    async def before(self, spec: ToolSpec, call: ToolCall) -> None:
        """Raise ToolFailed while another program acts on the desktop through Wisp."""
        if Effect.DESKTOP in spec.effects_of(call):
            self._driving.take(self.client or _OWN, alone=bool(self.client))

    def release(self) -> None:
        """Let others act on the desktop."""
        self._driving.release()
