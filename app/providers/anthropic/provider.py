"""Stream Claude through the official SDK. A worker thread loads the SDK, because its import takes over a second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from app.base.errors import KeyRefused, ProviderError
from app.providers import wire_errors
from app.providers.anthropic.wire import (
    BINDING_BETA,
    BLOCK_BINDING,
    BROWSER_TOOL,
    COMPUTER_TOOL,
    EFFORT,
    THINKING,
    Memory,
    MessageReading,
    RequestOptions,
    as_events,
    body_of,
)
from app.providers.api import Alive, Provider, Request, StreamEvent
from app.providers.profiles import facts_of, profile_of, remember
from app.providers.wire_errors import ODD_KEY, Fault, Service, alive_until, is_local
from app.settings.catalog import BASE_URL, STREAM_IDLE_MS
from app.settings.store import Settings

if TYPE_CHECKING:
    import anthropic

CONNECT_S = 10.0
_MODELS_S = 10.0
_ADDRESS = "https://api.anthropic.com"

_REFUSALS = (
    ("browser_toolset", BROWSER_TOOL),
    ("computer_", COMPUTER_TOOL),
    ("block_binding", BLOCK_BINDING),
    (BINDING_BETA, BLOCK_BINDING),
    ("output_config", EFFORT),
    ("effort", EFFORT),
    ("adaptive", THINKING),
)
"""Words of a server's refusal, each with the optional field that it means. Replayed thinking is not optional."""

SERVICE = Service(
    "Anthropic",
    "Put a valid key into Wisp's settings, or into ANTHROPIC_API_KEY and start Wisp again.",
)


class AnthropicProvider:
    """Streams Messages. It never retries: only the agent's loop does, because it knows what already happened.

    `idle_s` is the longest allowed silence of the connection; the vendor's pings count as a sign of life. If `base_url`
    is empty, `ANTHROPIC_BASE_URL` or the vendor's own address is used.
    """

    name = "anthropic"

    def __init__(self, key: str, *, base_url: str = "", idle_s: float = 30.0) -> None:
        self._key = key.strip()
        self._base_url = base_url
        self._idle_s = idle_s
        self._client: anthropic.AsyncAnthropic | None = None
        self._memory = Memory()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        connecting = asyncio.ensure_future(self._connected())
        async with aclosing(alive_until(connecting, self._idle_s)) as signs:
            async for sign in signs:
                yield sign
        client = await connecting
        import anthropic
        import httpx2

        try:
            stream = await self._asked(client, request)
            async with aclosing(self._events(stream)) as events:
                async for event in events:
                    yield event
        except (anthropic.APIError, httpx2.HTTPError, ValueError) as error:
            raise await self._meaning(error, request.model) from error

    async def models(self) -> tuple[str, ...]:
        """What the account may use, newest first."""
        client = await self._connected()
        import anthropic

        try:
            async with asyncio.timeout(_MODELS_S):
                return tuple([model.id async for model in client.models.list(limit=100)])
        except TimeoutError as error:
            raise wire_errors.silent(SERVICE, _MODELS_S) from error
        except (AttributeError, TypeError) as error:  # because the library takes any answer for a list
            raise wire_errors.no_models(SERVICE) from error
        except (anthropic.APIError, ValueError) as error:
            raise await self._meaning(error) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def _server(self) -> str:
        return self._base_url or _ADDRESS

    async def _connected(self) -> anthropic.AsyncAnthropic:
        if not self._key:
            raise KeyRefused(SERVICE.says("There is no key for Claude. {key_help}"))
        if not (self._key.isascii() and self._key.isprintable()):
            raise KeyRefused(SERVICE.says(ODD_KEY))
        if self._client is None:
            # On a thread, because the imports take long.
            self._client = await asyncio.to_thread(_client, self._key, self._base_url, self._idle_s)
        return self._client

    async def _asked(self, client: anthropic.AsyncAnthropic, request: Request) -> anthropic.AsyncStream[Any]:
        """Send the request. If the server refuses an optional field, ask again without it from now on."""
        import anthropic

        facts = facts_of(self._server, request.model)
        while True:
            manner = RequestOptions(profile_of(request.model), facts.declined)
            headers = {"anthropic-beta": ",".join(manner.betas)} if manner.betas else {}
            body = body_of(request, manner, self._memory)
            try:
                return await client.messages.create(**body, stream=True, extra_headers=headers)
            except anthropic.BadRequestError as error:
                name = _declined(error.message)
                if not name or name in facts.declined:
                    raise
                facts = facts.without(name)
                remember(self._server, request.model, facts)

    async def _events(self, stream: anthropic.AsyncStream[Any]) -> AsyncGenerator[StreamEvent, None]:
        reading = MessageReading(self._memory.calls)
        if wire_errors.is_json(stream.response.headers):
            for one in as_events(json.loads(await stream.response.aread())):
                for told in reading.read(one):
                    yield told
            await stream.close()
            return
        wire = stream.raw_events(stream.response)
        try:
            async for event in wire:
                if event.event == "error":
                    raise _fault_in_stream(event.data).error(SERVICE)
                if event.event == "ping":
                    yield Alive()
                for told in reading.read(json.loads(event.data or "{}")):
                    yield told
        finally:
            # Close it before `wire` is collected, because the generator below `wire` awaits while it closes the
            # connection, and qasync has no hook that finalises asynchronous generators.
            await stream.close()
            del wire
        if not reading.is_complete:
            raise wire_errors.dropped(SERVICE)

    async def _meaning(self, error: Exception, model: str = "") -> ProviderError:
        """What a failure of the SDK means, for the person or the loop."""
        import anthropic
        import httpx2

        if isinstance(error, anthropic.APIStatusError):
            fault = _fault(error)
            return await self._no_model(model) if model and fault.is_unknown_model else fault.error(SERVICE)
        cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
        if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
            return wire_errors.silent(SERVICE, self._idle_s)
        if isinstance(error, anthropic.APIConnectionError):
            return wire_errors.not_connected(SERVICE, self._server, cause)
        return (
            wire_errors.dropped(SERVICE)
            if isinstance(error, httpx2.HTTPError)
            else wire_errors.unreadable(SERVICE, error)
        )

    async def _no_model(self, model: str) -> ProviderError:
        try:
            offered = await self.models()
        except ProviderError:  # because the list only completes the sentence about the unknown model
            offered = ()
        return wire_errors.unknown_model(SERVICE, model, offered)


def _client(key: str, base_url: str, idle_s: float) -> anthropic.AsyncAnthropic:
    import anthropic
    import anthropic.resources.messages
    import anthropic.resources.models
    import httpx2

    timeout = httpx2.Timeout(idle_s, connect=CONNECT_S)
    own: Any = {"http_client": httpx2.AsyncClient(trust_env=False, timeout=timeout)} if is_local(base_url) else {}
    return anthropic.AsyncAnthropic(
        api_key=key, base_url=base_url or None, timeout=timeout, max_retries=0, open_telemetry=False, **own
    )


def _declined(message: str) -> str:
    """The most specific words of a refusal are tried first."""
    return next((name for words, name in _REFUSALS if words in message), "")


def _fault(error: anthropic.APIStatusError) -> Fault:
    message = error.api_message if isinstance(error.api_message, str) else error.message
    kind = f"{error.type or ''} {error.error_code or ''}".strip()
    return Fault(error.status_code, kind, message, wire_errors.retry_after(error.response.headers))


def _fault_in_stream(data: str) -> Fault:
    """Read the error event of a stream that began well: `{"type": "error", "error": {"type", "message"}}`."""
    try:
        error = json.loads(data)["error"]
        return Fault(0, str(error.get("type", "")), str(error.get("message", "")))
    # A proxy may send any text here; the person still gets to read it.
    except (ValueError, KeyError, TypeError, AttributeError):
        return Fault(0, "", data)


def make(settings: Settings, key: str) -> Provider:
    return AnthropicProvider(key, base_url=settings[BASE_URL], idle_s=settings[STREAM_IDLE_MS] / 1000)
