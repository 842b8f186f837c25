"""A request as Chat Completions wants it, in the plainest form: many servers read no other."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.protocol.message import CallPart, ImagePart, Message, ResultPart, Role, TextPart
from app.protocol.result import JsonValue, Media
from app.providers.api import Request
from app.providers.profiles import Profile

Wire = dict[str, Any]


def body_of(request: Request, profile: Profile) -> Wire:
    """The fields of `chat.completions.create` that every server takes."""
    body: Wire = {
        "model": request.model,
        "messages": _messages(request),
        "max_tokens": min(request.max_tokens, profile.output_tokens),
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def _messages(request: Request) -> list[Wire]:
    wire: list[Wire] = [{"role": "system", "content": _clean(request.system)}] if request.system.strip() else []
    for message in joined(request.messages, request.context):
        wire += _assistant(message) if message.role is Role.ASSISTANT else _user(message)
    return wire


def joined(messages: Sequence[Message], context: str) -> list[Message]:
    """Neighbours of one role as one message, and the facts of the moment at the end: chat templates insist on both."""
    last = Message(Role.USER, (TextPart(context),) if context.strip() else ())
    whole: list[Message] = []
    for message in (*messages, last):
        if whole and whole[-1].role is message.role:
            whole[-1] = Message(message.role, whole[-1].parts + message.parts)
        elif message.parts:
            whole.append(message)
    return whole


def _assistant(message: Message) -> list[Wire]:
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
    calls = [_call(part) for part in message.parts if isinstance(part, CallPart)]
    if not text and not calls:
        return []
    return [{"role": "assistant", "content": _clean(text) or None} | ({"tool_calls": calls} if calls else {})]


def _user(message: Message) -> list[Wire]:
    """Results first, each a message of its own; their pictures follow in a user's message, since results hold text."""
    results = [part for part in message.parts if isinstance(part, ResultPart)]
    wire: list[Wire] = [
        {"role": "tool", "tool_call_id": part.call_id, "content": _clean(part.text) or "OK"} for part in results
    ]
    content: list[Wire] = [block for part in results for media in part.media for block in _picture(media)]
    for part in message.parts:
        if isinstance(part, TextPart) and part.text.strip():
            content.append(_text(part.text))
        elif isinstance(part, ImagePart):
            content += _picture(part.media)
    if content:
        wire.append({"role": "user", "content": _simplest(content)})
    return wire


def _simplest(content: list[Wire]) -> str | list[Wire]:
    """Text alone is sent as a string: servers for text models read nothing else."""
    if all(block["type"] == "text" for block in content):
        return "\n\n".join(block["text"] for block in content)
    return content


def _call(part: CallPart) -> Wire:
    arguments = json.dumps(dict(part.args), ensure_ascii=False)
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _tool(tool: Mapping[str, JsonValue]) -> Wire:
    """A declaration in the neutral form (name, description, input_schema)."""
    schema = tool.get("input_schema", {"type": "object", "properties": {}})
    function = {"name": tool["name"], "description": tool.get("description", ""), "parameters": schema}
    return {"type": "function", "function": function}


def _picture(media: Media) -> Iterable[Wire]:
    url = f"data:{media.media_type};base64,{base64.b64encode(media.data).decode('ascii')}"
    image: Wire = {"type": "image_url", "image_url": {"url": url}}
    return [_text(media.label), image] if media.label.strip() else [image]


def _text(text: str) -> Wire:
    return {"type": "text", "text": _clean(text)}


def _clean(text: str) -> str:
    """Half a surrogate pair (from a file name, say) cannot be sent and becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
