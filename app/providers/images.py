"""Make pictures from words: by an OpenAI-compatible endpoint through the official SDK, or by Gemini's REST interface.

Sources: https://platform.openai.com/docs/api-reference/images/create and
https://ai.google.dev/gemini-api/docs/image-generation.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from app.base import resources
from app.base.clipping import clip_line
from app.base.errors import NeedsPerson, ToolFailed
from app.base.values import dataclass
from app.providers.profiles import KeyOf, default_name
from app.providers.wire_errors import is_local, server_address
from app.settings.catalog import BASE_URL, IMAGES_MAKER, IMAGES_MODEL, IMAGES_URL, PROVIDER
from app.settings.providers import OWN_IMAGES, ImageRow, image_makers, providers
from app.settings.store import Settings

SHAPES = ("square", "landscape", "portrait")
_LIMIT_S = 150.0
_CONNECT_S = 10.0
_MOST_BYTES = 40_000_000
_WHY_CHARS = 300


@dataclass(frozen=True, slots=True)
class MadePicture:
    """A picture as its maker sent it: its bytes, or the address from which it is to be fetched."""

    data: bytes
    url: str
    maker: str
    model: str


class PictureMaker:
    """Draws with the service that the settings name, else with the person's own server, else with the first with a key.

    `makers` are the services that can draw, in the order in which they are tried; None for those of `images.toml`.
    """

    def __init__(
        self, now: Callable[[], Settings], key_of: KeyOf, makers: Mapping[str, ImageRow] | None = None
    ) -> None:
        self._now = now
        self._key_of = key_of
        self._makers = image_makers() if makers is None else makers

    async def draw(self, prompt: str, shape: str = "square") -> MadePicture:
        """Draw one picture. Raises NeedsPerson where nobody can draw, and ToolFailed with the reason."""
        settings = self._now()
        row, key, address = await asyncio.to_thread(self._chosen, settings)
        model = settings[IMAGES_MODEL] or row.model
        asks = _by_gemini if row.format == "gemini" else _by_openai
        try:
            async with asyncio.timeout(_LIMIT_S):
                data, url = await asks(_Asked(row.label, key, address, model, prompt, shape))
        except TimeoutError:
            raise ToolFailed(_says("late", label=row.label, seconds=int(_LIMIT_S))) from None
        return MadePicture(data, url, row.label, model)

    def _chosen(self, settings: Settings) -> tuple[ImageRow, str, str]:
        """With key and address. A key goes only to the server that it is for."""
        own, holder = _own_server(settings)
        wanted = settings[IMAGES_MAKER]
        for row in [self._makers[wanted]] if wanted else self._makers.values():
            if own and row.format == "openai":
                return row, self._key_of(holder), server_address(own)
            if key := self._key_of(row.id):
                return row, key, row.address
        name = settings[PROVIDER] or default_name(self._key_of)
        provider = providers().get(name)
        raise NeedsPerson(_says("none", provider=provider.label if provider else "this provider"))


def _own_server(settings: Settings) -> tuple[str, str]:
    """Return the address of the person's own server, "" for none, and whose key it gets.

    The server that answers instead of OpenAI's model already has that key.
    """
    if settings[IMAGES_URL]:
        return settings[IMAGES_URL], OWN_IMAGES
    return (settings[BASE_URL] if settings[PROVIDER] == "openai" else ""), "openai"


@dataclass(frozen=True, slots=True)
class _Asked:
    label: str
    key: str
    address: str
    model: str
    prompt: str
    shape: str


async def _by_openai(asked: _Asked) -> tuple[bytes, str]:
    await asyncio.to_thread(importlib.import_module, "openai")  # on a thread, because the import takes long
    import httpx2
    import openai

    own: Any = {"http_client": httpx2.AsyncClient(trust_env=False)} if is_local(asked.address) else {}
    timeout = httpx2.Timeout(_LIMIT_S, connect=_CONNECT_S)
    body: dict[str, Any] = {
        "model": asked.model,
        "prompt": asked.prompt,
        "n": 1,
        "size": _table()["sizes"][asked.shape],
    }
    # OpenAI's newer models always send the bytes and refuse the field; all others would send an address.
    extra = {} if "gpt-image" in asked.model else {"response_format": "b64_json"}
    async with openai.AsyncOpenAI(
        api_key=asked.key or "none", base_url=asked.address, timeout=timeout, max_retries=0, **own
    ) as client:
        try:
            images: Any = client.images
            answer = await images.generate(**body, **extra)
        except openai.APIConnectionError as error:
            raise ToolFailed(_says("unreachable", label=asked.label, address=asked.address), transient=True) from error
        except openai.APIStatusError as error:
            raise ToolFailed(_says("refused", label=asked.label, why=_why(error.body, error.status_code))) from error
        except (openai.APIError, ValueError) as error:
            raise ToolFailed(_says("unreadable", label=asked.label)) from error
    for one in answer.data or ():
        if one.b64_json:
            return _decoded(one.b64_json, asked.label), ""
        if one.url:
            return b"", one.url
    raise ToolFailed(_says("empty", label=asked.label, said=""))


async def _by_gemini(asked: _Asked) -> tuple[bytes, str]:
    await asyncio.to_thread(importlib.import_module, "httpx2")  # on a thread, because the import takes long
    import httpx2

    shape = _table()["shapes"][asked.shape]
    body = {
        "contents": [{"role": "user", "parts": [{"text": asked.prompt}]}],
        "generationConfig": {"responseModalities": ["TEXT", "IMAGE"], "imageConfig": {"aspectRatio": shape}},
    }
    address = f"{asked.address.rstrip('/')}/models/{asked.model}:generateContent"
    timeout = httpx2.Timeout(_LIMIT_S, connect=_CONNECT_S)
    async with httpx2.AsyncClient(trust_env=not is_local(asked.address), timeout=timeout) as client:
        try:
            answer = await client.post(address, json=body, headers={"x-goog-api-key": asked.key})
            found = answer.json()
        except httpx2.HTTPError as error:
            raise ToolFailed(_says("unreachable", label=asked.label, address=asked.address), transient=True) from error
        except ValueError as error:
            raise ToolFailed(_says("unreadable", label=asked.label)) from error
    if not answer.is_success:
        raise ToolFailed(_says("refused", label=asked.label, why=_why(found, answer.status_code)))
    said = []
    for part in _parts(found):
        inline = part.get("inlineData") or part.get("inline_data") or {}
        if inline.get("data"):
            return _decoded(str(inline["data"]), asked.label), ""
        said.append(str(part.get("text") or ""))
    blocked = found.get("promptFeedback", {}).get("blockReason", "") if isinstance(found, dict) else ""
    raise ToolFailed(_says("empty", label=asked.label, said=clip_line(f"{blocked} {' '.join(said)}", _WHY_CHARS)))


def _parts(found: Any) -> list[Mapping[str, Any]]:
    try:
        return [part for one in found["candidates"] for part in one["content"]["parts"] if isinstance(part, dict)]
    except (KeyError, TypeError):  # because an answer without candidates has no picture
        return []


def _decoded(text: str, label: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or len(data) > _MOST_BYTES:
        raise ToolFailed(_says("unreadable", label=label))
    return data


def _why(body: Any, status: int) -> str:
    """The service's reason, or its HTTP status if it gives none."""
    inner = body.get("error", body) if isinstance(body, dict) else {}
    message = inner.get("message") if isinstance(inner, dict) else ""
    return clip_line(str(message or ""), _WHY_CHARS) or f"it answered {status}."


def _says(key: str, /, **values: object) -> str:
    said: str = _table()["says"][key]
    return said.format(**values).strip()


def _table() -> Mapping[str, Any]:
    return resources.table("images.toml", resources.Table)


def shape_of(size: str) -> str:
    """Return the shape for a size such as 1024x1792. The name of a shape stays; any other text is square."""
    sides = re.fullmatch(r"\s*(\d{1,5})\s*[x:/]\s*(\d{1,5})\s*", size.casefold())
    if not sides:
        return size if size in SHAPES else SHAPES[0]
    width, height = int(sides[1]), int(sides[2])
    return SHAPES[0] if width == height else SHAPES[1] if width > height else SHAPES[2]
