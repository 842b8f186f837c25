"""Servers on this machine that speak the vendors' real streaming wire formats to the vendors' real SDKs.

    async with AnthropicServer(replies=["<say>Hello</say>", Status(529)]) as server:
        AnthropicProvider("key", base_url=server.url)
        server.requests[0].body["messages"]

`with` instead of `async with` serves from a thread of its own, for tests that block (another process, Qt).
"""

from tests.support.loopback.anthropic import AnthropicServer
from tests.support.loopback.openai import OpenAIServer
from tests.support.loopback.replies import (
    Broken,
    Call,
    Drop,
    Fault,
    Ping,
    Reply,
    Stall,
    Status,
    Text,
    Thought,
)
from tests.support.loopback.server import Seen

__all__ = [
    "AnthropicServer",
    "Broken",
    "Call",
    "Drop",
    "Fault",
    "OpenAIServer",
    "Ping",
    "Reply",
    "Seen",
    "Stall",
    "Status",
    "Text",
    "Thought",
]
