"""Write a request for Chat Completions in its simplest form, because many servers read no other."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.base.ids import unique
from app.protocol.call import JsonValue, Media
from app.protocol.message import CallPart, ImagePart, Message, Part, ResultPart, Role, TextPart
from app.providers.api import (
    NativeCallDelta,
    NativeCallStarted,
    Request,
    Stopped,
    StreamEvent,
    TextDelta,
    Thinking,
    Usage,
)
from app.providers.pairing import WireError, call_ended, paired, words
from app.providers.profiles import ModelFacts, Profile

Wire = dict[str, Any]


def body_of(request: Request, profile: Profile, *, pictures: bool = True) -> Wire:
    """Return the fields of `chat.completions.create` that all servers accept.

    Unless `pictures` is true, a note replaces each picture.
    """
    last = (Message(Role.USER, (TextPart(request.context),)),) if request.context.strip() else ()
    wire: list[Wire] = [{"role": "system", "content": _clean(request.system)}] if request.system.strip() else []
    for message in paired((*request.messages, *last)):
        shown = message if pictures else _without_pictures(message)
        wire += _assistant(shown) if message.role is Role.ASSISTANT else _user(shown)
    most = min(request.max_tokens, profile.output_tokens)
    tools = {"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}
    return {"model": request.model, "messages": wire, "max_tokens": most, **tools}


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
    """Return one message for each result, then a user message with the text and all pictures.

    It also holds the pictures of the results, because a result can hold only text.
    """
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
    """Content that is only text becomes a string: servers for text models read nothing else."""
    if all(block["type"] == "text" for block in content):
        return "\n\n".join(block["text"] for block in content)
    return content


def _call(part: CallPart) -> Wire:
    arguments = json.dumps(dict(part.args), ensure_ascii=False)
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _tool(tool: Mapping[str, JsonValue]) -> Wire:
    """The input has the vendor-neutral form (name, description, input_schema)."""
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
    """Half a surrogate pair (from a file name, for example) becomes a question mark, so that the text can be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


_OPTIONAL = {
    "stream_options": re.compile("stream_options"),
    "max_tokens": re.compile("max_tokens|in the completion"),
    "max_completion_tokens": re.compile("max_completion_tokens.{0,20}too large|in the completion"),
}
"""The fields that may be left out, each with the words of a refusal that means it. "In the completion" is how servers
with a small context say that no answer of `max_tokens` fits into it."""
_NO_TOOLS = re.compile(
    r"(not|n't) support (the )?(tools?\b|function)|unsupported param: tools|tool.calling.? is not supported|--jinja"
    r"|enable-auto-tool-choice|support tool use|supports tool calling",
    re.IGNORECASE,
)
"""How Ollama, llama.cpp (old and new), Groq, vLLM, OpenRouter and gateways say that a model takes no tools."""
_NO_PICTURES = re.compile(
    r"(not|n't) support.{0,40}(image|vision|multimodal)|(image|vision|multimodal).{0,40}(not|n't) (be )?support"
    r"|not (a|compiled for) multimodal|missing data required for image|support image input"
    r"|(unsupported|unknown).{0,40}image_url|content.{0,20} must be a string",
    re.IGNORECASE,
)
_WORDS_READ = 300
"""Only this many characters are read, because servers may quote the conversation, whose words are no refusal."""


def suited(body: Wire, facts: ModelFacts) -> Wire:
    """Return the body without the fields that the server refuses, and with a request for token counts if allowed."""
    asked = dict(body)
    if "stream_options" not in facts.declined:
        asked["stream_options"] = {"include_usage": True}
    if "max_tokens" in facts.declined:
        most = asked.pop("max_tokens")
        if "max_completion_tokens" not in facts.declined:
            asked["max_completion_tokens"] = most
    return asked


def learnt(facts: ModelFacts, message: str, request: Request) -> ModelFacts:
    """Return the facts updated by a server's refusal: its `message` may name a field that it does not take.

    Returns the same facts if the refusal says nothing new.
    """
    message = message[:_WORDS_READ]
    if request.tools and _NO_TOOLS.search(message):
        return replace(facts, tools=False)
    if facts.pictures is not False and has_pictures(request) and _NO_PICTURES.search(message):
        return replace(facts, pictures=False)
    named = next((name for name, says in _OPTIONAL.items() if name not in facts.declined and says.search(message)), "")
    return facts.without(named) if named else facts


_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_REASONING = ("reasoning_content", "reasoning")
"""Names of the reasoning field: the first in llama.cpp, LM Studio and DeepSeek, the second in Ollama and OpenRouter."""


class ChunkReading:
    """Turns one answer's chunks into Wisp's events. `is_complete` is true once the server said why it stopped."""

    def __init__(self) -> None:
        self._open: tuple[int, str] | None = None
        self._arguments: list[str] = []
        self._called = self._refused = False
        self._stop = ""

    @property
    def is_complete(self) -> bool:
        return bool(self._stop)

    def read(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Yield the meaning of one chunk. Raise WireError for a broken one."""
        try:
            if chunk.get("usage"):
                yield _usage(chunk["usage"])
            for choice in (chunk.get("choices") or ())[:1]:
                yield from self._delta(choice.get("delta") or {})
                self._stop = words(choice.get("finish_reason") or self._stop)
        except (KeyError, TypeError, AttributeError) as error:
            raise WireError("a broken chunk") from error

    def finish(self) -> Iterator[StreamEvent]:
        """End the stream: end the open call, then the answer."""
        yield from self._close()
        reason = _STOPS.get(self._stop, "end_turn")
        if reason == "end_turn" and (self._called or self._refused):
            reason = "tool_use" if self._called else "refusal"
        yield Stopped(reason)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        for name in _REASONING:
            if delta.get(name):
                yield Thinking(words(delta[name]))
                break
        if delta.get("content"):
            yield TextDelta(words(delta["content"]))
        if delta.get("refusal"):
            self._refused = True
            yield TextDelta(words(delta["refusal"]))
        for call in delta.get("tool_calls") or ():
            yield from self._call(call)

    def _call(self, call: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Begin a call when its name or a new id comes, because some servers give all calls the same index or none."""
        function = call.get("function") or {}
        index, call_id = call.get("index") or 0, call.get("id")
        is_other = call.get("index") is None and not call_id and bool(function.get("name"))
        if is_other or self._open is None or index != self._open[0] or (call_id or self._open[1]) != self._open[1]:
            yield from self._close()
            self._open = (index, words(call.get("id") or unique("call_")))
            self._called = True
            yield NativeCallStarted(self._open[1], words(function["name"]))
        piece = _argument_text(function.get("arguments") or "")
        if piece:
            self._arguments.append(piece)
            yield NativeCallDelta(self._open[1], piece)

    def _close(self) -> Iterator[StreamEvent]:
        if self._open is not None:
            yield call_ended(self._open[1], "".join(self._arguments))
        self._open, self._arguments = None, []


def as_chunk(answer: Any) -> Mapping[str, Any]:
    """Return a whole answer as one chunk, because some servers do not stream. Raise WireError if it is no answer."""
    try:
        choices = [
            {"delta": choice["message"], "finish_reason": choice.get("finish_reason") or "stop"}
            for choice in answer["choices"]
        ]
        return {**answer, "choices": choices}
    except (KeyError, TypeError, AttributeError) as error:
        raise WireError(f"JSON that is no answer: {json.dumps(answer)}") from error


def _argument_text(given: object) -> str:
    """The arguments as JSON text. The format says text, but some servers send the object itself."""
    return json.dumps(given, ensure_ascii=False) if isinstance(given, Mapping) else words(given)


def _usage(told: Mapping[str, Any]) -> Usage:
    prompt, answer = told.get("prompt_tokens") or 0, told.get("completion_tokens") or 0
    cached = (told.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(prompt - cached, answer, cached)
