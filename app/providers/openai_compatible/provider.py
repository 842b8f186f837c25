"""Any OpenAI-compatible endpoint (Ollama, llama.cpp, LM Studio, gateways, OpenAI) through the official SDK."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from app.base.errors import KeyRefused, ProviderError, Refused, ToolsDeclined
from app.base.phrases import Phrase
from app.base.values import dataclass, replace
from app.providers import wire_errors
from app.providers.api import Provider, Request, StreamEvent
from app.providers.openai_compatible.wire import ChunkReading, as_chunk, body_of, has_pictures, learnt, suited
from app.providers.profiles import ModelFacts, facts_of, profile_of, remember
from app.providers.wire_errors import ODD_KEY, Fault, Service, alive_until, is_local, server_address
from app.settings.catalog import BASE_URL, STREAM_IDLE_MS
from app.settings.store import Settings

if TYPE_CHECKING:
    import httpx2

KNOWN = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
_ANSWER_S = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server: the program that usually uses its port, its address for the SDK, and its models."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def local_endpoints(known: Sequence[tuple[str, int]] = KNOWN) -> tuple[Endpoint, ...]:
    """Ask the usual ports on loopback at the same time. Return the servers that answer, in the given order."""
    await asyncio.to_thread(importlib.import_module, "httpx2")  # on a thread, because the import takes long
    import httpx2

    async with httpx2.AsyncClient(trust_env=False, timeout=_ANSWER_S) as client:
        found = await asyncio.gather(*(_endpoint(client, name, port) for name, port in known))
    return tuple(endpoint for endpoint in found if endpoint is not None)


async def takes_pictures(base_url: str, model: str) -> bool | None:
    """Ask the server (Ollama, llama.cpp or LM Studio) if the model takes pictures; None without an answer."""
    await asyncio.to_thread(importlib.import_module, "httpx2")  # on a thread, because the import takes long
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
    """Request the JSON object at the URL. Returns {} for anything else, since it may be no model server at all."""
    import httpx2

    try:
        answer = await client.request(method, url, json=body)
        found = answer.json() if answer.is_success else {}
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


if TYPE_CHECKING:
    import openai

CONNECT_S = 10.0
_MODELS_S = 10.0
_LOCAL_PATIENCE = 10
_OPENAI = "https://api.openai.com/v1"
Find = Callable[[], Awaitable[tuple[Endpoint, ...]]]
_ROOM_HELP = (
    "Let your model server give the model more room, such as 16384 tokens (Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: "
    "--ctx-size; LM Studio: Context Length; vLLM: --max-model-len), or choose another model (wisp --model NAME)."
)
_START_HELP = "Start it there, or put another address into Wisp's settings (model.base_url)."
_KEY_HELP = "Put a valid key into Wisp's settings, or into OPENAI_API_KEY and start Wisp again."


class OpenAICompatibleProvider:
    """Streams Chat Completions. It never retries: only the agent's loop does.

    Without an address it uses OpenAI if there is a key, and otherwise the first model server found on this machine.
    """

    name = "openai"

    def __init__(
        self, key: str = "", *, base_url: str = "", idle_s: float = 30.0, find: Find = local_endpoints
    ) -> None:
        self._key = key.strip()
        self._address = server_address(base_url) if base_url else _OPENAI if self._key else ""
        self._idle_s = idle_s
        self._find = find
        self._client: openai.AsyncOpenAI | None = None

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        connecting = asyncio.ensure_future(self._connected())
        async with aclosing(alive_until(connecting, self._idle_s)) as signs:
            async for sign in signs:
                yield sign
        client = await connecting
        import httpx2
        import openai

        try:
            async with aclosing(self._events(client, request)) as events:
                async for event in events:
                    yield event
        except (openai.APIError, httpx2.HTTPError, ValueError, TimeoutError) as error:
            raise await self._meaning(error, request.model) from error

    async def models(self) -> tuple[str, ...]:
        client = await self._connected()
        import openai

        try:
            async with asyncio.timeout(_MODELS_S):
                return tuple([model.id async for model in client.models.list()])
        except TimeoutError as error:
            raise wire_errors.silent(self._service, _MODELS_S) from error
        except (AttributeError, TypeError) as error:  # because the library takes any answer for a list
            raise wire_errors.no_models(self._service) from error
        except (openai.APIError, ValueError) as error:
            raise await self._meaning(error) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def _first_word_s(self) -> float:
        """How long the first word may take. A local model loads and reads slowly."""
        return self._idle_s * (_LOCAL_PATIENCE if is_local(self._address) else 1)

    @property
    def _service(self) -> Service:
        if self._address == _OPENAI:
            return Service("OpenAI", _KEY_HELP)
        name = Phrase("The model server at {address}", {"address": self._address})
        return Service(name, _KEY_HELP, _START_HELP, _ROOM_HELP)

    async def _connected(self) -> openai.AsyncOpenAI:
        if not (self._key.isascii() and self._key.isprintable()):
            raise KeyRefused(self._service.says(ODD_KEY))
        if not self._address:
            self._address = await self._found()
        if self._client is None:
            # On a thread, because the imports take long.
            self._client = await asyncio.to_thread(_client, self._key, self._address, self._first_word_s)
        return self._client

    async def _events(self, client: openai.AsyncOpenAI, request: Request) -> AsyncGenerator[StreamEvent, None]:
        reading = ChunkReading()
        async with AsyncExitStack() as opened:
            opening = asyncio.ensure_future(self._opened(client, request, opened))
            async with aclosing(alive_until(opening, self._idle_s, self._first_word_s)) as signs:
                async for sign in signs:
                    yield sign
            stream, chunk = await opening
            while chunk is not None:
                for told in reading.read(chunk if isinstance(chunk, Mapping) else chunk.to_dict(warnings=False)):
                    yield told
                async with asyncio.timeout(self._idle_s):
                    chunk = await anext(stream, None)
        if not reading.is_complete:
            raise wire_errors.dropped(self._service)
        for told in reading.finish():
            yield told

    async def _opened(
        self, client: openai.AsyncOpenAI, request: Request, opened: AsyncExitStack
    ) -> tuple[openai.AsyncStream[Any], Any]:
        """Return the stream and its first chunk, which may take long; None if the stream is empty.

        An answer that is not streamed is the only chunk.

        If the server refuses an optional field, ask again without it from now on. Raise ToolsDeclined if the model
        takes no tools, because without them the request would mean something else.
        """
        import openai

        model = request.model or await self._first_model()
        facts = await self._facts(request, model)
        while True:
            body = body_of(request, profile_of(model), pictures=facts.pictures is not False)
            asked = suited(body | {"model": model}, facts)
            try:
                stream: openai.AsyncStream[Any] = await client.chat.completions.create(**asked, stream=True)
                await opened.enter_async_context(stream)
                if wire_errors.is_json(stream.response.headers):
                    return stream, as_chunk(json.loads(await stream.response.aread()))
                return stream, await anext(stream, None)
            except openai.APIError as error:
                # Ask again only if the refusal taught something new, so that this loop ends.
                known, facts = facts, learnt(facts, _fault(error).message, request)
                if facts == known:
                    raise
                remember(self._address, model, facts)
            if facts.tools is False and request.tools:
                raise _declined(model)

    async def _found(self) -> str:
        """The address of the first model server on this machine."""
        endpoints = await self._find()
        if endpoints:
            return endpoints[0].base_url
        places = ", ".join(f"{name} (port {port})" for name, port in KNOWN)
        raise Refused(
            Phrase(
                "There is no key for OpenAI, and no model server answers on this computer. Put a key into Wisp's "
                "settings (or OPENAI_API_KEY), or the address of a server (or WISP_BASE_URL), or start one of these: "
                "{places}.",
                {"places": places},
            )
        )

    async def _facts(self, request: Request, model: str) -> ModelFacts:
        """Asks about pictures once, when there is one to send."""
        facts = facts_of(self._address, model)
        if facts.pictures is None:
            facts = replace(facts, pictures=profile_of(model).pictures)
        if facts.tools is False and request.tools:
            raise _declined(model)
        if facts.pictures is None and has_pictures(request) and is_local(self._address):
            told = await takes_pictures(self._address, model)
            if told is not None:
                facts = replace(facts, pictures=told)
                remember(self._address, model, facts)
        return facts

    async def _first_model(self) -> str:
        listed = await self.models()
        if not listed:
            raise Refused(self._service.says("{service} has no model. Load one there, then choose it: --model NAME"))
        return listed[0]

    async def _meaning(self, error: Exception, model: str = "") -> ProviderError:
        """The error that tells the person or the loop what a failure of the SDK means."""
        import httpx2
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, (TimeoutError, httpx2.TimeoutException)) and not isinstance(cause, httpx2.ConnectTimeout):
            return wire_errors.silent(self._service, self._idle_s)
        if isinstance(cause, httpx2.HTTPError) and not isinstance(cause, httpx2.ConnectError):
            return wire_errors.dropped(self._service)
        if isinstance(error, openai.APIConnectionError):
            return wire_errors.not_connected(self._service, self._address, cause)
        if not isinstance(error, openai.APIError):
            return wire_errors.unreadable(self._service, error)
        fault = _fault(error)
        return await self._no_model(model) if model and fault.is_unknown_model else fault.error(self._service)

    async def _no_model(self, model: str) -> ProviderError:
        try:
            offered = await self.models()
        except ProviderError:  # because the list only completes the sentence about the unknown model
            offered = ()
        return wire_errors.unknown_model(self._service, model, offered)


def _declined(model: str) -> ToolsDeclined:
    return ToolsDeclined(
        Phrase("The model “{model}” cannot use tools in this way. Add: --dialect xml", {"model": model})
    )


def _client(key: str, address: str, first_word_s: float) -> openai.AsyncOpenAI:
    import httpx2
    import openai
    import openai.resources.chat.completions
    import openai.resources.models

    timeout = httpx2.Timeout(first_word_s, connect=CONNECT_S)
    own: Any = {"http_client": httpx2.AsyncClient(trust_env=False, timeout=timeout)} if is_local(address) else {}
    return openai.AsyncOpenAI(api_key=key or "none", base_url=address, timeout=timeout, max_retries=0, **own)


def _fault(error: openai.APIError) -> Fault:
    import openai

    told = error.body if isinstance(error.body, dict) else {}
    code = told.get("code")
    kind = " ".join(str(word) for word in (error.type, error.code) if word)
    message = str(told.get("message") or (error.body if isinstance(error.body, str) else error.message))
    if isinstance(error, openai.APIStatusError):
        return Fault(error.status_code, kind, message, wire_errors.retry_after(error.response.headers))
    return Fault(code if isinstance(code, int) else 0, str(error.type or ""), message)


def make(settings: Settings, key: str) -> Provider:
    return OpenAICompatibleProvider(key, base_url=settings[BASE_URL], idle_s=settings[STREAM_IDLE_MS] / 1000)
