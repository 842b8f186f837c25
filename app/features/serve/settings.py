"""The settings of the MCP server."""

from __future__ import annotations

from app.settings.catalog import Setting

ASK_IN_CLIENT = Setting(
    "trust.ask_in_client",
    False,
    "If another agent uses this desktop while Wisp itself is not open, the agent shows you Wisp's questions and "
    "passes on your answers. Turn it on only for agents that you trust with that.",
)

ALL = (ASK_IN_CLIENT,)
