"""A request as Anthropic's Messages API wants it.

The prefix stays byte-identical from pass to pass, so that it is read from the cache: system and tools first, the
facts of the moment last. At most four cache markers: one on the system block, three on the latest user messages.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.base.geometry import Size
from app.protocol.message import CallPart, ImagePart, Message, OpaquePart, Part, ResultPart, Role, TextPart
from app.protocol.result import Media
from app.providers.anthropic.computer_toolset import BETAS, declared
from app.providers.api import Request
from app.providers.pairing import paired
from app.providers.profiles import Profile

VENDOR = "anthropic"
BINDING_BETA = "thinking-binding-controls-2026-08-01"

COMPUTER_TOOL, BLOCK_BINDING, EFFORT, THINKING = "computer_tool", "block_binding", "effort", "thinking"
"""Fields that a server may refuse and that can be left out."""

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_MARKER = {"type": "ephemeral"}
_MARKED_MESSAGES = 3

Wire = dict[str, Any]
Calls = Mapping[str, Wire]


class Contexts:
    """Which facts of the moment went out with which message.

    Models that bind their thinking to everything before it lose that thinking when an earlier request is changed
    afterwards: for them the facts stay where they were sent, and later ones tell only the sections that are new. For
    all others only the latest are sent.
    """

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int], str] = {}

    def of(self, messages: Sequence[Message], context: str, *, lasting: bool) -> Mapping[int, str]:
        """The facts to send after each message, by its position."""
        last = len(messages) - 1
        if not lasting:
            return {last: context}
        keys = [(number, hash(m)) for number, m in enumerate(messages) if m.role is Role.USER]
        self._sent = {key: self._sent[key] for key in keys if key in self._sent}
        if keys and keys[-1][0] == last:
            self._sent[keys[-1]] = context
        told = ["", *self._sent.values()]
        return {
            number: _news(before, now) for (number, _), before, now in zip(self._sent, told, told[1:], strict=False)
        }


@dataclass(frozen=True, slots=True)
class Manner:
    """How a request is written for one model: its profile, and what its server was found to refuse."""

    profile: Profile
    declined: frozenset[str] = frozenset()

    @property
    def computer_tool(self) -> str:
        return "" if COMPUTER_TOOL in self.declined else self.profile.computer_tool

    @property
    def betas(self) -> tuple[str, ...]:
        """Features that a header must ask for."""
        binding = (BINDING_BETA,) if self.profile.binds_thinking and BLOCK_BINDING not in self.declined else ()
        return (*binding, *((BETAS[self.computer_tool],) if self.computer_tool in BETAS else ()))


def _news(before: str, now: str) -> str:
    """The sections (`## …`) of `now` that differ, under its title; nothing where all are as they were."""
    title, *sections = _SECTION.split(now)
    known = set(_SECTION.split(before))
    news = [section for section in sections if section not in known]
    return "".join([title, *news]) if news or title not in known else ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a conversation needs beside its messages: the facts of each moment, and calls as the model wrote them."""

    contexts: Contexts = field(default_factory=Contexts)
    calls: dict[str, Wire] = field(default_factory=dict)


def body_of(request: Request, manner: Manner, memory: Memory) -> Wire:
    """The fields of `messages.create`; sampling parameters are never sent, since current models refuse them."""
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
        body["tools"] = declared(manner.computer_tool, request.tools, _screen(history, profile))
    if profile.effort and EFFORT not in manner.declined:
        body["output_config"] = {"effort": profile.effort}
    return body | _thinking(manner)


def _thinking(manner: Manner) -> Wire:
    """Thinking is shown in summary: without it the screen says nothing while the model plans."""
    if not manner.profile.thinking or THINKING in manner.declined:
        return {}
    thinking: Wire = {"type": manner.profile.thinking, "display": "summarized"}
    if manner.profile.binds_thinking and BLOCK_BINDING not in manner.declined:
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": thinking}


def _screen(history: Sequence[Message], profile: Profile) -> Size:
    """The size of the pictures that the model points into: the newest one's."""
    for part in (part for message in reversed(history) for part in reversed(message.parts)):
        media = (part.media,) if isinstance(part, ImagePart) else part.media if isinstance(part, ResultPart) else ()
        if media:
            return Size(media[-1].width, media[-1].height)
    return Size(profile.advised_width_px, profile.advised_height_px)


def _messages(messages: Sequence[Message], contexts: Mapping[int, str], calls: Calls) -> list[Wire]:
    """A message's own blocks and its context are kept apart for marking; what is empty is left out."""
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
    """A message may not end with thinking: an answer that was cut before its first word leaves nothing to replay."""
    while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
        blocks.pop()
    return blocks


def _mark(messages: list[Wire], *, sticky: bool) -> None:
    """Mark the last lasting block of the latest user messages; a context that stays is part of what lasts."""
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
    """A failed call's result may hold only text: its pictures follow it."""
    pictures = [block for media in part.media for block in _picture(media, told=part.text)]
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


def _picture(media: Media, told: str = "") -> list[Wire]:
    """The label goes before the picture, unless it was told: the model clicks better when it has read what it sees."""
    source = {"type": "base64", "media_type": media.media_type, "data": base64.b64encode(media.data).decode("ascii")}
    image: Wire = {"type": "image", "source": source}
    return [_text(media.label), image] if media.label.strip() and media.label not in told else [image]


def _text(text: str) -> Wire:
    """Half a surrogate pair (from a file name, say) cannot be sent and becomes a question mark."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode("utf-8")}
