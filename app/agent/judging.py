"""What the policy asks about commands. Wiring fills it (`app.tools.judging.CommandJudge`)."""

from __future__ import annotations

from typing import Protocol

from app.protocol.call import ToolCall
from app.services.sandbox.classes import CommandClass


class Commands(Protocol):
    """Knows what a call's command would be, without running it."""

    def classify(self, call: ToolCall) -> CommandClass | None:
        """None for a call that starts no command and types into none. Never raises."""
        ...
