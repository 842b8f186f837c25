"""The settings of the MCP server."""

from __future__ import annotations

from app.settings.catalog import Setting

ASK_IN_CLIENT = Setting(
    "trust.ask_in_client",
    False,
    "This is for times when another agent, such as Claude Code, uses this desktop and Wisp is not open. On: "
    "that agent shows you Wisp's questions and passes on your answers. It could also answer by itself, so "
    "turn this on only if you trust it.",
)

ALL = (ASK_IN_CLIENT,)
