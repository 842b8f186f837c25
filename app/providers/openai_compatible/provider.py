"""Any OpenAI-compatible endpoint (Ollama, llama.cpp, LM Studio, gateways, OpenAI) through the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.base.errors import NeedsPerson, ProviderError, Refused
from app.providers import failures
from app.providers.addresses import is_local
from app.providers.api import Request, StreamEvent
from app.providers.failures import Fault, Service
from app.providers.openai_compatible.replies import Reading
from app.providers.openai_compatible.requests import Wire, body_of
from app.providers.profiles import profile_of
from app.providers.waiting import alive_until

if TYPE_CHECKING:
    import openai

CONNECT_S = 10.0
_MODELS_S = 10.0
_LOCAL_PATIENCE = 10
_OPENAI = "https://api.openai.com/v1"
_KEY_HELP = "Put a valid key into the environment variable OPENAI_API_KEY or into Wisp's settings, and start again."


class OpenAICompatibleProvider:
    """Streams Chat Completions. It never tries again by itself: that is the loop's.

    Without an address it asks OpenAI where there is a key, and otherwise the first model server found on this machine.
    """

    name = "openai"

    def __init__(self, key: str = "", *, base_url: str = "", idle_s: float = 30.0) -> None:
        self._key = key.strip()
        self._address = _with_path(base_url) if base_url else _OPENAI if self._key else ""
        self._idle_s = idle_s
        self._client: openai.AsyncOpenAI | None = None
        self._quirks: set[str] = set()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        connecting = asyncio.ensure_future(self._connected())
        async with aclosing(alive_until(connecting, self._idle_s)) as signs:
            async for sign in signs:
                yield sign
        client = await connecting
        import httpx2
        import openai

        body = body_of(request, profile_of(request.model))
        try:
            async with aclosing(self._events(client, body)) as events:
                async for event in events:
                    yield event
        except (openai.APIError, httpx2.HTTPError, ValueError, TimeoutError) as error:
            raise await self._meaning(error, request.model) from error

    async def models(self) -> tuple[str, ...]:
        """The ids that the endpoint lists."""
        client = await self._connected()
        import openai

        try:
            async with asyncio.timeout(_MODELS_S):
                return tuple([model.id async for model in client.models.list()])
        except TimeoutError as error:
            raise failures.silent(self._service, _MODELS_S) from error
        except (openai.APIError, ValueError) as error:
            raise await self._meaning(error) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def _first_word_s(self) -> float:
        """How long the first word may take: a model on this machine is read from disk and reads its prompt slowly."""
        return self._idle_s * (_LOCAL_PATIENCE if is_local(self._address) else 1)

    @property
    def _service(self) -> Service:
        if self._address == _OPENAI:
            return Service("OpenAI", _KEY_HELP)
        start = "Start the model server there, or give another address with WISP_BASE_URL."
        return Service(f"The model server at {self._address}", _KEY_HELP, start)

    async def _connected(self) -> openai.AsyncOpenAI:
        if not (self._key.isascii() and (self._key.isprintable())):
            raise Refused(f"The key for {self._service.name} holds characters that no key has. {_KEY_HELP}")
        if self._client is None:
            self._client = await asyncio.to_thread(_client, self._key, self._address, self._first_word_s)
        return self._client

    async def _events(self, client: openai.AsyncOpenAI, body: Wire) -> AsyncGenerator[StreamEvent, None]:
        opening = asyncio.ensure_future(self._opened(client, body))
        async with aclosing(alive_until(opening, self._idle_s, self._first_word_s)) as signs:
            async for sign in signs:
                yield sign
        stream, chunk = await opening
        reading = Reading()
        async with stream:
            while chunk is not None:
                for told in reading.read(chunk.to_dict()):
                    yield told
                async with asyncio.timeout(self._idle_s):
                    chunk = await anext(stream, None)
        if not reading.is_complete:
            raise failures.dropped(self._service)
        for told in reading.finish():
            yield told

    async def _opened(self, client: openai.AsyncOpenAI, body: Wire) -> tuple[openai.AsyncStream[Any], Any]:
        """The stream and its first chunk, which may be long in coming; None where it ends at once."""
        stream = await self._asked(client, body)
        try:
            return stream, await anext(stream, None)
        except BaseException:
            await stream.close()
            raise

    async def _asked(self, client: openai.AsyncOpenAI, body: Wire) -> openai.AsyncStream[Any]:
        """A server that declines one of the optional fields is asked again without it, from then on always."""
        import openai

        while True:
            try:
                stream: openai.AsyncStream[Any] = await client.chat.completions.create(
                    **_suited(body, self._quirks), stream=True
                )
                return stream
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                quirk = _quirk(error.message)
                if not quirk or quirk in self._quirks:
                    raise
                self._quirks.add(quirk)

    async def _meaning(self, error: Exception, model: str = "") -> ProviderError:
        """What a failure of the SDK or of the connection under it means for the person or the loop."""
        import httpx2
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, (TimeoutError, httpx2.TimeoutException)) and not isinstance(cause, httpx2.ConnectTimeout):
            return failures.silent(self._service, self._idle_s)
        if isinstance(cause, httpx2.HTTPError) and not isinstance(cause, httpx2.ConnectError):
            return failures.dropped(self._service)
        if isinstance(error, openai.APIConnectionError):
            return failures.not_connected(self._service, self._address, cause)
        if not isinstance(error, openai.APIError):
            return failures.unreadable(self._service, error)
        fault = _fault(error)
        return await self._no_model(model) if model and fault.is_unknown_model else fault.error(self._service)

    async def _no_model(self, model: str) -> ProviderError:
        try:
            offered = await self.models()
        except ProviderError:
            offered = ()
        return failures.unknown_model(self._service, model, offered)


def _client(key: str, address: str, first_word_s: float) -> openai.AsyncOpenAI:
    import httpx2
    import openai
    import openai.resources.chat.completions
    import openai.resources.models

    if not address:
        raise NeedsPerson(f"There is no model server and no key for OpenAI. {_KEY_HELP}")
    timeout = httpx2.Timeout(first_word_s, connect=CONNECT_S)
    own: Any = {"http_client": httpx2.AsyncClient(trust_env=False, timeout=timeout)} if is_local(address) else {}
    return openai.AsyncOpenAI(api_key=key or "none", base_url=address, timeout=timeout, max_retries=0, **own)


def _with_path(base_url: str) -> str:
    """`http://127.0.0.1:11434` is what people type; the API lives under `/v1`."""
    return base_url if urlsplit(base_url).path.strip("/") else f"{base_url.rstrip('/')}/v1"


def _suited(body: Wire, quirks: set[str]) -> Wire:
    suited = dict(body)
    if "stream_options" not in quirks:
        suited["stream_options"] = {"include_usage": True}
    if "max_tokens" in quirks:
        suited["max_completion_tokens"] = suited.pop("max_tokens")
    return suited


def _quirk(message: str) -> str:
    """The optional field that a refusal names."""
    return next((field for field in ("stream_options", "max_tokens") if field in message), "")


def _fault(error: openai.APIError) -> Fault:
    import openai

    told = error.body if isinstance(error.body, dict) else {}
    code = told.get("code")
    kind = " ".join(str(word) for word in (error.type, error.code) if word)
    message = str(told.get("message") or (error.body if isinstance(error.body, str) else error.message))
    if isinstance(error, openai.APIStatusError):
        return Fault(error.status_code, kind, message, failures.retry_after(error.response.headers))
    return Fault(code if isinstance(code, int) else 0, str(error.type or ""), message)
