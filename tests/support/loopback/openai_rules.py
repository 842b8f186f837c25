"""What an OpenAI-compatible server refuses in a request."""

from __future__ import annotations

from typing import Any


def broken_by(body: dict[str, Any]) -> str:
    """The server's words about the first rule that the request breaks, or nothing."""
    if not body.get("model"):
        return "you must provide a model parameter"
    wanted: list[str] = []
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in wanted:
                return f"messages[{number}]: a 'tool' message must follow the 'tool_calls' that it answers."
            wanted.remove(message["tool_call_id"])
            continue
        if wanted:
            return f"messages[{number}]: tool_call_ids did not have response messages: {', '.join(wanted)}"
        wanted = [call["id"] for call in message.get("tool_calls") or ()]
    return ""
