"""The settings of the MCP server."""

from __future__ import annotations

from app.settings.catalog import Setting

ASK_IN_CLIENT = Setting(
    "trust.ask_in_client",
    False,
    "Whether another agent's own window may ask you for a permission where no presence runs. That agent shows the "
    "question, and brings your answer: only for agents that you trust with it.",
)

ALL = (ASK_IN_CLIENT,)
