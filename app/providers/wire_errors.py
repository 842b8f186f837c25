"""Convert failures of a vendor's service to provider errors, which say who must act and what the person reads."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

from app.base.clipping import clip_line
from app.base.errors import (
    BadAnswer,
    ContextOverflow,
    KeyRefused,
    OverLimit,
    PictureRefused,
    ProviderError,
    Refused,
    Unreachable,
)
from app.base.phrases import NO_PHRASE, Phrase, PhraseValue
from app.base.values import dataclass
from app.providers.api import Alive

_STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Errors inside a stream that began with status 200 have only a kind."""

_OVERFLOW = re.compile(
    r"(prompt|input) is too long|context.?(length|limit|window|size)|too many (input )?tokens|maximum.{0,20}tokens"
    r"|exceed_context|n_ctx|max.{0,8}(model|prompt|seq).{0,4}len|prompt token count"
    r"|inputs.{0,40}must (be <=|have less)",
    re.IGNORECASE,
)
"""How services say that a request is too long: Anthropic, OpenAI, Bedrock, Gemini, xAI, Copilot, llama.cpp, Ollama,
LM Studio, vLLM, SGLang, TGI, TabbyAPI."""
_NOT_OVERFLOW = (401, 402, 403, 404, 429)
_BAD_PICTURE = re.compile(
    r"((not|unable to|failed to) (process|read|decode|load|identify|support)|unsupported|invalid|corrupt|malformed)"
    r".{0,60}\bimage(s|_url)?\b"
    r"|\bimage(s|_url)?\b.{0,80}(exceed|too (large|big|small)|not (be )?(processed|read|decoded|loaded|valid|support)"
    r"|invalid|unsupported|corrupt|malformed)|invalid_image|no endpoints.{0,40}image",
    re.IGNORECASE,
)
"""How services say that they cannot read a picture: Anthropic, OpenAI, Gemini, llama.cpp, vLLM, OpenRouter."""
_BAD_PICTURE_STATUS = (400, 404, 413, 415, 422, 500)
_NO_MODEL = re.compile(
    r"^model:|model.{0,80}(not found|not exist|does not exist|retired|not available|not loaded)", re.IGNORECASE
)
_NO_MONEY = re.compile(r"insufficient_quota|credit balance|billing|spend_limit", re.IGNORECASE)
_WORDS_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Service:
    """The name of a service at the beginning of a sentence, and what the person can do: about its key, about a service
    that does not answer, and about a model that reads too little at once.
    """

    name: str | Phrase
    key_help: str
    start_help: str = "Check the network connection, then try again."
    room_help: str = "Begin a new conversation, or choose a model that can read more (wisp --model NAME)."

    def says(self, text: str, message: str = "", **values: PhraseValue) -> Phrase:
        """Return a sentence about this service, filled in. {said} are the service's own words, if there are any."""
        name = self.name if isinstance(self.name, Phrase) else Phrase(self.name[:1].upper() + self.name[1:])
        helps = {"key": self.key_help, "start": self.start_help, "room": self.room_help}
        told = {f"{topic}_help": Phrase(text) for topic, text in helps.items()}
        return Phrase(text, {"service": name, "said": _quoted(message), **told, **values})


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure as the vendor reports it: HTTP status (0 inside a stream), kind of error, message."""

    status: int
    kind: str = ""
    message: str = ""
    retry_after_s: float | None = None

    @property
    def is_unknown_model(self) -> bool:
        return self._code in (400, 404) and bool(_NO_MODEL.search(self.message))

    @property
    def _code(self) -> int:
        return self.status if self.status >= 400 else _STATUS_OF_KIND.get(self.kind, self.status)

    def error(self, service: Service) -> ProviderError:
        """Return the error to raise, according to who must act."""
        says, code, own = service.says, self._code, self.message
        if code in _BAD_PICTURE_STATUS and _BAD_PICTURE.search(f"{self.kind} {own}"):
            return PictureRefused(says(_NO_PICTURE, own))
        if code == 413 or (code not in _NOT_OVERFLOW and _OVERFLOW.search(f"{self.kind} {own}")):
            return ContextOverflow(says(_TOO_LONG, own))
        if code == 401:
            return KeyRefused(says(_KEY, own))
        if code == 402 or (code in (400, 403, 429) and _NO_MONEY.search(f"{self.kind} {own}")):
            return Refused(says(_CREDIT, own))
        if code in (429, 503, 529):
            return OverLimit(
                says(_TOO_OFTEN if code == 429 else _BUSY, own), advice=_WAIT, retry_after_s=self.retry_after_s
            )
        if code in (408, 409, 425) or code >= 500:
            return Unreachable(says(_BROKEN, own, code=str(code)), advice=_AGAIN)
        if code < 400:
            return BadAnswer(says(_UNKNOWN, own), advice=_AGAIN)
        return Refused(says(_REFUSED.get(code, _OTHER), own, code=str(code)))


_AGAIN = Phrase("Try again.")
_WAIT = Phrase("Wait a moment, then try again.")
_NO_PICTURE = "{service} cannot read a picture of this conversation.{said}"
_TOO_LONG = "The conversation is longer than the model can read.{said} {room_help}"
_KEY = "{service} does not accept the key. {key_help}{said}"
ODD_KEY = "The key holds characters that no key has. {key_help}"
_CREDIT = "{service} says that your account has no credit left or has reached its limit. Top it up there.{said}"
_TOO_OFTEN = "{service} gets too many requests from your account.{said}"
_BUSY = "{service} is overloaded.{said}"
_BROKEN = "{service} could not answer (error {code}).{said}"
_UNKNOWN = "{service} broke off with an unknown error.{said}"
_REFUSED = {
    403: "{service} does not let this key do that.{said}",
    404: "{service} has nothing at this address. Check the model's name and the address in Wisp's settings.{said}",
}
_OTHER = "{service} refused the request (error {code}).{said}"


def _quoted(message: str) -> Phrase:
    """The service's own words, or "" if they are the web page of a proxy in between."""
    own = "" if "<html" in message.lower() else clip_line(message, _WORDS_SHOWN).rstrip(".")
    return Phrase(" It said: {words}.", {"words": own}) if own else NO_PHRASE


def unknown_model(service: Service, model: str, offered: tuple[str, ...]) -> Refused:
    """For a model id that the service does not know or no longer serves."""
    if not offered:
        return Refused(service.says("{service} has no model “{model}”. Choose another one: --model NAME", model=model))
    shown = ", ".join(offered[:20]) + (f" … (+{len(offered) - 20})" if len(offered) > 20 else "")
    told = "{service} has no model “{model}”. It has: {shown}. To choose one: --model NAME"
    return Refused(service.says(told, model=model, shown=shown))


def no_models(service: Service) -> BadAnswer:
    """For an answer that is no list of models, such as a web page."""
    return BadAnswer(service.says("{service} did not answer with a list of models. Check the address in the settings."))


def silent(service: Service, seconds: float) -> Unreachable:
    return Unreachable(
        service.says("{service} was silent for {seconds} seconds.", seconds=f"{seconds:g}"), advice=_AGAIN
    )


def dropped(service: Service) -> Unreachable:
    return Unreachable(service.says("{service} broke off in the middle of its answer."), advice=_AGAIN)


def not_connected(service: Service, address: str, cause: BaseException | None) -> Unreachable:
    why = f" ({clip_line(str(cause), _WORDS_SHOWN)})" if cause and str(cause) else ""
    is_named = address in service.says("{service}").for_models
    at = NO_PHRASE if is_named else Phrase(" at {address}", {"address": address})
    return Unreachable(service.says("{service} cannot be reached{at}{why}. {start_help}", at=at, why=why))


def unreadable(service: Service, cause: BaseException) -> ProviderError:
    """Return the error for an unreadable answer, or for a conversation that cannot be encoded (Wisp's own fault)."""
    if isinstance(cause, UnicodeEncodeError):
        return Refused("A text of this conversation cannot be sent, which is a mistake of Wisp. Begin a new one.")
    told = "{service} sent an answer that Wisp cannot read ({why})."
    return BadAnswer(service.says(told, why=clip_line(str(cause), _WORDS_SHOWN)), advice=_AGAIN)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the service asks to wait, from `retry-after-ms` or `retry-after`."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):  # because the header may be missing, or be a date
            continue
    import email.utils  # here, because few starts of Wisp meet a date

    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - time.time())


def is_json(headers: Mapping[str, str]) -> bool:
    """Say whether an answer is one JSON value, although a stream was asked for."""
    return headers.get("content-type", "").startswith("application/json")


EXAMPLE_ADDRESS = "http://127.0.0.1:11434/v1"
"""A correct address as an example in sentences: that of a local Ollama."""


def is_address(url: str) -> bool:
    """Say whether a request can use this URL: a supported scheme, a host and a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # because `port` raises it for a number that is no port
        return False


def is_local(url: str) -> bool:
    """Say whether the URL's host is this machine. Wisp reaches it directly, without the environment's proxy."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # since the host is a name and no address
        return host == "localhost" or host.endswith(".localhost")


def server_address(base_url: str) -> str:
    """Return the address of an OpenAI-compatible API. If the person wrote only a host, add `/v1`."""
    if not base_url or urlsplit(base_url).path.strip("/"):
        return base_url
    return f"{base_url.rstrip('/')}/v1"


_LONGEST_PULSE_S = 1.0


async def alive_until(
    work: asyncio.Future[Any], idle_s: float, limit_s: float = math.inf
) -> AsyncGenerator[Alive, None]:
    """Yield a sign of life at intervals well below `idle_s` until `work` is done.

    Raise TimeoutError after `limit_s`. Cancel the work if it is not done when the waiting ends.
    """
    pulse_s = min(idle_s / 3, _LONGEST_PULSE_S)
    waited_s = 0.0
    try:
        while not work.done():
            if waited_s >= limit_s:
                raise TimeoutError
            await asyncio.wait({work}, timeout=pulse_s)
            waited_s += pulse_s
            if not work.done():
                yield Alive()
    finally:
        if work.cancel():
            await asyncio.wait({work})
