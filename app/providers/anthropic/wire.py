"""Write a request as Anthropic's Messages API wants it.

The prefix stays byte-identical from pass to pass, so that the vendor reads it from its cache: the system text and the
tools come first, the facts of the moment last. There are at most four cache markers: one on the system block and three
on the latest user messages.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.base.geometry import Size
from app.base.values import dataclass, field
from app.protocol.call import PAGE_PICTURE, JsonValue, Media
from app.protocol.message import CallPart, ImagePart, Message, OpaquePart, Part, ResultPart, Role, TextPart
from app.providers.anthropic.browser_toolset import BROWSER, to_browser_call, with_browser
from app.providers.anthropic.computer_toolset import BETAS, FAMILY, TOOLSET, declared, to_our_call
from app.providers.api import (
    NativeCallDelta,
    NativeCallEnded,
    NativeCallStarted,
    OpaqueBlock,
    Request,
    Stopped,
    StreamEvent,
    TextDelta,
    Thinking,
    Usage,
)
from app.providers.pairing import WireError, call_ended, paired, words
from app.providers.profiles import Profile

VENDOR = "anthropic"
BINDING_BETA = "thinking-binding-controls-2026-08-01"

COMPUTER_TOOL, BROWSER_TOOL, BLOCK_BINDING = "computer_tool", "browser_tool", "block_binding"
EFFORT, THINKING = "effort", "thinking"
"""The optional fields that a server may refuse."""

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_MARKER = {"type": "ephemeral"}
_MARKED_MESSAGES = 3  # https://docs.claude.com/en/docs/build-with-claude/prompt-caching

Wire = dict[str, Any]
Calls = Mapping[str, Wire]

_MOST_CONVERSATIONS = 8
"""How many conversations of one provider keep their facts: a conversation, its goals, and those that came before."""


class Contexts:
    """Remembers which facts of the moment were sent with which message.

    Some models bind their thinking to everything before it and lose it if an earlier part of the request changes. For
    them, facts stay where they were sent, and later messages carry only the sections that changed. All other models get
    only the latest facts. Conversations are known by their first message, and a request without facts records nothing:
    a question beside a conversation leaves what was sent with it as it was.
    """

    def __init__(self) -> None:
        self._by_first: dict[tuple[int, int], dict[tuple[int, int], str]] = {}

    def of(self, messages: Sequence[Message], context: str, *, lasting: bool) -> Mapping[int, str]:
        """Return the facts to send after each message, by the message's index."""
        last = len(messages) - 1
        if not lasting:
            return {last: context}
        keys = [(number, hash(m)) for number, m in enumerate(messages) if m.role is Role.USER]
        known = self._by_first.get(keys[0], {}) if keys else {}
        sent = {key: known[key] for key in keys if key in known}
        if context.strip() and keys:
            if keys[-1][0] == last:
                sent[keys[-1]] = context
            self._by_first.pop(keys[0], None)
            self._by_first[keys[0]] = sent
            while len(self._by_first) > _MOST_CONVERSATIONS:  # the one that was used longest ago goes first
                del self._by_first[next(iter(self._by_first))]
        told = ["", *sent.values()]
        return {number: _news(before, now) for (number, _), before, now in zip(sent, told, told[1:], strict=False)}


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How to write a request for one model: its profile, and the fields that its server refuses."""

    profile: Profile
    declined: frozenset[str] = frozenset()

    @property
    def computer_tool(self) -> str:
        return "" if COMPUTER_TOOL in self.declined else self.profile.computer_tool

    @property
    def has_browser_tool(self) -> bool:
        """True for the models with the vendor's newest computer tools."""
        return BROWSER_TOOL not in self.declined and self.profile.computer_tool == TOOLSET

    @property
    def betas(self) -> tuple[str, ...]:
        """The beta features that a request header must name."""
        binding = (BINDING_BETA,) if self.profile.binds_thinking and BLOCK_BINDING not in self.declined else ()
        return (*binding, *((BETAS[self.computer_tool],) if self.computer_tool in BETAS else ()))


def _news(before: str, now: str) -> str:
    """The title of `now` and those of its `## ` sections that differ from `before`; "" if none do."""
    title, *sections = _SECTION.split(now)
    known = set(_SECTION.split(before))
    news = [section for section in sections if section not in known]
    return "".join([title, *news]) if news or title not in known else ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a conversation needs besides its messages: the facts of each moment, and calls as the model wrote them."""

    contexts: Contexts = field(default_factory=Contexts)
    calls: dict[str, Wire] = field(default_factory=dict)


def body_of(request: Request, manner: RequestOptions, memory: Memory) -> Wire:
    """Return the fields of `messages.create`. No sampling parameters are sent, because current models refuse them."""
    profile = manner.profile
    history = paired(request.messages)
    contexts = memory.contexts.of(history, request.context, lasting=profile.binds_thinking)
    messages = _messages(history, contexts, memory.calls)
    if profile.cache:
        _mark(messages, sticky=profile.binds_thinking)
    body: Wire = {
        "model": request.model,
        "max_tokens": min(request.max_tokens, profile.output_tokens),
        "messages": [_plain(message) for message in messages],
    }
    if request.system:
        body["system"] = [_text(request.system) | ({"cache_control": _MARKER} if profile.cache else {})]
    if request.tools:
        tools = declared(manner.computer_tool, request.tools, _screen(history, profile))
        body["tools"] = with_browser(tools) if manner.has_browser_tool else tools
    if profile.effort and EFFORT not in manner.declined:
        body["output_config"] = {"effort": profile.effort}
    return body | _thinking(manner)


def _thinking(manner: RequestOptions) -> Wire:
    """Ask for a summary, because otherwise nothing appears while the model plans."""
    if not manner.profile.thinking or THINKING in manner.declined:
        return {}
    thinking: Wire = {"type": manner.profile.thinking, "display": "summarized"}
    if manner.profile.binds_thinking and BLOCK_BINDING not in manner.declined:
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": thinking}


def _screen(history: Sequence[Message], profile: Profile) -> Size:
    """The newest picture's size, because the model's coordinates refer to it."""
    for part in (part for message in reversed(history) for part in reversed(message.parts)):
        media = (part.media,) if isinstance(part, ImagePart) else part.media if isinstance(part, ResultPart) else ()
        shown = [one for one in media if one.label != PAGE_PICTURE]
        if shown:
            return Size(shown[-1].width, shown[-1].height)
    return Size(profile.advised_width_px, profile.advised_height_px)


def _messages(messages: Sequence[Message], contexts: Mapping[int, str], calls: Calls) -> list[Wire]:
    """Each message has its own blocks and its context apart, for the markers. Empty ones are left out."""
    wire: list[Wire] = []
    for number, message in enumerate(messages):
        blocks = _without_dangling_thoughts([block for part in message.parts for block in _blocks(part, calls)])
        context = contexts.get(number, "") if message.role is Role.USER else ""
        if not blocks and not context.strip():
            continue
        if not wire or wire[-1]["role"] != message.role.value:
            wire.append({"role": message.role.value, "content": [], "context": []})
        wire[-1]["content"] += [*wire[-1]["context"], *blocks]
        wire[-1]["context"] = [_text(context)] if context.strip() else []
    return wire


def _without_dangling_thoughts(blocks: list[Wire]) -> list[Wire]:
    """The API refuses a message that ends with thinking."""
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()
    return blocks


def _mark(messages: list[Wire], *, sticky: bool) -> None:
    """Put a cache marker into each of the latest user messages, on its last block that later requests repeat.

    With `sticky`, later requests repeat the context too.
    """
    for message in [message for message in messages if message["role"] == "user"][-_MARKED_MESSAGES:]:
        lasting = message["context"] if sticky and message["context"] else message["content"]
        if lasting:
            lasting[-1] = lasting[-1] | {"cache_control": _MARKER}


def _plain(message: Wire) -> Wire:
    return {"role": message["role"], "content": message["content"] + message["context"]}


def _blocks(part: Part, calls: Calls) -> Iterable[Wire]:
    match part:
        case TextPart():
            return [_text(part.text)] if part.text.strip() else []
        case ImagePart():
            return _picture(part.media)
        case OpaquePart():
            return [dict(part.value)] if part.vendor == VENDOR else []
        case CallPart():
            return [calls.get(part.id) or {"type": "tool_use", "id": part.id, "name": part.name, "input": part.args}]
        case ResultPart():
            return _result(part, calls.get(part.call_id, {}).get("toolset_name"))


def _result(part: ResultPart, toolset: str | None) -> Iterable[Wire]:
    """A failed call's result may hold only text, so its pictures come after it."""
    pictures = [block for media in part.media for block in _picture(media, caption=part.text)]
    text = [_text(part.text)] if part.text.strip() else []
    inside = text if part.is_error else text + pictures
    block: Wire = {"type": "tool_result", "tool_use_id": part.call_id}
    block["content"] = inside or [_text("Failed." if part.is_error else "OK")]
    if toolset:
        block["toolset_name"] = toolset
    if part.is_error:
        block["is_error"] = True
        return [block, *pictures]
    return [block]


def _picture(media: Media, caption: str = "") -> list[Wire]:
    """Return a picture with its label before it: the model clicks better if it reads first what it sees.

    There is no label if `caption`, the text before the picture, already contains it.
    """
    source = {"type": "base64", "media_type": media.media_type, "data": base64.b64encode(media.data).decode("ascii")}
    image: Wire = {"type": "image", "source": source}
    return [_text(media.label), image] if media.label.strip() and media.label not in caption else [image]


def _text(text: str) -> Wire:
    """Half a surrogate pair (from a file name, for example) becomes a question mark."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode("utf-8")}


_STOPS = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    # https://docs.claude.com/en/api/handling-stop-reasons
    "pause_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_FIGURES = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


@dataclass
class _Block:
    """A content block while it arrives: its first event, and the text of its growing field."""

    start: Mapping[str, JsonValue]
    text: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return str(self.start.get("type", ""))

    @property
    def id(self) -> str:
        return words(self.start["id"])

    @property
    def is_plain_call(self) -> bool:
        """True for a call of a tool that Wisp declared itself."""
        return self.kind == "tool_use" and not self.start.get("toolset_name") and self.start.get("name") != FAMILY


class MessageReading:
    """Turns one message's events into Wisp's. `is_complete` is true after the vendor's last event.

    Calls of the vendor's own tools for screens and pages become calls of Wisp's tools; `calls` keeps the originals,
    by id.
    """

    def __init__(self, calls: dict[str, Wire]) -> None:
        self._calls = calls
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self.is_complete = False

    def read(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Yield the meaning of one event; unknown events have none. Raise WireError for a broken one."""
        try:
            yield from self._read(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise WireError(f"a broken event of type {event.get('type')!r}") from error

    def _read(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        match event.get("type"):
            case "message_start":
                yield self._counted(event["message"].get("usage"))
            case "content_block_start":
                yield from self._opened(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._grown(self._blocks[event["index"]], event["delta"])
            case "content_block_stop":
                yield from self._closed(self._blocks.pop(event["index"]))
            case "message_delta":
                self._stop = words(event["delta"].get("stop_reason") or self._stop)
                yield self._counted(event.get("usage"))
            case "message_stop":
                self.is_complete = True
                yield Stopped(_STOPS.get(self._stop, "end_turn"))

    def _counted(self, told: Mapping[str, Any] | None) -> Usage:
        for ours, theirs in _FIGURES.items():
            count = (told or {}).get(theirs)
            self._usage[ours] = count if isinstance(count, int) else self._usage.get(ours, 0)
        return Usage(**self._usage)

    def _opened(self, index: int, start: Mapping[str, Any]) -> Iterator[StreamEvent]:
        block = self._blocks[index] = _Block(start)
        if block.kind == "text" and start.get("text"):
            yield TextDelta(words(start["text"]))
        elif block.is_plain_call:
            yield NativeCallStarted(block.id, words(start["name"]))
        elif block.kind == "tool_use" and start.get("toolset_name"):
            toolset = words(start["toolset_name"])
            yield NativeCallStarted(block.id, _ours(words(start["name"]), {}, toolset)[0], toolset)

    def _grown(self, block: _Block, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        match delta.get("type"):
            case "text_delta":
                yield TextDelta(words(delta["text"]))
            case "thinking_delta":
                block.text.append(words(delta["thinking"]))
                yield Thinking(delta["thinking"])
            case "signature_delta":
                block.signature.append(words(delta["signature"]))
            case "input_json_delta":
                block.text.append(words(delta["partial_json"]))
                if delta["partial_json"] and block.is_plain_call:
                    yield NativeCallDelta(block.id, delta["partial_json"])

    def _closed(self, block: _Block) -> Iterator[StreamEvent]:
        match block.kind:
            case "thinking":
                text = str(block.start.get("thinking") or "") + "".join(block.text)
                signature = str(block.start.get("signature") or "") + "".join(block.signature)
                yield OpaqueBlock(VENDOR, {"type": "thinking", "thinking": text, "signature": signature})
            case "redacted_thinking":
                yield OpaqueBlock(VENDOR, dict(block.start))
            case "tool_use":
                given = block.start.get("input")
                told = call_ended(block.id, "".join(block.text), given if isinstance(given, Mapping) else {})
                yield from [told] if block.is_plain_call else self._as_ours(block, told)

    def _as_ours(self, block: _Block, told: NativeCallEnded) -> Iterator[StreamEvent]:
        """Yield a call of the vendor's tools as Wisp's. The older computer tool names its member in the arguments."""
        self._calls[block.id] = {**block.start, "input": told.args}
        args, member = dict(told.args), words(block.start["name"])
        toolset = str(block.start.get("toolset_name") or FAMILY)
        if not block.start.get("toolset_name"):
            member = str(args.pop("action", ""))
            yield NativeCallStarted(block.id, _ours(member, args)[0], FAMILY)
        _, ours = _ours(member, args, toolset)
        yield NativeCallDelta(block.id, json.dumps(ours, ensure_ascii=False))
        yield NativeCallEnded(block.id, ours, told.unread)


def as_events(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a whole message as the events of a stream, because some proxies do not stream. Raise WireError if it is no
    message.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        raise WireError(f"JSON that is no message: {json.dumps(message)}")
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": message.get("stop_reason")}, "usage": message.get("usage")}
    yield {"type": "message_stop"}


def _ours(member: str, args: Mapping[str, JsonValue], toolset: str = FAMILY) -> tuple[str, Mapping[str, JsonValue]]:
    return to_browser_call(member, args) if toolset == BROWSER else to_our_call(member, args)
