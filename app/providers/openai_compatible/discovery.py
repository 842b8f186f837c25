"""Finds model servers on this machine, and asks them whether a model takes pictures."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import httpx2

KNOWN = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
_ANSWER_S = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server: what program it is by its usual port, its address for the SDK, the models it lists."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def local_endpoints(known: Sequence[tuple[str, int]] = KNOWN) -> tuple[Endpoint, ...]:
    """The servers that answer on loopback at their usual ports, in the given order; all are asked at once."""
    await asyncio.to_thread(importlib.import_module, "httpx2")
    import httpx2

    async with httpx2.AsyncClient(trust_env=False, timeout=_ANSWER_S) as client:
        found = await asyncio.gather(*(_endpoint(client, name, port) for name, port in known))
    return tuple(endpoint for endpoint in found if endpoint is not None)


async def takes_pictures(base_url: str, model: str) -> bool | None:
    """What the server itself says, in the way of Ollama, llama.cpp or LM Studio; None where none of them answers."""
    await asyncio.to_thread(importlib.import_module, "httpx2")
    import httpx2

    root = base_url.rstrip("/").removesuffix("/v1")
    async with httpx2.AsyncClient(trust_env=False, timeout=_ANSWER_S) as client:
        shown = await _json(client, "POST", f"{root}/api/show", {"model": model})
        if isinstance(shown.get("capabilities"), list):
            return "vision" in shown["capabilities"]
        modalities = (await _json(client, "GET", f"{root}/props")).get("modalities")
        if isinstance(modalities, dict):
            return bool(modalities.get("vision"))
        kind = (await _json(client, "GET", f"{root}/api/v0/models/{quote(model, safe='')}")).get("type")
    return kind == "vlm" if kind in ("vlm", "llm") else None


async def _endpoint(client: httpx2.AsyncClient, name: str, port: int) -> Endpoint | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    listed = (await _json(client, "GET", f"{base_url}/models")).get("data")
    if not isinstance(listed, list):
        return None
    ids = [entry["id"] for entry in listed if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return Endpoint(name, base_url, tuple(ids))


async def _json(
    client: httpx2.AsyncClient, method: str, url: str, body: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object at the URL; empty for anything else, since whoever listens there need not be a model server."""
    import httpx2

    try:
        answer = await client.request(method, url, json=body)
        found = answer.json() if answer.is_success else {}
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
