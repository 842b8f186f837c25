"""The settings of the MCP server."""

from __future__ import annotations

from app.settings.catalog import Setting

ASK_IN_CLIENT = Setting(
    "trust.ask_in_client",
    False,
    "Another agent, such as Claude Code, may use this desktop while Wisp is not open. On: the agent then "
    "shows you Wisp's questions and passes on your answers. It could also answer by itself, so turn this on "
    "only if you trust it.",
)

ALL = (ASK_IN_CLIENT,)
