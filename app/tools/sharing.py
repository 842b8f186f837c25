"""Wisp's own tasks take the desktop before they act on it."""

from __future__ import annotations

from app.desktop.driving import Driving
from app.protocol.call import ToolCall
from app.protocol.spec import Effect, ToolSpec

_OWN = "Wisp"


class DesktopSharing:
    """Takes the desktop before each call that acts on it, shared with other tasks of Wisp."""

    def __init__(self, driving: Driving) -> None:
        self._driving = driving

    async def before(self, spec: ToolSpec, call: ToolCall) -> None:
        """Raise ToolFailed while another program acts on the desktop through Wisp."""
        if Effect.DESKTOP in spec.effects_of(call):
            self._driving.take(_OWN, alone=False)
