"""The settings of tool servers (MCP)."""

from __future__ import annotations

from app.settings.catalog import Setting

SERVER_START_S = Setting(
    "chat.server_start_s",
    300,
    "How long a tool server (MCP) may take to start. Then Wisp gives up and ends it.",
    minimum=5,
    maximum=600,
)

ALL = (SERVER_START_S,)
