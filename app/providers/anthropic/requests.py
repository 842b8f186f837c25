"""A request as Anthropic's Messages API wants it.

The prefix stays byte-identical from pass to pass, so that it is read from the cache: system and tools first, the
facts of the moment last. At most four cache markers: one on the system block, three on the latest user messages.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.protocol.message import CallPart, ImagePart, Message, OpaquePart, Part, ResultPart, Role, TextPart
from app.protocol.result import Media
from app.providers.api import Request
from app.providers.profiles import Profile

VENDOR = "anthropic"
BINDING_BETA = "thinking-binding-controls-2026-08-01"

_MARKER = {"type": "ephemeral"}
_MARKED_MESSAGES = 3

Wire = dict[str, Any]


class Contexts:
    """Which facts of the moment went out with which message.

    Models that bind their thinking to everything before it lose that thinking when an earlier request is changed
    afterwards: for them the facts stay where they were sent. For all others only the latest are sent.
    """

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int], str] = {}

    def of(self, request: Request, profile: Profile) -> Mapping[int, str]:
        """The facts to send after each message, by its position."""
        last = len(request.messages) - 1
        if not profile.binds_thinking:
            return {last: request.context}
        keys = [(number, hash(m)) for number, m in enumerate(request.messages) if m.role is Role.USER]
        self._sent = {key: self._sent[key] for key in keys if key in self._sent}
        if keys and keys[-1][0] == last:
            self._sent[keys[-1]] = request.context
        return {number: context for (number, _), context in self._sent.items()}


def body_of(request: Request, profile: Profile, contexts: Mapping[int, str]) -> Wire:
    """The fields of `messages.create`; sampling parameters are never sent, since current models refuse them."""
    messages = _messages(request.messages, contexts)
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
        body["tools"] = list(request.tools)
    if profile.effort:
        body["output_config"] = {"effort": profile.effort}
    return body | _thinking(profile)


def _thinking(profile: Profile) -> Wire:
    """Thinking is shown in summary: without it the screen says nothing while the model plans."""
    if not profile.thinking:
        return {}
    thinking: Wire = {"type": profile.thinking, "display": "summarized"}
    if profile.binds_thinking:
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": thinking}


def _messages(messages: Sequence[Message], contexts: Mapping[int, str]) -> list[Wire]:
    """Neighbours of one role become one message. A message's own blocks and its context are kept apart for marking."""
    wire: list[Wire] = []
    for number, message in enumerate(messages):
        blocks = _without_dangling_thoughts([block for part in message.parts for block in _blocks(part)])
        context = contexts.get(number, "") if message.role is Role.USER else ""
        if not blocks and not context.strip():
            continue
        if not wire or wire[-1]["role"] != message.role.value:
            wire.append({"role": message.role.value, "content": [], "context": []})
        wire[-1]["content"] += [*wire[-1]["context"], *blocks]
        wire[-1]["context"] = [_text(context)] if context.strip() else []
    for whole in wire:
        whole["content"].sort(key=lambda block: block["type"] != "tool_result")
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


def _blocks(part: Part) -> Iterable[Wire]:
    match part:
        case TextPart():
            return [_text(part.text)] if part.text.strip() else []
        case ImagePart():
            return _picture(part.media)
        case OpaquePart():
            return [dict(part.value)] if part.vendor == VENDOR else []
        case CallPart():
            return [_call(part)]
        case ResultPart():
            return _result(part)


def _call(part: CallPart) -> Wire:
    block: Wire = {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.args)}
    return block | ({"toolset_name": part.toolset} if part.toolset else {})


def _result(part: ResultPart) -> Iterable[Wire]:
    """A failed call's result may hold only text: its pictures follow it."""
    pictures = [block for media in part.media for block in _picture(media)]
    text = [_text(part.text)] if part.text.strip() else []
    inside = text if part.is_error else text + pictures
    block: Wire = {"type": "tool_result", "tool_use_id": part.call_id}
    block["content"] = inside or [_text("Failed." if part.is_error else "OK")]
    if part.toolset:
        block["toolset_name"] = part.toolset
    if part.is_error:
        block["is_error"] = True
        return [block, *pictures]
    return [block]


def _picture(media: Media) -> list[Wire]:
    """The label goes before the picture: the model clicks better when it has read what it looks at."""
    source = {"type": "base64", "media_type": media.media_type, "data": base64.b64encode(media.data).decode("ascii")}
    image: Wire = {"type": "image", "source": source}
    return [_text(media.label), image] if media.label.strip() else [image]


def _text(text: str) -> Wire:
    """Half a surrogate pair (from a file name, say) cannot be sent and becomes a question mark."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode("utf-8")}
