"""What the provider contract must know about each vendor: its server, its provider, where its pictures are."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.providers.anthropic.provider import AnthropicProvider
from app.providers.api import Provider, Request, StreamEvent
from app.providers.openai_compatible.provider import OpenAICompatibleProvider
from tests.support.loopback import AnthropicServer, OpenAIServer
from tests.support.loopback.server import LoopbackServer


@dataclass(frozen=True)
class Vendor:
    """`provider(url, idle_s)` speaks to `server(replies)`; `pictures` finds the pictures in a request's body."""

    name: str
    model: str
    server: Callable[..., LoopbackServer]
    provider: Callable[[str, float], Provider]
    pictures: Callable[[dict[str, Any]], list[bytes]]


def _values(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    for item in tree if isinstance(tree, list) else ():
        yield from _values(item)


def _anthropic_pictures(body: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(v["source"]["data"]) for v in _values(body) if v.get("type") == "image"]


def _openai_pictures(body: dict[str, Any]) -> list[bytes]:
    urls = [value["image_url"]["url"] for value in _values(body) if value.get("type") == "image_url"]
    return [base64.b64decode(url.partition("base64,")[2]) for url in urls]


ANTHROPIC = Vendor(
    "anthropic",
    "claude-sonnet-5-5",
    AnthropicServer,
    lambda url, idle_s: AnthropicProvider("sk-test", base_url=url, idle_s=idle_s),
    _anthropic_pictures,
)
OPENAI = Vendor(
    "openai",
    "llama3.2",
    OpenAIServer,
    lambda url, idle_s: OpenAICompatibleProvider("sk-test", base_url=url, idle_s=idle_s),
    _openai_pictures,
)
VENDORS = (ANTHROPIC, OPENAI)


async def streamed(provider: Provider, request: Request) -> list[StreamEvent]:
    return [event async for event in provider.stream(request)]
