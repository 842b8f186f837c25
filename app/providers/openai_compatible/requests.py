"""A request as Chat Completions wants it, in the plainest form: many servers read no other."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from app.protocol.message import CallPart, ImagePart, Message, Part, ResultPart, Role, TextPart
from app.protocol.result import JsonValue, Media
from app.providers.api import Request
from app.providers.pairing import paired
from app.providers.profiles import Profile

Wire = dict[str, Any]


def body_of(request: Request, profile: Profile, *, pictures: bool = True) -> Wire:
    """The fields of `chat.completions.create` that every server takes. Without `pictures` a note stands for each."""
    last = (Message(Role.USER, (TextPart(request.context),)),) if request.context.strip() else ()
    wire: list[Wire] = [{"role": "system", "content": _clean(request.system)}] if request.system.strip() else []
    for message in paired((*request.messages, *last)):
        shown = message if pictures else _without_pictures(message)
        wire += _assistant(shown) if message.role is Role.ASSISTANT else _user(shown)
    body: Wire = {
        "model": request.model,
        "messages": wire,
        "max_tokens": min(request.max_tokens, profile.output_tokens),
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def has_pictures(request: Request) -> bool:
    return any(
        isinstance(part, ImagePart) or (isinstance(part, ResultPart) and part.media)
        for message in request.messages
        for part in message.parts
    )


def _without_pictures(message: Message) -> Message:
    return Message(message.role, tuple(_told(part) for part in message.parts))


def _told(part: Part) -> Part:
    match part:
        case ImagePart():
            return TextPart(_note(part.media))
        case ResultPart() if part.media:
            text = "\n".join([part.text, *map(_note, part.media)]).strip()
            return ResultPart(part.call_id, text, (), part.is_error, part.toolset)
        case _:
            return part


def _note(media: Media) -> str:
    about = f" of {media.label}" if media.label.strip() else ""
    return f"[A picture{about} is left out: this model reads no pictures. Read the screen as text instead.]"


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
